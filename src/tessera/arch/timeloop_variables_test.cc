// Variables, arithmetic and compound components of Timeloop's version 0.4.
#include <gtest/gtest.h>

#include "tessera/accelerator.h"

namespace tessera {
namespace {

constexpr std::string_view kMachine = R"(variables:
  version: 0.4
  rows: 12
  columns: rows + 2
  glb_words: 2 ** 14 * 4   # 16-bit words
  width: 64
  technology: "45nm"
architecture:
  version: 0.4
  nodes:
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: width, datawidth: 16, vector_access_energy: 200}
  - !Component
    name: GLB
    class: my_buffer
    attributes: {datawidth: 16, depth: glb_words / (width / datawidth), technology: technology}
  - !Container
    name: PE
    spatial: {meshX: columns, meshY: "rows"}
  - !Component
    name: RF
    class: regfile
    attributes: {datawidth: 16, width: datawidth, depth: "max(8, ceil(rows * 1.5)) // 2",
                 vector_access_energy: 0.1 * 12}
  - !Component
    name: mac
    class: my_mac
    attributes: {energy: 0.5}
components:
  version: 0.4
  classes:
  - name: my_buffer
    attributes: {width: 64, vector_access_energy: 6}
    subcomponents: [{name: storage, class: my_array}, {name: address, class: intadder}]
  - name: my_array
    subcomponents: [{name: array, class: SRAM}]
  - name: my_mac
    subcomponents: [{name: multiplier, class: intmac}]
)";

TEST(TimeloopVariables, AreResolved) {
  const Result<Accelerator> machine = ParseAccelerator(kMachine, "arch.yaml");
  ASSERT_TRUE(machine) << machine.error();
  const Hierarchy& hierarchy = *machine->hierarchy;
  ASSERT_EQ(hierarchy.levels.size(), 3u);
  EXPECT_EQ(hierarchy.levels[2].block_words, 4);
  EXPECT_EQ(hierarchy.levels[1].name, "GLB");
  EXPECT_EQ(hierarchy.levels[1].entries, 65536);
  EXPECT_EQ(hierarchy.levels[1].read_pj, Decimal(6));  // of its class
  EXPECT_EQ(hierarchy.levels[0].mesh_x, 14);
  EXPECT_EQ(hierarchy.levels[0].mesh_y, 12);
  EXPECT_EQ(hierarchy.levels[0].entries, 9);
  EXPECT_NEAR(hierarchy.levels[0].read_pj.ToDouble(), 1.2, 1e-12);
  EXPECT_EQ(hierarchy.arithmetic.mac_pj.ToString(), "0.5");
  EXPECT_EQ(machine->notes, std::vector<std::string>{});
}

std::string ErrorWith(const std::string& variables, const std::string& depth) {
  const Result<Accelerator> machine =
      ParseAccelerator("variables: {" + variables +
                           "}\narchitecture:\n  nodes:\n  - !Component {name: DRAM, class: " +
                           "DRAM, attributes: {datawidth: 8, width: 8, depth: " + depth +
                           "}}\n  - !Component {name: mac, class: intmac}\n",
                       "arch.yaml");
  return machine ? std::to_string(machine->hierarchy->levels[0].entries.value_or(-1))
                 : ToString(machine.error());
}

TEST(TimeloopVariables, SayWhatIsWrong) {
  EXPECT_EQ(ErrorWith("a: 3", "a * 2"), "6");
  EXPECT_EQ(ErrorWith("a: b + 1, b: a", "a"), "arch.yaml:4:86: 'depth' depends on itself");
  EXPECT_EQ(ErrorWith("a: 0", "1 / a"), "arch.yaml:4:86: '1 / a' is not a number");
  EXPECT_EQ(ErrorWith("a: 0", "unknown * 2"), "arch.yaml:4:86: 'unknown * 2' is not an integer");
}

}  // namespace
}  // namespace tessera
