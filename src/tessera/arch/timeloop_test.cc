// Timeloop architectures in their three shapes, and what of them is not used.
#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

Accelerator ParseTimeloop(std::string_view text) {
  Result<Accelerator> accelerator = ParseAccelerator(text, "arch.yaml");
  EXPECT_TRUE(accelerator) << accelerator.error();
  return accelerator ? *accelerator : Accelerator{};
}

std::vector<std::string> Texts(const Constraints& constraints) {
  std::vector<std::string> texts;
  for (const Constraints::Demand& demand : constraints.demands) texts.push_back(ToString(demand));
  return texts;
}

std::string ErrorOf(std::string_view text) {
  const Result<Accelerator> accelerator = ParseAccelerator(text, "arch.yaml");
  return accelerator ? "valid" : ToString(accelerator.error());
}

constexpr std::string_view kFlat = R"(architecture:
  arithmetic: {name: MACs, instances: 256, meshX: 16, word-bits: 8, energy: 1}
  storage:
  - {name: RF, entries: 64, instances: 256, meshX: 16, word-bits: 8, cluster-size: 16,
     read_bandwidth: 2, write_bandwidth: 0.5, vector-access-energy: 1.5}
  - {name: GLB, sizeKB: 128, instances: 16, meshX: 16, word-bits: 16, block-size: 4,
     multiple-buffering: 2.0, shared_bandwidth: 32, vector-access-energy: 30, energy-per-hop: 0.25,
     router-energy: 0.125, energy-per-ingress: 0.5, network_fill_latency: 3,
     network_drain_latency: 4, num-banks: 2}
  - {name: Main, technology: DRAM, instances: 1, bandwidth: 8, vector-access-energy: 200}
)";

TEST(TimeloopArchitecture, FlatLevelsGoFromTheMacsOutwards) {
  const Accelerator accelerator = ParseTimeloop(kFlat);
  EXPECT_EQ(accelerator.name, "arch");
  const Hierarchy& hierarchy = *accelerator.hierarchy;
  EXPECT_EQ(hierarchy.arithmetic,
            (Arithmetic{.name = "MACs", .mesh_x = 16, .mesh_y = 16, .word_bits = 8, .mac_pj = 1}));
  ASSERT_EQ(hierarchy.levels.size(), 3u);
  const MemoryLevel& rf = hierarchy.levels[0];
  EXPECT_EQ(rf.name, "RF");
  EXPECT_EQ(rf.entries, 64);
  EXPECT_EQ(rf.mesh_y, 16);
  EXPECT_EQ(rf.cluster_size, 16);
  EXPECT_EQ(rf.write_words_per_cycle->ToString(), "0.5");
  EXPECT_EQ(rf.fill_pj.ToString(), "1.5");
  const MemoryLevel& glb = hierarchy.levels[1];
  EXPECT_EQ(glb.entries, 128 * 1024 * 8 / 16);
  EXPECT_EQ(glb.block_words, 4);
  EXPECT_EQ(glb.multiple_buffering, Decimal(2));
  EXPECT_EQ(glb.shared_words_per_cycle, Decimal(32));
  EXPECT_EQ(glb.network, (LevelNetwork{.hop_pj = *Decimal::Parse("0.25"),
                                       .router_pj = *Decimal::Parse("0.125"),
                                       .ingress_pj = *Decimal::Parse("0.5"),
                                       .fill_latency_cycles = 3,
                                       .drain_latency_cycles = 4}));
  EXPECT_TRUE(glb.reduces_in_place);
  const MemoryLevel& dram = hierarchy.levels[2];
  EXPECT_EQ(dram.technology, "DRAM");
  EXPECT_EQ(dram.entries, std::nullopt);
  EXPECT_EQ(dram.read_words_per_cycle, Decimal(4));  // half of the old `bandwidth`
  EXPECT_FALSE(dram.reduces_in_place);
  EXPECT_TRUE(hierarchy.keeps.empty());
  EXPECT_EQ(accelerator.notes,
            (std::vector<std::string>{"GLB: 'num-banks' on line 9 is not used"}));
}

constexpr std::string_view kTree = R"(architecture:
  version: 0.3
  subtree:
  - name: system
    local:
    - name: DRAM
      class: DRAM
      attributes: {width: 64, block-size: 4, word-bits: 16}
    subtree:
    - name: chip
      attributes: {technology: 45nm}
      local:
      - name: GLB
        class: smartbuffer_SRAM
        attributes: {memory_depth: 16384, memory_width: 64, block-size: 4, word-bits: 16, read_bandwith: 16}
      - name: Dummy[0..13]
        class: regfile
        attributes: {depth: 0, width: 16, word-bits: 16, meshX: 14}
      - name: bus
        class: XY_NoC
      subtree:
      - name: PE[0..167]
        local:
        - name: spad
          class: smartbuffer_RF
          attributes: {memory_depth: 12, memory_width: 32, block_size: 2, word_bits: 8, meshX: 14}
        - name: mac
          class: intmac
          attributes: {meshX: 14, multiplier_width: 8}
