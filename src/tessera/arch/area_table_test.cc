// Areas from reference tables, and what a machine's area is then.
#include "tessera/arch/area_table.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::string_view kArchitecture = R"(
architecture:
  version: 0.3
  subtree:
  - name: chip
    local:
    - {name: DRAM, class: DRAM, attributes: {width: 16, word-bits: 16}}
    subtree:
    - name: PE[0..3]
      local:
      - {name: RF, class: regfile, attributes: {depth: 16, width: 16, word-bits: 16}}
      - {name: MAC, class: intmac, attributes: {datawidth: 16}}
)";

TEST(AreaTable, IsFoundBesideTheArchitecture) {
  const std::string text =
      std::string(kArchitecture) +
      "ART:\n  version: 0.3\n  tables:\n"
      "  - {name: 'chip.PE[0..3].RF', area: 12.5}\n"
      "  - {name: 'chip.PE[0..3].MAC', area: 100}\n"
      "  - {name: chip.NoC, area: 7}\n"
      "ERT:\n  version: 0.3\n  tables:\n"
      "  - {name: 'chip.PE[0..3].RF', actions: [{name: read, energy: 2}, "
      "{name: write, energy: 3}]}\n"
      "  - {name: 'chip.PE[0..3].MAC', actions: [{name: compute, energy: 1}]}\n"
      "  - {name: chip.DRAM, actions: [{name: read, energy: 200}]}\n";
  const Result<Accelerator> machine = ParseAccelerator(text, "m.yaml");
  ASSERT_TRUE(machine) << machine.error();
  const Hierarchy& hierarchy = *machine->hierarchy;
  EXPECT_EQ(hierarchy.levels[0].area_um2, Decimal::Parse("12.5").value());
  EXPECT_EQ(AreaUm2(hierarchy), 4 * 112.5);
  EXPECT_EQ(hierarchy.levels[0].read_pj, Decimal(2));
  EXPECT_EQ(hierarchy.levels[0].fill_pj, Decimal(3));
  EXPECT_EQ(hierarchy.levels[1].read_pj, Decimal(200));
  EXPECT_EQ(machine->notes,
            (std::vector<std::string>{"area of NoC: the machine has no such level"}));
}

TEST(AreaTable, IsNotKnownUnlessItIsOfEveryPartOnTheChip) {
  Result<Accelerator> machine = ParseAccelerator(kArchitecture, "m.yaml");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(AreaUm2(*machine->hierarchy), std::nullopt);
  const auto apply = [&](std::string_view text) {
    const Result<Node> document = ParseDocument(text, "art.yaml");
    EXPECT_TRUE(document);
    const Result<AreaTable> table = ParseAreaTable(*document);
    if (!table) return ToString(table.error());
    const auto notes = ApplyAreaTable(*table, *machine);
    return notes ? std::string() : ToString(notes.error());
  };
  // Before version 0.3 tables were maps.
  EXPECT_EQ(apply("ART: {tables: {chip.RF: 5}}"), "");
  EXPECT_EQ(AreaUm2(*machine->hierarchy), std::nullopt);
  EXPECT_EQ(apply("ART: {tables: [{name: MAC, area: 1}]}"), "");
  EXPECT_EQ(AreaUm2(*machine->hierarchy), 24);
  EXPECT_EQ(apply("ART: {tables: [{name: GLB, area: 1}]}"),
            "art.yaml:1:16: no component of the area table is a level of the machine; known: MAC, "
            "RF, DRAM");
  EXPECT_EQ(apply("ART: {tables: [{name: RF, area: -1}]}"),
            "art.yaml:1:33: an area must not be negative");
  EXPECT_EQ(apply("ERT: {}"),
            "art.yaml:1:1: the file has no 'ART'; write ART: {version: 0.3, tables: [{name: GLB, "
            "area: 1000}]}");
}

}  // namespace
}  // namespace tessera
