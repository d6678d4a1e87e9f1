// Constraint files of Timeloop, as demands on decisions.
#include <gtest/gtest.h>

#include "tessera/accelerator.h"

namespace tessera {
namespace {

std::vector<std::string> Texts(const Result<Constraints>& constraints) {
  if (!constraints) return {ToString(constraints.error())};
  std::vector<std::string> texts;
  for (const Constraints::Demand& demand : constraints->demands) texts.push_back(ToString(demand));
  for (const std::string& note : constraints->notes) texts.push_back("note: " + note);
  return texts;
}

TEST(TimeloopConstraints, OfVersion03) {
  EXPECT_EQ(Texts(ParseConstraints(R"(architecture_constraints:
  targets:
  - {target: GLB, type: temporal, factors: "N=1 C<=16 M>=2 R=0 S3", permutation: RSC*K}
  - {target: GLB, type: spatial, factors: P=1 Q=1, permutation: CKRSPQN, split: 1}
  - {target: RF, type: datatype, keep: [Weights], bypass: [Inputs, Outputs]}
mapspace_constraints:
- {target: RF, type: temporal, permutation: QP}
- {target: RF, type: utilization, min: 0.5}
)",
                                   "c.yaml")),
            (std::vector<std::string>{"N_GLB = 1",
                                      "C_GLB <= 16",
                                      "M_GLB >= 2",
                                      "R_GLB = the whole size",
                                      "S_GLB = 3",
                                      "order_GLB: innermost R, S, C",
                                      "order_GLB: outermost K",
                                      "P_GLB_par = 1",
                                      "Q_GLB_par = 1",
                                      "C_GLB_axis = X",
                                      "K_GLB_axis = Y",
                                      "R_GLB_axis = Y",
                                      "S_GLB_axis = Y",
                                      "P_GLB_axis = Y",
                                      "Q_GLB_axis = Y",
                                      "N_GLB_axis = Y",
                                      "*_GLB_axis = Y except of C, K, R, S, P, Q, N",
                                      "keep_RF_Weights = keep",
                                      "keep_RF_Inputs = bypass",
                                      "keep_RF_Outputs = bypass",
                                      "order_RF: innermost Q, P",
                                      "utilization >= 0.5"}));
}

TEST(TimeloopConstraints, OfVersion04) {
  EXPECT_EQ(Texts(ParseConstraints(R"(constraints:
  version: 0.4
  targets:
  - type: temporal
    target: GLB
    factors_only: [C=4]
    permutation: [C, M]
    no_iteration_over_dataspaces: [Weights]
  - {type: spatial, target: PE, factors: [M=8], must_iterate_over_dataspaces: [Outputs]}
  - {type: dataspace, target: GLB, keep_only: [Inputs]}
  - {target: RF, temporal: {factors: [N=1]}, spatial: {no_reuse: [Weights]}}
)",
                                   "c.yaml")),
            (std::vector<std::string>{
                "C_GLB = 4", "*_GLB = 1 except of C", "order_GLB: innermost C, M",
                "*_GLB = 1 for dimensions of Weights", "M_^PE_par = 8",
                "*_^PE_par = 1 for dimensions not of Outputs", "keep_GLB_Inputs = keep",
                "keep_GLB_* = bypass except of Inputs", "N_RF = 1",
                "note: ^RF: constraint 'no_reuse' on line 11 is not used"}));
}

TEST(TimeloopConstraints, MistakesAreFoundWhereTheyStand) {
  EXPECT_EQ(Texts(ParseConstraints(
                "mapspace_constraints:\n- {target: RF, type: temporal, factors: C=x}\n", "c.yaml")),
            (std::vector<std::string>{"c.yaml:2:41: cannot read the factor 'C=x'; write C=16, "
                                      "C<=16 or C=0 for the whole of C"}));
  EXPECT_EQ(Texts(ParseConstraints("mapspace_constraints:\n- {type: temporal, factors: C=1}\n",
                                   "c.yaml")),
            (std::vector<std::string>{"c.yaml:2:3: a constraint without 'target'"}));
}

// What a machine demands survives Tessera's own format.
TEST(TimeloopConstraints, OfAMachineRoundTrip) {
  const Result<Accelerator> machine = ParseAccelerator(R"(architecture:
  version: 0.4
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8, width: 8},
                constraints: {temporal: {factors_only: [K=0, C<=8]}}}
  - !Component {name: RF, class: regfile, spatial: {meshX: 4},
                attributes: {datawidth: 8, width: 8, depth: 16},
                constraints: {spatial: {factors: [C=4]}, dataspace: {keep_only: [Weights]}}}
  - !Component {name: mac, class: intmac}
)",
                                                       "arch.yaml");
  ASSERT_TRUE(machine) << machine.error();
  EXPECT_EQ(
      Texts(machine->constraints),
      (std::vector<std::string>{"K_DRAM = the whole size", "C_DRAM <= 8",
                                "*_DRAM = 1 except of K, C", "C_DRAM_par = 4",
                                "keep_RF_Weights = keep", "keep_RF_* = bypass except of Weights"}));
  const std::string text = AcceleratorText(*machine);
  const Result<Accelerator> again = ParseAccelerator(text, "m.yaml");
  ASSERT_TRUE(again) << again.error() << text;
  EXPECT_EQ(again->constraints, machine->constraints);
  EXPECT_EQ(*again, *machine);
}

}  // namespace
}  // namespace tessera
