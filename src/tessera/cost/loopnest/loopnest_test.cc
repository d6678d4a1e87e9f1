// Model `loopnest` from outside: a published reference point, and what it says about mappings that
// do not fit.
#include "tessera/cost/loopnest/loopnest.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

MemoryLevel Level(std::string name, std::optional<int64_t> entries, int64_t mesh_x, int64_t mesh_y,
                  const char* pj) {
  const Decimal energy = *Decimal::Parse(pj);
  return {.name = std::move(name),
          .entries = entries,
          .mesh_x = mesh_x,
          .mesh_y = mesh_y,
          .read_pj = energy,
          .fill_pj = energy,
          .update_pj = energy};
}

// Eyeriss with 256 PEs as it was published with Timeloop: three small files per PE, each for one
// tensor; a buffer that weights pass by.
Hierarchy Eyeriss() {
  Hierarchy machine{
      .arithmetic = {.mesh_x = 16, .mesh_y = 16, .mac_pj = 1},
      .levels = {Level("PsumFile", 16, 16, 16, "0.98"), Level("WeightFile", 192, 16, 16, "0.99"),
                 Level("InputFile", 12, 16, 16, "0.98"), Level("Dummy", 0, 16, 1, "0"),
                 Level("Buffer", 65'536, 1, 1, "29.63"), Level("DRAM", std::nullopt, 1, 1, "200")}};
  machine.levels[4].block_words = 4;
  machine.levels[5].reduces_in_place = false;
  return machine;
}

// 256 to 256 channels, 3 x 3, 56 x 56.
LoopProblem Convolution() {
  return *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 56}, {"Q", 56}, {"C", 256}, {"K", 256}, {"N", 1}});
}

enum Dim : uint8_t { R, S, P, Q, C, K, N };
constexpr uint8_t kWeights = 1, kInputs = 2, kOutputs = 4;

// A level's loops, inner to outer.
void SetLoops(LoopLevel& level, std::initializer_list<std::pair<Dim, int32_t>> temporal,
              std::initializer_list<std::pair<Dim, int32_t>> spatial = {}, bool on_y = false) {
  const auto set = [](auto& factors, auto& order, auto loops) {
    size_t next = 0;
    for (const auto& [dim, factor] : loops) {
      factors[dim] = factor;
      for (size_t k = next; k < order.size(); ++k) {
        if (order[k] == dim)
          std::rotate(order.begin() + next, order.begin() + k, order.begin() + k + 1);
      }
      ++next;
    }
  };
  set(level.temporal, level.temporal_order, temporal);
  set(level.spatial, level.spatial_order, spatial);
  level.split = on_y ? 0 : 12;
}

LoopMapping PublishedMapping() {
  LoopMapping mapping{.num_levels = 6};
  const uint8_t keeps[] = {kOutputs, kWeights,           kInputs,
                           0,        kInputs | kOutputs, kWeights | kInputs | kOutputs};
  for (size_t i = 0; i < 6; ++i) mapping.levels[i].keep = keeps[i];
  SetLoops(mapping.levels[0], {{K, 16}});
  SetLoops(mapping.levels[1], {{C, 4}, {R, 3}});
  SetLoops(mapping.levels[3], {}, {{S, 3}, {C, 2}, {K, 2}}, /*on_y=*/true);
  SetLoops(mapping.levels[4], {{P, 56}, {K, 2}}, {{Q, 8}, {K, 2}});
  SetLoops(mapping.levels[5], {{C, 32}, {K, 2}, {Q, 7}});
  return mapping;
}

Result<Cost> CostUnder(loopnest::Semantics semantics, const LoopMapping& mapping) {
  const auto model = MakeLoopnestModel(Convolution(), Eyeriss(), {.semantics = semantics});
  if (!model) return model.error();
  return Evaluate(**model, mapping);
}

TEST(Loopnest, PublishedReferencePointOfEyeriss) {
  const Result<Cost> cost = CostUnder(loopnest::Semantics::kTimeloop3, PublishedMapping());
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_EQ(cost->cycles, 9'633'792);
  EXPECT_NEAR(cost->energy_pj * 1e-6, 11'198.413972, 5e-7);  // uJ
}

TEST(Loopnest, ExactAtTheReferencePoint) {
  const Result<Cost> cost = CostUnder(loopnest::Semantics::kExact, PublishedMapping());
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_EQ(cost->cycles, 9'633'792);
  EXPECT_EQ(cost->macs, 1'849'688'064);
}

std::string Complaint(const LoopMapping& mapping,
                      loopnest::Semantics semantics = loopnest::Semantics::kExact) {
  const Result<Cost> cost = CostUnder(semantics, mapping);
  return cost ? "accepted" : ToString(cost.error());
}

TEST(Loopnest, AFullMemorySaysWhoseTilesItHolds) {
  LoopMapping mapping = PublishedMapping();
  mapping.levels[2].keep = kWeights | kInputs;
  EXPECT_EQ(Complaint(mapping),
            "InputFile: weights 192 + inputs 12 words > 12; raise InputFile to 204 words or bypass "
            "Weights");
  EXPECT_EQ(Complaint(mapping, loopnest::Semantics::kTimeloop3), Complaint(mapping));
}

TEST(Loopnest, AFanoutSaysWhichLoopsItIsMadeOf) {
  LoopMapping mapping = PublishedMapping();
  mapping.levels[4].spatial[K] = 4;
  mapping.levels[4].temporal[K] = 1;
  EXPECT_EQ(Complaint(mapping),
            "Buffer: fan-out X Q8 * K4 = 32 > 16; let the spatial factors on X multiply to at most "
            "16");
  EXPECT_EQ(Complaint(mapping, loopnest::Semantics::kTimeloop3),
            "MAC: 384 MACs used > 256; use smaller spatial factors");
}

TEST(Loopnest, FactorsMustGiveTheBound) {
  LoopMapping mapping = PublishedMapping();
  mapping.levels[5].temporal[Q] = 6;
  EXPECT_EQ(Complaint(mapping),
            "the factors of Q reach 48, but its bound is 56; a factor of 0 stands for the whole "
            "bound");
  mapping.levels[5].temporal[Q] = 8;
  EXPECT_EQ(Complaint(mapping), "accepted");
  EXPECT_EQ(Complaint(mapping, loopnest::Semantics::kTimeloop3),
            "the factors of Q multiply to 64, but its bound is 56; a factor of 0 stands for the "
            "whole bound");
}

TEST(Loopnest, MappingsOfAnotherMachineAreRefused) {
  LoopMapping mapping = PublishedMapping();
  mapping.num_levels = 3;
  EXPECT_EQ(Complaint(mapping), "the mapping has 3 levels, but the machine has 6");
  mapping = PublishedMapping();
  mapping.levels[1].temporal_order[0] = 200;
  EXPECT_EQ(Complaint(mapping),
            "WeightFile: an order is not a permutation of the dimensions, or a factor is negative");
  mapping = PublishedMapping();
  mapping.levels[5].keep = kInputs | kOutputs;
  EXPECT_EQ(Complaint(mapping),
            "DRAM: the outermost level must hold Weights; keep it there, or use the Timeloop "
            "semantics");
}

TEST(Loopnest, NeedsAHierarchy) {
  const Accelerator array{.name = "array", .pe_array = PeArray{}};
  EXPECT_EQ(LoopnestChoice({})->Make({}, array).error().message,
            "model 'loopnest' needs a hierarchy, but accelerator 'array' has none");
}

}  // namespace
}  // namespace tessera