architecture_constraints:
  targets:
  - {target: Dummy, type: bypass, bypass: [Inputs, Outputs, Weights]}
  - {target: GLB, type: bypass, bypass: [Weights], keep: [Inputs, Outputs]}
  - {target: GLB, type: spatial, factors: N=1}
)";

TEST(TimeloopArchitecture, TreesGoFromTheOutsideIn) {
  const Accelerator accelerator = ParseTimeloop(kTree);
  const Hierarchy& hierarchy = *accelerator.hierarchy;
  EXPECT_EQ(hierarchy.arithmetic.name, "mac");
  EXPECT_EQ(hierarchy.arithmetic.mesh_x, 14);
  EXPECT_EQ(hierarchy.arithmetic.mesh_y, 12);
  EXPECT_EQ(hierarchy.arithmetic.word_bits, 8);
  ASSERT_EQ(hierarchy.levels.size(), 4u);
  EXPECT_EQ(hierarchy.levels[0].name, "spad");
  EXPECT_EQ(hierarchy.levels[0].entries, 24);  // depth * block size
  EXPECT_EQ(hierarchy.levels[0].instances(), 168);
  EXPECT_EQ(hierarchy.levels[0].cluster_size, 2);  // width / (word bits * block size)
  EXPECT_EQ(hierarchy.levels[1].name, "Dummy");
  EXPECT_EQ(hierarchy.levels[1].entries, 0);
  EXPECT_EQ(hierarchy.levels[1].mesh_x, 14);
  EXPECT_EQ(hierarchy.levels[1].mesh_y, 1);
  EXPECT_EQ(hierarchy.levels[2].name, "GLB");
  EXPECT_EQ(hierarchy.levels[2].entries, 65536);
  EXPECT_EQ(hierarchy.levels[3].technology, "DRAM");
  EXPECT_EQ(hierarchy.keeps,
            (std::vector<std::vector<std::string>>{{"Weights", "Inputs", "Outputs"},
                                                   {},
                                                   {"Inputs", "Outputs"},
                                                   {"Weights", "Inputs", "Outputs"}}));
  EXPECT_EQ(accelerator.notes,
            (std::vector<std::string>{
                "DRAM: no vector-access-energy: 0 pJ, unless an ERT has one",
                "GLB: no vector-access-energy: 0 pJ, unless an ERT has one",
                "GLB: 'read_bandwith' on line 15 is not used; did you mean 'read_bandwidth'?",
                "bus: class 'XY_NoC' is neither storage nor compute, left out",
                "spad: no vector-access-energy: 0 pJ, unless an ERT has one",
                "mac: no energy: 0 pJ, unless an ERT has one"}));
  EXPECT_EQ(Texts(accelerator.constraints),
            (std::vector<std::string>{"keep_GLB_Inputs = keep", "keep_GLB_Outputs = keep",
                                      "N_GLB_par = 1"}));
}

constexpr std::string_view kNodes = R"(architecture:
  version: 0.4
  nodes:
  - !Container
    name: system
    attributes: &common {datawidth: 8, vector_access_energy: 2}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64}
  - !Component
    name: GLB
    class: smartbuffer_SRAM
    attributes: {depth: 1024, width: 64, datawidth: 16}
    constraints:
      dataspace: {keep: [Inputs, Outputs], bypass: [Weights]}
      temporal: {factors: [N=1]}
  - !Container
    name: column
    spatial: {meshX: 14}
  - !Container
    name: PE
    spatial: {meshY: 12}
  - !Parallel
    nodes:
    - !Component
      name: ispad
      class: storage
      attributes: {<<: *common, depth: 12, datawidth: 16}
      constraints: {dataspace: {keep: [Inputs]}}
    - !Component
      name: wspad
      class: storage
      attributes: {depth: 192}
      constraints: {dataspace: {keep: [Weights]}}
    - !Nothing {constraints: {dataspace: {keep: [Outputs]}}}
  - !Component
    name: spare
    class: storage
    enabled: false
  - !Component
    name: mac
    class: compute
    spatial: {meshX: 2}
    attributes: {energy: 0.5}
problem: {shape: conv}
)";

