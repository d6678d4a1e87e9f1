// Energy tables of both kinds, applied and written again.
#include "tessera/arch/energy_table.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Accelerator Machine() {
  Accelerator machine{.name = "m"};
  Hierarchy& hierarchy = machine.hierarchy.emplace();
  hierarchy.arithmetic = {.name = "mac", .mac_pj = 1};
  hierarchy.levels = {MemoryLevel{.name = "RF", .read_pj = 5},
                      MemoryLevel{.name = "DRAM", .technology = "DRAM"}};
  return machine;
}

Result<EnergyTable> ParseTable(const std::string& text) {
  const Result<Node> document = ParseDocument(text, "e.yaml");
  if (!document) return document.error();
  return ParseEnergyTable(*document);
}

TEST(EnergyTable, OwnTablesReplaceWhatTheyName) {
  const Result<EnergyTable> table = ParseTable(
      "energy_table: {mac: {compute: 0.56}, DRAM: {access: 200, update: 210, hop: 0.5, address: "
      "3}}");
  ASSERT_TRUE(table) << table.error();
  Accelerator machine = Machine();
  ASSERT_TRUE(ApplyEnergyTable(*table, machine));
  const Hierarchy& h = *machine.hierarchy;
  EXPECT_EQ(h.arithmetic.mac_pj, *Decimal::Parse("0.56"));
  EXPECT_EQ(h.levels[0].read_pj, Decimal(5));
  EXPECT_EQ(h.levels[1].read_pj, Decimal(200));
  EXPECT_EQ(h.levels[1].update_pj, Decimal(210));
  EXPECT_EQ(h.levels[1].address_pj, Decimal(3));
  EXPECT_EQ(h.levels[1].network.hop_pj, *Decimal::Parse("0.5"));
}

// The largest entry of an action, the last part of a name; actions by Timeloop's preference.
TEST(EnergyTable, ReadsTheReferenceTablesOfAccelergy) {
  const Result<EnergyTable> table = ParseTable(R"(ERT:
  version: 0.3
  tables:
  - name: chip.PE[0..15].RF[0..3]
    actions:
    - {name: read, arguments: {address_delta: 0}, energy: 0.1}
    - {name: read, arguments: {address_delta: 1}, energy: 0.3}
    - {name: write, arguments: null, energy: 0.4}
    - {name: idle, arguments: null, energy: 9}
  - name: chip.PE[0..15].mac[0..3]
    actions: [{name: compute, arguments: null, energy: 0.561}]
  - name: chip.noc
    actions: [{name: transfer, arguments: null, energy: 1}]
)");
  ASSERT_TRUE(table) << table.error();
  Accelerator machine = Machine();
  machine.notes = {"RF: no vector-access-energy, and ...: 0 pJ", "other"};
  const Result<std::vector<std::string>> notes = ApplyEnergyTable(*table, machine);
  ASSERT_TRUE(notes) << notes.error();
  EXPECT_EQ(*notes, std::vector<std::string>{"energy of noc: the machine has no such level"});
  EXPECT_EQ(machine.notes, std::vector<std::string>{"other"});
  const Hierarchy& h = *machine.hierarchy;
  EXPECT_EQ(h.levels[0].read_pj, *Decimal::Parse("0.3"));
  EXPECT_EQ(h.levels[0].fill_pj, *Decimal::Parse("0.4"));
  EXPECT_EQ(h.levels[0].update_pj, *Decimal::Parse("0.4"));
  EXPECT_EQ(h.arithmetic.mac_pj, *Decimal::Parse("0.561"));
}

TEST(EnergyTable, ReadsTheOlderTablesOfAccelergy) {
  const Result<EnergyTable> table = ParseTable(R"(ERT:
  tables:
    system.DRAM:
      read: {arguments: null, energy: 512}
      write: [{arguments: null, energy: 3}, {arguments: null, energy: 500}]
)");
  ASSERT_TRUE(table) << table.error();
  EXPECT_EQ(table->components[0].name, "DRAM");
  EXPECT_EQ(table->components[0].read_pj, Decimal(512));
  EXPECT_EQ(table->components[0].update_pj, Decimal(500));
}

TEST(EnergyTable, WritesWhatItReads) {
  const Accelerator machine = Machine();
  Accelerator other = Machine();
  other.hierarchy->levels[0].read_pj = 77;
  ASSERT_TRUE(ApplyEnergyTable(*ParseTable(WriteErt(*machine.hierarchy)), other));
  EXPECT_EQ(other, machine);
}

TEST(EnergyTable, SaysWhatIsWrong) {
  const auto message = [](const std::string& text) {
    const Result<EnergyTable> table = ParseTable(text);
    if (!table) return ToString(table.error());
    Accelerator machine = Machine();
    const auto applied = ApplyEnergyTable(*table, machine);
    return applied ? "accepted" : ToString(applied.error());
  };
  EXPECT_EQ(message("energy: {}"),
            "e.yaml:1:1: the file has neither 'energy_table' nor 'ERT'; "
            "write energy_table: {MAC: {compute: 1}, DRAM: {access: 200}}");
  EXPECT_EQ(message("energy_table: {DRAM: {reed: 3}}"),
            "e.yaml:1:23: unknown key 'reed' in a component 'DRAM'; did you mean 'read'?");
  EXPECT_EQ(message("energy_table: {DRAM: {read: -3}}"),
            "e.yaml:1:29: an energy is -3, but must not be negative");
  EXPECT_EQ(message("energy_table: {L1: {read: 3}}"),
            "e.yaml:1:16: no component of the energy table is a level of the machine; "
            "known: mac, RF, DRAM");
  EXPECT_EQ(message("ERT: {tables: [{name: a, actions: [{name: read}]}]}"),
            "e.yaml:1:36: action 'read' has no 'energy'");
}

}  // namespace
}  // namespace tessera
