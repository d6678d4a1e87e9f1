// Components: the SRAM model against points of CACTI that its table does not have, and every other
// table by the numbers of its publication.
#include "tessera/arch/components/component.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/arch/level_component.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

Result<ComponentCost> Estimate(std::string_view name, const ComponentQuery& query) {
  const Result<const ComponentInfo*> component = FindComponent(name);
  if (!component) return component.error();
  return (*component)->estimate(query);
}

std::string ErrorOf(std::string_view name, const ComponentQuery& query) {
  const Result<ComponentCost> cost = Estimate(name, query);
  return cost ? "no error" : ToString(cost.error());
}

// Errors of one column over all points off the grid, sorted.
std::vector<double> ErrorsOf(std::string_view column, std::optional<double> ComponentCost::*value) {
  const Result<std::string> text =
      ReadFile(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/sram/offgrid.csv");
  EXPECT_TRUE(text);
  const ComponentFile file = ReadComponentFile(*text);
  std::vector<double> errors;
  for (const std::vector<std::string>& row : file.rows) {
    const Result<ComponentCost> cost =
        Estimate("sram", {.bytes = std::stoll(row[file.Column("bytes")]),
                          .width_bits = std::stoll(row[file.Column("width_bits")]),
                          .node_nm = std::stod(row[file.Column("node_nm")])});
    EXPECT_TRUE(cost) << cost.error();
    if (!cost) continue;
    errors.push_back(std::abs(*((*cost).*value) / std::stod(row[file.Column(column)]) - 1));
  }
  std::sort(errors.begin(), errors.end());
  return errors;
}

TEST(SramComponent, MeetsPointsThatItsTableDoesNotHave) {
  const std::pair<std::string_view, std::optional<double> ComponentCost::*> columns[] = {
      {"read_pj", &ComponentCost::read_pj},
      {"write_pj", &ComponentCost::write_pj},
      {"area_um2", &ComponentCost::area_um2}};
  for (const auto& [column, value] : columns) {
    const std::vector<double> errors = ErrorsOf(column, value);
    ASSERT_EQ(errors.size(), 130U);
    EXPECT_LE(errors[65], 0.04) << column;
    EXPECT_LE(errors[123], 0.18) << column;  // 95 % of them
  }
}

TEST(SramComponent, IsItsTableAtThePointsOfTheTable) {
  const Result<ComponentCost> cost =
      Estimate("sram", {.bytes = 256, .width_bits = 16, .node_nm = 22});
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_NEAR(*cost->read_pj, 0.070591, 1e-9);
  EXPECT_NEAR(*cost->write_pj, 0.084014, 1e-9);
  EXPECT_NEAR(*cost->leakage_mw, 0.067064, 1e-9);
  EXPECT_NEAR(*cost->area_um2, 243.27, 1e-6);
  EXPECT_NEAR(*cost->access_ns, 0.194998, 1e-9);
  EXPECT_NE(cost->source.find("CACTI 7.0"), std::string::npos);
}

TEST(SramComponent, GrowsWithItsSize) {
  for (const int64_t width : {16, 48, 64, 200, 512}) {
    for (const double node : {22.0, 28.0, 45.0, 61.0, 90.0}) {
      ComponentCost last{.read_pj = 0, .write_pj = 0, .leakage_mw = 0, .area_um2 = 0};
      for (double bytes = 2048; bytes <= 16'777'216; bytes *= 1.19) {
        const Result<ComponentCost> cost = Estimate(
            "sram", {.bytes = static_cast<int64_t>(bytes), .width_bits = width, .node_nm = node});
        ASSERT_TRUE(cost) << cost.error();
        constexpr double kRounding = 1 - 1e-12;
        EXPECT_GE(*cost->read_pj, *last.read_pj * kRounding);
        EXPECT_GE(*cost->write_pj, *last.write_pj * kRounding);
        EXPECT_GE(*cost->area_um2, *last.area_um2 * kRounding);
        EXPECT_GE(*cost->leakage_mw, *last.leakage_mw * kRounding);
        last = *cost;
      }
    }
  }
}

TEST(SramComponent, SaysItsRange) {
  EXPECT_EQ(ErrorOf("sram", {.bytes = 100, .width_bits = 16, .node_nm = 22}),
            "bytes is 100, but the table goes from 256 to 16777216");
  EXPECT_EQ(ErrorOf("sram", {.bytes = 4096, .width_bits = 1024, .node_nm = 22}),
            "width_bits is 1024, but the table goes from 16 to 512");
  EXPECT_EQ(ErrorOf("sram", {.bytes = 4096, .width_bits = 16, .node_nm = 7}),
            "node_nm is 7, but the table goes from 22 to 90");
  EXPECT_EQ(ErrorOf("sram", {.bytes = 1024, .width_bits = 512, .node_nm = 22}),
            "bytes is 1024, but for width_bits 512 and node_nm 22 the table goes from 2048 to "
            "16777216");
}

TEST(Components, ArePublishedNumbersAtThePublishedPoints) {
  EXPECT_DOUBLE_EQ(*Estimate("adder", {.width_bits = 32, .node_nm = 45})->op_pj, 0.1);
  EXPECT_DOUBLE_EQ(*Estimate("mac", {.width_bits = 8, .node_nm = 45})->op_pj, 0.2 + 0.05);
  EXPECT_NEAR(*Estimate("mac", {.width_bits = 16, .node_nm = 45, .kind = "float"})->op_pj,
              1.1 + 0.4, 1e-12);
  EXPECT_NEAR(*Estimate("regfile", {.bytes = 512, .width_bits = 16, .node_nm = 28})->read_pj, 0.96,
              1e-12);
  EXPECT_NEAR(*Estimate("dram", {.width_bits = 64, .type = "hbm2"})->read_pj, 3.92 * 64, 1e-9);
  EXPECT_NEAR(*Estimate("wire", {.width_bits = 256, .length_mm = 10})->op_pj, 310, 1);
}

TEST(Components, AreCarriedToOtherNodes) {
  const Result<ComponentCost> cost = Estimate("adder", {.width_bits = 32, .node_nm = 22.5});
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_DOUBLE_EQ(*cost->op_pj, 0.05);
  EXPECT_DOUBLE_EQ(*cost->area_um2, 137.0 / 4);
  EXPECT_NE(cost->scaling.find("22.5/45 nm"), std::string::npos);
  EXPECT_NE(ErrorOf("mac", {.width_bits = 8, .node_nm = 7}).find("from 22 to 90"),
            std::string::npos);
  EXPECT_NE(ErrorOf("dram", {.width_bits = 8, .type = "hbm"}).find("did you mean 'hbm"),
            std::string::npos);
  EXPECT_NE(ErrorOf("srams", {}).find("did you mean 'sram'?"), std::string::npos);
}

TEST(Components, EveryOneHasASource) {
  EXPECT_EQ(Components().size(), 6U);
  for (const std::string_view file : {"sram", "arithmetic", "regfile", "dram", "wire"}) {
    const ComponentFile data = ComponentData(file);
    EXPECT_FALSE(data.source.empty()) << file;
    ASSERT_FALSE(data.rows.empty()) << file;
    for (const auto& row : data.rows) EXPECT_EQ(row.size(), data.columns.size()) << file;
  }
}

constexpr std::string_view kMachine =
    "format: tessera-accelerator-1\n"
    "name: m\n"
    "hierarchy:\n"
    "  node_nm: 22\n"
    "  arithmetic: {component: mac, word_bits: 8}\n"
    "  levels:\n"
    "  - {name: GLB, component: sram, entries: 65536, word_bits: 8, block_words: 4, fill_pj: 2}\n"
    "  - {name: DRAM, component: dram, type: lpddr4, word_bits: 8}\n";

TEST(MachinesOfComponents, HaveTheirEnergies) {
  const Result<Accelerator> machine = ParseAccelerator(kMachine, "m.yaml");
  ASSERT_TRUE(machine) << machine.error();
  const MemoryLevel& glb = machine->hierarchy->levels[0];
  const Result<ComponentCost> sram =
      Estimate("sram", {.bytes = 65536, .width_bits = 32, .node_nm = 22});
  EXPECT_DOUBLE_EQ(glb.read_pj.ToDouble(), *sram->read_pj);
  EXPECT_DOUBLE_EQ(glb.update_pj.ToDouble(), *sram->write_pj);
  EXPECT_EQ(glb.fill_pj, Decimal(2)) << "a number of the file wins";
  EXPECT_DOUBLE_EQ(machine->hierarchy->levels[1].read_pj.ToDouble(), 64);
  EXPECT_GT(machine->hierarchy->arithmetic.mac_pj.ToDouble(), 0.1);
  // What is written has the numbers, and reads back the same.
  const Result<Accelerator> again = ParseAccelerator(AcceleratorText(*machine), "again.yaml");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, *machine);
}

