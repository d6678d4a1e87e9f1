// What is written as a Timeloop architecture reads back as the same machine.
#include "tessera/arch/timeloop_write.h"

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/arch/energy_table.h"

namespace tessera {
namespace {

// Without what neither kind of file holds.
Hierarchy Expected(const Accelerator& machine) {
  Hierarchy expected = *machine.hierarchy;
  expected.links = false;
  expected.keeps.clear();
  return expected;
}

Result<Hierarchy> RoundTrip(const Accelerator& machine, TimeloopVersion version) {
  const Result<TimeloopArchitecture> written = WriteTimeloopArchitecture(machine, version);
  if (!written) return written.error();
  Result<Accelerator> read = ParseAccelerator(written->text, "arch.yaml");
  if (!read) return read.error();
  if (!written->ert.empty()) {
    const Result<Node> document = ParseDocument(written->ert, "ert.yaml");
    if (!document) return document.error();
    const Result<EnergyTable> table = ParseEnergyTable(*document);
    if (!table) return table.error();
    const auto applied = ApplyEnergyTable(*table, *read);
    if (!applied) return applied.error();
  }
  EXPECT_EQ(read->notes, std::vector<std::string>());
  read->hierarchy->keeps.clear();
  return *read->hierarchy;
}

TEST(TimeloopWrite, EveryPresetReadsBackInBothVersions) {
  int checked = 0;
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    const Accelerator machine = *LoadAccelerator(std::string(preset.name));
    if (!machine.hierarchy) continue;
    for (const TimeloopVersion version : {TimeloopVersion::k03, TimeloopVersion::k04}) {
      const Result<Hierarchy> read = RoundTrip(machine, version);
      ASSERT_TRUE(read) << preset.name << ": " << read.error();
      EXPECT_EQ(*read, Expected(machine)) << preset.name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 8);
}

TEST(TimeloopWrite, OddMachinesReadBack) {
  Accelerator machine{.name = "odd"};
  Hierarchy& h = machine.hierarchy.emplace();
  h.arithmetic = {.name = "mac", .mesh_x = 6, .mesh_y = 4, .word_bits = 8, .mac_pj = 2};
  h.levels = {MemoryLevel{.name = "RF",
                          .technology = "SRAM",
                          .entries = 33,
                          .word_bits = 8,
                          .block_words = 4,
                          .cluster_size = 3,
                          .mesh_x = 6,
                          .mesh_y = 2,
                          .shared_words_per_cycle = *Decimal::Parse("0.7"),
                          .multiple_buffering = *Decimal::Parse("1.5"),
                          .address_pj = *Decimal::Parse("0.01"),
                          .reduces_in_place = false},
              MemoryLevel{.name = "DRAM", .technology = "DRAM", .reduces_in_place = true}};
  h.levels[0].network.drain_latency_cycles = 7;
  for (const TimeloopVersion version : {TimeloopVersion::k03, TimeloopVersion::k04}) {
    const Result<Hierarchy> read = RoundTrip(machine, version);
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, Expected(machine));
  }
  h.levels[1].mesh_x = 2;
  EXPECT_TRUE(WriteTimeloopArchitecture(machine, TimeloopVersion::k03));
  EXPECT_EQ(WriteTimeloopArchitecture(machine, TimeloopVersion::k04).error().message,
            "DRAM has 2 instances, but in files of version 0.4 the outermost level has one");
}

}  // namespace
}  // namespace tessera