TEST(TimeloopArchitecture, NodesGoFromTheOutsideIn) {
  const Accelerator accelerator = ParseTimeloop(kNodes);
  const Hierarchy& hierarchy = *accelerator.hierarchy;
  ASSERT_EQ(hierarchy.levels.size(), 5u);
  std::vector<std::string> names;
  for (const MemoryLevel& level : hierarchy.levels) names.push_back(level.name);
  EXPECT_EQ(names, (std::vector<std::string>{"wspad", "ispad", "inter_PE_spatial", "GLB", "DRAM"}));
  EXPECT_EQ(hierarchy.arithmetic.mesh_x, 28);
  EXPECT_EQ(hierarchy.arithmetic.mesh_y, 12);
  EXPECT_EQ(hierarchy.arithmetic.word_bits, 8);  // inherited
  EXPECT_EQ(hierarchy.arithmetic.mac_pj.ToString(), "0.5");
  EXPECT_EQ(hierarchy.levels[0].mesh_x, 14);
  EXPECT_EQ(hierarchy.levels[0].mesh_y, 12);
  EXPECT_EQ(hierarchy.levels[0].entries, 192);
  EXPECT_EQ(hierarchy.levels[0].read_pj, Decimal(2));  // inherited
  EXPECT_EQ(hierarchy.levels[1].word_bits, 16);        // its own, over the merged map
  EXPECT_EQ(hierarchy.levels[2].mesh_x, 14);
  EXPECT_EQ(hierarchy.levels[2].mesh_y, 1);
  EXPECT_EQ(hierarchy.levels[2].entries, 0);
  EXPECT_EQ(hierarchy.levels[3].block_words, 4);  // all words of the width
  EXPECT_EQ(hierarchy.levels[3].entries, 4096);
  EXPECT_EQ(hierarchy.levels[4].block_words, 8);
  EXPECT_EQ(
      hierarchy.keeps,
      (std::vector<std::vector<std::string>>{
          {"Weights"}, {"Inputs"}, {}, {"Inputs", "Outputs"}, {"Weights", "Inputs", "Outputs"}}));
  EXPECT_EQ(
      accelerator.notes,
      (std::vector<std::string>{
          "inter_PE_spatial: a level that holds nothing, between two fan-outs",
          "spare: not enabled, left out", "'problem' on line 46 is not part of the accelerator"}));
}

TEST(TimeloopArchitecture, MistakesAreFoundWhereTheyStand) {
  EXPECT_EQ(ErrorOf("architecture: {}\n"),
            "arch.yaml:1:15: an architecture without 'storage', 'subtree' or 'nodes'; flat levels, "
            "trees of version 0.2 and 0.3 and nodes of version 0.4 are read");
  EXPECT_EQ(ErrorOf("architecture: {storage: [{name: A, instances: 1}]}\n"),
            "arch.yaml:1:15: the architecture has no compute level; add a component of a class "
            "such as intmac or compute");
  const std::string flat = "arch:\n  arithmetic: {name: M, instances: 4}\n  storage:\n";
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 1, entries: 1.5}\n"),
            "arch.yaml:4:38: '1.5' is not an integer");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 1, entries: -5}\n"),
            "arch.yaml:4:38: -5 is outside 0..2147483647");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 4, meshX: 3}\n"),
            "arch.yaml:4:5: instances 4 is no multiple of meshX 3");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 4, meshX: 2, meshY: 3}\n"),
            "arch.yaml:4:5: 4 instances, but meshX 2 * meshY 3");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 3}\n"),
            "arch.yaml:4:5: A: meshX 3 does not divide meshX 4 of M");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 1, width: 24}\n"),
            "arch.yaml:4:5: width 24 is no multiple of word bits * block size 16");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 1, entries: 4, depth: 4}\n"),
            "arch.yaml:4:5: only one of entries, depth and sizeKB can be given");
  EXPECT_EQ(ErrorOf(flat + "  - {name: A, instances: 1, read_bandwidth: 0}\n"),
            "arch.yaml:4:5: A: read_words_per_cycle is 0, but must be above 0");
  EXPECT_EQ(ErrorOf("architecture:\n  subtree:\n  - name: a\n  - name: b\n"),
            "arch.yaml:4:5: a second node beside the first: only a chain can be mapped");
  EXPECT_EQ(ErrorOf("architecture:\n  subtree:\n  - name: PE[0..x]\n"),
            "arch.yaml:3:11: cannot read the instances of 'PE[0..x]'; write NAME[0..15] for 16 "
            "instances");
  EXPECT_EQ(ErrorOf("architecture:\n  subtree:\n  - name: PE[0..3]\n    local:\n"
                    "    - {name: RF, class: regfile}\n"
                    "    - {name: mac, class: intmac, attributes: {meshX: 2}}\n"),
            "arch.yaml:5:7: RF: meshX 4 does not divide meshX 2 of mac");
  EXPECT_EQ(ErrorOf("architecture:\n  nodes:\n  - {name: a}\n"),
            "arch.yaml:3:5: a node without a tag; known: !Component, !Container, !Hierarchical, "
            "!Parallel, !Pipelined, !Nothing");
}

// The files beside Timeloop's worked examples hold problem, architecture and mapping together.
TEST(TimeloopArchitecture, ReadsTheWorkedExamples) {
  for (const char* name : {"ex1-gemm", "ex7-links", "ex12-bypass-hops", "ex14-peer-replication"}) {
    SCOPED_TRACE(name);
    const Result<Accelerator> accelerator = ReadAccelerator(
        std::string(TESSERA_SOURCE_DIR "/tests/golden/timeloop/examples/") + name + ".yaml");
    ASSERT_TRUE(accelerator) << accelerator.error();
    EXPECT_EQ(accelerator->hierarchy->levels.back().name, "DRAM");
    EXPECT_EQ(accelerator->notes.size(), 2u);  // problem and mapping
  }
}

}  // namespace
}  // namespace tessera
