// Tessera's own accelerator files: what is written is what is read, mistakes are found where they
// stand.
#include <gtest/gtest.h>

#include "tessera/accelerator.h"

namespace tessera {
namespace {

constexpr std::string_view kHead = "format: tessera-accelerator-1\nname: m\n";

Result<Accelerator> ParseNative(const std::string& text) {
  return ParseAccelerator(std::string(kHead) + text, "m.yaml");
}

std::string ErrorOf(const std::string& text) {
  const Result<Accelerator> accelerator = ParseNative(text);
  return accelerator ? "valid" : ToString(accelerator.error());
}

TEST(NativeAccelerator, ReadsBothForms) {
  const Result<Accelerator> accelerator = ParseNative(
      "source: somewhere\n"
      "pe_array: {num_pes: 168, noc_elements_per_cycle: 64}\n"
      "hierarchy:\n"
      "  links: true\n"
      "  arithmetic: {mesh_x: 4, mac_pj: 0.56}\n"
      "  levels:\n"
      "  - {name: RF, entries: 16, mesh_x: 4, read_words_per_cycle: 0.3, keep: [Weights]}\n"
      "  - {name: DRAM, network: {hop_pj: 0.5, fill_latency_cycles: 3}}\n");
  ASSERT_TRUE(accelerator) << accelerator.error();
  EXPECT_EQ(accelerator->source, "somewhere");
  EXPECT_EQ(accelerator->pe_array->num_pes, 168);
  EXPECT_EQ(accelerator->pe_array->noc_elements_per_cycle, 64);
  EXPECT_EQ(accelerator->pe_array->l1_elements, PeArray::kUnlimited);
  const Hierarchy& hierarchy = *accelerator->hierarchy;
  EXPECT_TRUE(hierarchy.links);
  EXPECT_EQ(hierarchy.arithmetic.mac_pj.ToString(), "0.56");
  ASSERT_EQ(hierarchy.levels.size(), 2u);
  EXPECT_EQ(hierarchy.levels[0].entries, 16);
  EXPECT_EQ(hierarchy.levels[0].read_words_per_cycle->ToString(), "0.3");
  EXPECT_EQ(hierarchy.levels[0].write_words_per_cycle, std::nullopt);
  EXPECT_EQ(hierarchy.levels[1].network.fill_latency_cycles, 3);
  // A level without 'keep' holds everything, beside one that does not.
  EXPECT_EQ(hierarchy.keeps,
            (std::vector<std::vector<std::string>>{{"Weights"}, {"Weights", "Inputs", "Outputs"}}));
}

TEST(NativeAccelerator, WritesWhatItReads) {
  Accelerator accelerator{.name = "odd: \"name\"", .source = "a\nb", .notes = {"one", "two: 2"}};
  accelerator.pe_array.emplace().simd_lanes = 4;
  Hierarchy& hierarchy = accelerator.hierarchy.emplace();
  hierarchy.arithmetic.name = "multiplier";
  MemoryLevel level{.name = "L1", .technology = "SRAM", .entries = 0};
  level.word_bits = 8;
  level.block_words = 4;
  level.cluster_size = 2;
  level.read_words_per_cycle = *Decimal::Parse("0.1");
  level.write_words_per_cycle = 3;
  level.shared_words_per_cycle = *Decimal::Parse("12.5");
  level.multiple_buffering = 2;
  level.read_pj = *Decimal::Parse("1e-9");
  level.fill_pj = *Decimal::Parse("123456789.123456789");
  level.update_pj = 7;
  level.address_pj = 1;
  level.reduces_in_place = false;
  level.network = {.hop_pj = 1,
                   .router_pj = 2,
                   .ingress_pj = 3,
                   .fill_latency_cycles = 4,
                   .drain_latency_cycles = 5};
  hierarchy.levels = {level};
  hierarchy.keeps = {{}};
  hierarchy.bits = {.weights = 4, .partial_sums = 24};
  const AcceleratorFormat& native = *AcceleratorFormats().front();
  const std::string text = AcceleratorText(accelerator);
  const Result<Accelerator> again = native.read(text, "m.yaml");
  ASSERT_TRUE(again) << again.error() << text;
  EXPECT_EQ(*again, accelerator) << text;
}

TEST(NativeAccelerator, MistakesAreFoundWhereTheyStand) {
  const std::string hierarchy = "hierarchy:\n  arithmetic: {}\n  levels:\n";
  EXPECT_EQ(ErrorOf("pe_aray: {}\n"),
            "m.yaml:3:1: unknown key 'pe_aray' in an accelerator; did you mean 'pe_array'?");
  EXPECT_EQ(ErrorOf("pe_array: {num_pe: 4}\n"),
            "m.yaml:3:12: unknown key 'num_pe' in a pe_array; did you mean 'num_pes'?");
  EXPECT_EQ(ErrorOf("pe_array: {num_pes: -4}\n"),
            "m.yaml:3:21: pe_array: num_pes is -4, but must be in 1..2147483647");
  EXPECT_EQ(ErrorOf("pe_array: {num_pes: 1.5}\n"), "m.yaml:3:21: '1.5' is not an integer");
  EXPECT_EQ(ErrorOf("pe_array: {num_pes: 99999999999999999999}\n"),
            "m.yaml:3:21: '99999999999999999999' does not fit in 64 bits");
  EXPECT_EQ(ErrorOf("pe_array: 3\n"),
            "m.yaml:3:11: expected a map of the keys of a pe_array, found '3'");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L, entires: 3}\n"),
            "m.yaml:6:15: unknown key 'entires' in a level; did you mean 'entries'?");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L, read_pj: .nan}\n"),
            "m.yaml:6:24: '.nan' is not a decimal number");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L, read_words_per_cycle: 0}\n"),
            "m.yaml:6:37: L: read_words_per_cycle is 0, but must be above 0");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L, network: {hop_pj: -1}}\n"),
            "m.yaml:6:33: L: hop_pj is -1, but must not be negative");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L, mesh_x: 2}\n"),
            "m.yaml:6:5: L: meshX 2 does not divide meshX 1 of MAC");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L, keep: [Wieghts]}\n"),
            "m.yaml:6:21: L: keep names 'Wieghts', which is no tensor; did you mean 'Weights'?");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L}\n  - {name: L}\n"),
            "m.yaml:7:5: L: two levels have this name");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {entries: 3}\n"), "m.yaml:6:5: level without 'name'");
  EXPECT_EQ(ErrorOf(hierarchy + "  - {name: L}\nbits: {weight: 4}\n"),
            "m.yaml:7:8: unknown key 'weight' in a map of bits; did you mean 'weights'?");
  EXPECT_EQ(ErrorOf("bits: 8\n"), "m.yaml:3:7: bits are of tensors in a hierarchy");
  EXPECT_EQ(ErrorOf("hierarchy:\n  bits: 8\n  arithmetic: {}\n  levels: [{name: L}]\nbits: 4\n"),
            "m.yaml:7:7: the hierarchy has bits already");
  EXPECT_EQ(ErrorOf("hierarchy: {levels: []}\n"), "m.yaml:3:12: hierarchy without 'arithmetic'");
  EXPECT_EQ(ErrorOf(""), "m.yaml:1:1: m: neither a pe_array nor a hierarchy is given");
  EXPECT_EQ(ToString(ParseAccelerator("format: tessera-accelerator-2\n", "m.yaml").error()),
            "m.yaml:1:9: unknown format 'tessera-accelerator-2'; this version reads "
            "tessera-accelerator-1");
}

}  // namespace
}  // namespace tessera
