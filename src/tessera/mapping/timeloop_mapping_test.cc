// Mapping files of Timeloop: every spelling, what is left out, round trips, and messages.
#include "tessera/mapping/timeloop_mapping.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

LoopProblem Conv() { return *MakeLoopProblem("conv", {{"R", 3}, {"P", 8}, {"C", 4}, {"K", 16}}); }

Hierarchy Machine() {
  Hierarchy machine;
  machine.arithmetic.mesh_x = 4;
  machine.levels = {MemoryLevel{.name = "RF", .entries = 64, .mesh_x = 4},
                    MemoryLevel{.name = "GLB", .entries = 4096}, MemoryLevel{.name = "DRAM"}};
  return machine;
}

Result<LoopMapping> Read(const std::string& text, const LoopProblem& problem = Conv()) {
  const Result<Node> root = ParseDocument(text, "m.yaml");
  if (!root) return root.error();
  return ReadTimeloopMapping(*root, problem, Machine());
}

constexpr const char* kDashed = R"(mapping:
  - {target: DRAM, type: temporal, factors: K=2 C=4 P=8, permutation: CKP}
  - {target: GLB, type: spatial, factors: K=4, permutation: KRSPQCN, split: 1}
  - {target: GLB, type: temporal, factors: K2 R3, permutation: RK}
  - {target: GLB, type: bypass, bypass: [Weights]}
  - {target: RF, type: datatype, keep: [Weights, Inputs], bypass: [Outputs]}
)";

TEST(TimeloopMapping, ReadsDirectives) {
  const Result<LoopMapping> mapping = Read(kDashed);
  ASSERT_TRUE(mapping) << mapping.error();
  const std::string names[] = {"RF", "GLB", "DRAM"};
  EXPECT_EQ(PrintLoopNest(*mapping, Conv(), names), R"(DRAM [ Weights Inputs Outputs ]
-------------------------------
| for P in [0:8)
|   for K in [0:2)
|     for C in [0:4)

GLB [ Inputs Outputs ]
----------------------
|       for K in [0:2)
|         for R in [0:3)
|           for K in [0:4) (Spatial-X)

RF [ Weights Inputs ]
---------------------
)");
}

TEST(TimeloopMapping, ReadsTheSpellingsOfVersion04) {
  const Result<LoopMapping> mapping = Read(R"(mapping:
  - {target: RF, type: dataspace, bypass: [Outputs]}
  - {target: 1, type: dataspace, bypass: [Weights], keep: []}
  - target: GLB
    type: spatial
    factors: [K=4, C=1]
    permutation: [K, R, S, P, Q, C, N]
    split: 1
  - {target: GLB, type: temporal, factors: {K: 2, R: 3}, permutation: "R, K"}
  - {target: DRAM, type: temporal, factors: "K=2, C=4, P=8", permutation: C K P}
)");
  ASSERT_TRUE(mapping) << mapping.error();
  EXPECT_EQ(*mapping, *Read(kDashed));
}

TEST(TimeloopMapping, ResidualsFollowFromTheBound) {
  const LoopMapping plain = *Read("mapping: [{target: DRAM, type: temporal, factors: P=3 K=16}]");
  EXPECT_EQ(*Read("mapping: [{target: DRAM, type: temporal, factors: 'P=3,2 K16'}]"), plain);
  EXPECT_EQ(plain.levels[2].temporal[2], 3);
  EXPECT_EQ(Read("mapping: [{target: DRAM, type: temporal, factors: P0}]")->levels[2].temporal[2],
            0);
}

TEST(TimeloopMapping, ReadsWhatItWrites) {
  const LoopMapping mapping = *Read(kDashed);
  const std::string text = WriteTimeloopMapping(mapping, Conv(), Machine());
  EXPECT_EQ(WriteTimeloopMapping(*Read(text), Conv(), Machine()), text);
  EXPECT_NE(text.find("permutation: CKPRSQN"), std::string::npos) << text;
}

TEST(TimeloopMapping, TensorsNotMentionedAreHeldWhereTheMachineSays) {
  Hierarchy machine = Machine();
  machine.keeps = {{"Weights"}, {"Inputs", "Outputs"}, {"Weights", "Inputs", "Outputs"}};
  const Node root = *ParseDocument("mapping: [{target: GLB, type: bypass, keep: [Weights]}]", "m");
  const LoopMapping mapping = *ReadTimeloopMapping(root, Conv(), machine);
  EXPECT_EQ(mapping.levels[0].keep & 7, 0b001);
  EXPECT_EQ(mapping.levels[1].keep & 7, 0b111);
}

TEST(TimeloopMapping, SaysWhatIsWrong) {
  const auto message = [](const std::string& directive) {
    const Result<LoopMapping> mapping = Read("mapping: [" + directive + "]");
    return mapping ? "accepted" : ToString(mapping.error());
  };
  EXPECT_EQ(message("{target: GBL, type: temporal}"),
            "m.yaml:1:20: the machine has no level 'GBL'; did you mean 'GLB'?");
  EXPECT_EQ(message("{target: GLB, type: temproal}"),
            "m.yaml:1:31: unknown type 'temproal' of a directive; did you mean 'temporal'?");
  EXPECT_EQ(message("{target: GLB, type: temporal, factors: M=2}"),
            "m.yaml:1:50: unknown dimension 'M'; known: R, S, P, Q, C, K, N");
  EXPECT_EQ(message("{target: GLB, type: temporal, factors: K=x}"),
            "m.yaml:1:50: the factor of K is 'x', but must be in 0..2147483647; "
            "write factors as K=2 C=4");
  EXPECT_EQ(message("{target: GLB, type: temporal, permutation: KK}"),
            "m.yaml:1:54: dimension K occurs twice in the permutation");
  EXPECT_EQ(message("{target: GLB, type: bypass, keep: [Weigths]}"),
            "m.yaml:1:46: unknown tensor 'Weigths'; did you mean 'Weights'?");
  EXPECT_EQ(message("{target: GLB, type: bypass, keep: [Weights], bypass: [Weights]}"),
            "m.yaml:1:64: a tensor is both kept and bypassed");
  EXPECT_EQ(message("{target: GLB, type: temporal, spilt: 3}"),
            "m.yaml:1:41: unknown key 'spilt' in a directive; "
            "known: target, type, factors, permutation");
  EXPECT_EQ(message("{target: GLB, type: temporal}, {target: GLB, type: temporal}"),
            "m.yaml:1:42: a second temporal directive for 'GLB'");
  EXPECT_EQ(ToString(Read("mappings: []").error()),
            "m.yaml:1:1: the file has no key 'mapping'; a Timeloop mapping starts with 'mapping:'");
}

}  // namespace
}  // namespace tessera
