// The presets taken from Timeloop's golden data hold exactly its numbers.
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

// The text of `"arch": {...}` in a row.
std::string_view ArchText(std::string_view row) {
  const size_t key = row.find("\"arch\":");
  const size_t begin = row.find('{', key);
  int depth = 0;
  for (size_t at = begin; at < row.size(); ++at) {
    depth += row[at] == '{' ? 1 : row[at] == '}' ? -1 : 0;
    if (depth == 0) return row.substr(begin, at - begin + 1);
  }
  return {};
}

std::optional<Decimal> NumberOrNone(const Node& node) {
  return node.kind == Node::Kind::kNull ? std::nullopt : std::optional(*node.AsDecimal());
}

MemoryLevel LevelOf(const Node& golden) {
  const auto number = [&](std::string_view key) { return *golden.Find(key)->AsDecimal(); };
  const auto integer = [&](std::string_view key) { return *golden.Find(key)->AsInt(); };
  const Node& net = *golden.Find("net");
  MemoryLevel level{.name = golden.Find("name")->scalar,
                    .technology = golden.Find("technology")->scalar};
  if (golden.Find("entries")->kind != Node::Kind::kNull) level.entries = integer("entries");
  level.word_bits = integer("word_bits");
  level.block_words = integer("block_size");
  level.cluster_size = integer("cluster_size");
  level.mesh_x = integer("meshX");
  level.mesh_y = integer("meshY");
  level.read_words_per_cycle = NumberOrNone(*golden.Find("read_bw"));
  level.write_words_per_cycle = NumberOrNone(*golden.Find("write_bw"));
  level.shared_words_per_cycle = NumberOrNone(*golden.Find("shared_bw"));
  level.multiple_buffering = number("multiple_buffering");
  level.read_pj = number("e_read");
  level.fill_pj = number("e_fill");
  level.update_pj = number("e_update");
  level.address_pj = number("e_addr_gen");
  level.reduces_in_place = *golden.Find("reduction")->AsBool();
  level.network = {.hop_pj = *net.Find("e_hop")->AsDecimal(),
                   .router_pj = *net.Find("e_router")->AsDecimal(),
                   .ingress_pj = *net.Find("e_ingress")->AsDecimal(),
                   .fill_latency_cycles = *net.Find("fill_latency")->AsInt(),
                   .drain_latency_cycles = *net.Find("drain_latency")->AsInt()};
  return level;
}

TEST(Presets, HoldTheNumbersOfTheGoldenRows) {
  const Result<std::string> rows =
      ReadFile(TESSERA_SOURCE_DIR "/tests/golden/timeloop/train.jsonl.gz");
  ASSERT_TRUE(rows) << rows.error();
  std::set<std::string_view> texts;
  for (const std::string_view row : Split(*rows, '\n')) {
    if (!row.empty()) texts.insert(ArchText(row));
  }
  const std::map<std::string, std::string> presets = {
      {"eyeriss256", "eyeriss-256"}, {"nvdla", "nvdla"}, {"simba", "simba"}};
  std::set<std::string> found;
  for (const std::string_view text : texts) {
    const Result<Node> golden = ParseDocument(text, "golden");
    ASSERT_TRUE(golden) << golden.error();
    const auto preset = presets.find(golden->Find("name")->scalar);
    if (preset == presets.end()) continue;
    SCOPED_TRACE(preset->second);
    EXPECT_TRUE(found.insert(preset->second).second) << "two architectures of one name";
    const Result<Accelerator> accelerator = LoadAccelerator(preset->second);
    ASSERT_TRUE(accelerator) << accelerator.error();
    const Hierarchy& hierarchy = *accelerator->hierarchy;
    const Node& macs = *golden->Find("arithmetic");
    EXPECT_EQ(hierarchy.arithmetic, (Arithmetic{.name = macs.Find("name")->scalar,
                                                .mesh_x = *macs.Find("meshX")->AsInt(),
                                                .mesh_y = *macs.Find("meshY")->AsInt(),
                                                .word_bits = *macs.Find("word_bits")->AsInt(),
                                                .mac_pj = *macs.Find("energy")->AsDecimal()}));
    const std::vector<Node>& levels = golden->Find("levels")->items;
    ASSERT_EQ(hierarchy.levels.size(), levels.size());
    for (size_t i = 0; i < levels.size(); ++i) {
      EXPECT_EQ(hierarchy.levels[i], LevelOf(levels[i])) << hierarchy.levels[i].name;
    }
  }
  EXPECT_EQ(found.size(), presets.size());
}

// The machines that are given by numbers alone.
TEST(Presets, HoldTheNumbersTheyPromise) {
  const Result<Accelerator> gamma = LoadAccelerator("gamma-168");
  ASSERT_TRUE(gamma);
  EXPECT_EQ(*gamma->pe_array, (PeArray{.num_pes = 168,
                                       .l1_elements = 512,
                                       .l2_elements = 108'000,
                                       .noc_elements_per_cycle = 81'920'000}));
  const Result<Accelerator> maestro = LoadAccelerator("maestro-256");
  ASSERT_TRUE(maestro);
  EXPECT_EQ(*maestro->pe_array, (PeArray{.num_pes = 256,
                                         .l1_elements = 512,
                                         .l2_elements = 108'000,
                                         .noc_elements_per_cycle = 64,
                                         .offchip_elements_per_cycle = 64}));
  const Result<Accelerator> simple = LoadAccelerator("simple3");
  ASSERT_TRUE(simple);
  const Hierarchy& hierarchy = *simple->hierarchy;
  EXPECT_EQ(hierarchy.arithmetic.mac_pj.ToString(), "0.56");
  EXPECT_EQ(hierarchy.arithmetic.instances(), 256);
  ASSERT_EQ(hierarchy.levels.size(), 3u);
  const struct {
    std::optional<int64_t> entries;
    std::string_view pj;
    int64_t words_per_cycle, mesh;
  } expected[] = {{220, "0.5", 4, 16}, {65'536, "7.4", 16, 1}, {std::nullopt, "200", 4, 1}};
  for (size_t i = 0; i < 3; ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    EXPECT_EQ(level.entries, expected[i].entries);
    EXPECT_EQ(level.word_bits, 16);
    EXPECT_EQ(level.mesh_x, expected[i].mesh);
    EXPECT_EQ(level.mesh_y, expected[i].mesh);
    EXPECT_EQ(level.read_pj.ToString(), expected[i].pj);
    EXPECT_EQ(level.fill_pj, level.read_pj);
    EXPECT_EQ(level.update_pj, level.read_pj);
    EXPECT_EQ(level.read_words_per_cycle, Decimal(expected[i].words_per_cycle));
    EXPECT_EQ(level.write_words_per_cycle, Decimal(expected[i].words_per_cycle));
    EXPECT_EQ(level.network, LevelNetwork{});
  }
  EXPECT_TRUE(hierarchy.keeps.empty());
}

}  // namespace
}  // namespace tessera