TEST(MachinesOfComponents, SayWhereNumbersAreFrom) {
  const Result<std::vector<NumberSource>> sources = ExplainAccelerator(kMachine, "m.yaml");
  ASSERT_TRUE(sources) << sources.error();
  const auto of = [&](std::string_view part, std::string_view number) {
    for (const NumberSource& source : *sources) {
      if (source.part == part && source.number == number) return source.source;
    }
    return std::string("none");
  };
  EXPECT_EQ(of("GLB", "fill_pj"), "given in the file");
  EXPECT_NE(of("GLB", "read_pj").find("CACTI"), std::string::npos);
  EXPECT_NE(of("GLB", "leakage_mw").find("CACTI"), std::string::npos);
  EXPECT_NE(of("MAC", "mac_pj").find("Horowitz"), std::string::npos);
  EXPECT_NE(of("DRAM", "update_pj").find("Accelergy"), std::string::npos);
  EXPECT_EQ(of("machine", "area_um2"), "1 x MAC + 1 x GLB");
  EXPECT_EQ(of("machine", "leakage_mw"), "1 x GLB");
}

TEST(MachinesOfComponents, ErrorsHaveTheirPlace) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{name: A, component: sam, entries: 9}", "m.yaml:5:33: unknown component 'sam'"},
      {"{name: A, component: sram, entries: 9, node_nm: 22}", "m.yaml:5:33: component sram: bytes"},
      {"{name: A, component: sram, entries: 4096}", "node_nm is 0"},
      {"{name: A, component: wire}", "component wire is no memory; use sram, regfile or dram"},
      {"{name: A, component: dram, type: ddr9}", "unknown type of DRAM 'ddr9'"}};
  for (const auto& [level, expected] : cases) {
    const std::string text =
        "format: tessera-accelerator-1\nname: m\nhierarchy:\n  arithmetic: {}\n  levels: [" +
        std::string(level) + "]\n";
    const Result<Accelerator> machine = ParseAccelerator(text, "m.yaml");
    ASSERT_FALSE(machine) << level;
    EXPECT_NE(ToString(machine.error()).find(expected), std::string::npos) << machine.error();
  }
}

}  // namespace
}  // namespace tessera
