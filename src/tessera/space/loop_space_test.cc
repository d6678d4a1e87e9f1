// The loop space: legal by construction, decoded and encoded without loss, and counted.
#include "tessera/space/loop_space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tessera/space/conformance.h"

namespace tessera {
namespace {

MemoryLevel Memory(std::string name, std::optional<int64_t> entries, int64_t mesh_x = 1,
                   int64_t mesh_y = 1) {
  MemoryLevel level;
  level.name = std::move(name);
  level.entries = entries;
  level.mesh_x = mesh_x;
  level.mesh_y = mesh_y;
  return level;
}

// 16x16 PEs with a register file each, a global buffer, DRAM.
Hierarchy ThreeLevels() {
  Hierarchy hierarchy;
  hierarchy.arithmetic.mesh_x = hierarchy.arithmetic.mesh_y = 16;
  hierarchy.levels = {Memory("RF", 220, 16, 16), Memory("GLB", 65'536), Memory("DRAM", {})};
  return hierarchy;
}

LoopProblem Gemm(int64_t m, int64_t n, int64_t k) {
  return *MakeLoopProblem("gemm", {{"M", m}, {"N", n}, {"K", k}});
}
LoopProblem Conv() {
  return *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 56}, {"Q", 56}, {"C", 64}, {"K", 64}, {"N", 1}});
}

std::unique_ptr<LoopSpace> MakeSpace(const LoopProblem& problem, const Hierarchy& hierarchy,
                                     const LoopSpaceOptions& options = {}) {
  auto space = LoopSpace::Make(problem, hierarchy, options);
  EXPECT_TRUE(space) << space.error();
  return *std::move(space);
}

TEST(LoopSpace, NamesItsDecisionsByDimensionAndLevel) {
  const auto space = MakeSpace(Gemm(16, 8, 4), ThreeLevels(), {.decide_keep = true});
  std::vector<std::string> names;
  for (const Decision& decision : space->decisions()) names.push_back(decision.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "M_RF",       "N_RF",      "K_RF",       "keep_RF_A", "keep_RF_B",  "keep_RF_Z",
                "order_RF",   "M_GLB_par", "M_GLB_axis", "M_GLB",     "N_GLB_par",  "N_GLB_axis",
                "N_GLB",      "K_GLB_par", "K_GLB_axis", "K_GLB",     "keep_GLB_A", "keep_GLB_B",
                "keep_GLB_Z", "order_GLB", "order_DRAM"}));
}

TEST(LoopSpace, Conforms) {
  Hierarchy small = ThreeLevels();
  small.levels[0].entries = 12;
  small.levels[1].entries = 160;
  small.levels[0].network.hop_pj = 1;
  for (const Hierarchy& hierarchy : {ThreeLevels(), small}) {
    for (const LoopProblem& problem : {Conv(), Gemm(128, 768, 768), Gemm(1, 1000, 1)}) {
      for (const bool keep : {false, true}) {
        const auto space = MakeSpace(problem, hierarchy, {.decide_keep = keep});
        const Result<void> checked = CheckSpace(*space, 1);
        EXPECT_TRUE(checked) << checked.error();
      }
    }
  }
}

TEST(LoopSpace, MappingsSurviveEncoding) {
  const auto space = MakeSpace(Conv(), ThreeLevels(), {.decide_keep = true});
  for (uint64_t step = 0; step < 200; ++step) {
    CounterRng rng(3, 4, step);
    const Point point = space->Sample(rng, 0);
    const Mapping mapping = space->Decode(point);
    ASSERT_TRUE(Validate(std::get<LoopMapping>(mapping), Conv()));
    const Result<Point> back = space->Encode(mapping);
    ASSERT_TRUE(back) << back.error();
    EXPECT_EQ(space->Decode(*back), mapping);
  }
}

TEST(LoopSpace, FactorsMultiplyToTheBounds) {
  const LoopProblem problem = Conv();
  const auto space = MakeSpace(problem, ThreeLevels());
  for (uint64_t step = 0; step < 200; ++step) {
    CounterRng rng(5, 6, step);
    const LoopMapping mapping = std::get<LoopMapping>(space->Decode(space->Sample(rng, 0)));
    for (size_t d = 0; d < problem.dims().size(); ++d) {
      int64_t product = 1;
      for (const LoopLevel& level : mapping.view()) {
        product *= level.temporal[d] * level.spatial[d];
      }
      ASSERT_EQ(product, problem.dimensions[d].bound);
    }
  }
}

// Distinct mappings that some combination of indices gives, memories aside.
double CountByHand(const LoopSpace& space) {
  std::set<std::string> seen;
  Point point(space.size());
  while (true) {
    if (space.Check(point)) {
      LoopMapping mapping = std::get<LoopMapping>(space.Decode(point));
      std::string text;
      for (const LoopLevel& level : mapping.view()) {
        for (const uint8_t d : level.temporal_order) {
          if (level.temporal[d] > 1)
            text += std::to_string(d) + "*" + std::to_string(level.temporal[d]);
        }
        text += "|";
        for (size_t i = 0; i < level.spatial_order.size(); ++i) {
          const uint8_t d = level.spatial_order[i];
          if (level.spatial[d] == 1) continue;
          text += (i < level.split ? "x" : "y") + std::to_string(d) + "*" +
                  std::to_string(level.spatial[d]);
        }
        text += "/";
      }
      seen.insert(text);
    }
    size_t i = 0;
    while (i < space.size() && ++point[i] == space.decisions()[i].size()) point[i++] = 0;
    if (i == space.size()) return static_cast<double>(seen.size());
  }
}

TEST(LoopSpace, CountsDistinctMappings) {
  Hierarchy two;
  two.arithmetic.mesh_x = 2;
  two.arithmetic.mesh_y = 2;
  two.levels = {Memory("Buf", {}, 1, 1), Memory("DRAM", {})};
  for (const LoopProblem& problem : {Gemm(4, 2, 1), Gemm(2, 2, 3), Gemm(6, 1, 1)}) {
    for (const SpatialOrders orders : {SpatialOrders::kWhereTheyMatter, SpatialOrders::kAlways}) {
      const auto space = MakeSpace(problem, two, {.spatial_orders = orders});
      EXPECT_NEAR(std::pow(10, space->Log10Size()), CountByHand(*space), 1e-6);
    }
  }
}

// specs: 1.64e9 and 6.21e9 mappings, counted by dynamic programming for this machine.
TEST(LoopSpace, CountsLargeSpaces) {
  const LoopSpaceOptions all{.spatial_orders = SpatialOrders::kAlways};
  const auto gemm = MakeSpace(Gemm(512, 512, 512), ThreeLevels(), all);
  EXPECT_NEAR(gemm->Log10Size(), std::log10(1.64e9), 0.002);
  const LoopProblem l4 = *MakeLoopProblem(
      "conv", {{"R", 3}, {"S", 3}, {"P", 7}, {"Q", 7}, {"C", 512}, {"K", 512}, {"N", 1}});
  EXPECT_NEAR(MakeSpace(l4, ThreeLevels(), all)->Log10Size(), std::log10(6.21e9), 0.002);
  EXPECT_NEAR(MakeSpace(Conv(), ThreeLevels(), all)->Log10Size(), std::log10(2.06e13), 0.002);
}

std::string MessageOf(const std::string& body, Hierarchy hierarchy = ThreeLevels()) {
  Constraints constraints;
  if (!body.empty()) {
    constraints = *ParseConstraints("format: tessera-constraints-1\n" + body, "c.yaml");
  }
  const auto space = LoopSpace::Make(Gemm(16, 8, 4), hierarchy, {.constraints = constraints});
  return space ? "no error" : ToString(space.error());
}

TEST(LoopSpace, SaysWhyNothingIsPossible) {
  EXPECT_EQ(MessageOf("fixed: {M_RF: 8, M_GLB: 4}"),
            "no mapping is possible: product of the factors of M divides 16; constraints that do "
            "not go together: M_RF = 8 (c.yaml:2:9), M_GLB = 4 (c.yaml:2:18)");
  EXPECT_EQ(MessageOf("fixed: {M_GLB_par: 16, N_GLB_par: 8, M_GLB_axis: X, N_GLB_axis: X}"),
            "no mapping is possible: GLB: fan-out X 128 <= 16; constraints that do not go "
            "together: M_GLB_par = 16 (c.yaml:2:9), N_GLB_par = 8 (c.yaml:2:24), M_GLB_axis = X "
            "(c.yaml:2:38), N_GLB_axis = X (c.yaml:2:53)");
  Hierarchy tiny = ThreeLevels();
  tiny.levels[0].entries = 2;
  EXPECT_EQ(MessageOf("", tiny), "no mapping is possible: RF: capacity 3 <= 2 (A 1, B 1, Z 1)");
  EXPECT_EQ(MessageOf("fixed: {M_RF: 5}"),
            "no mapping is possible: M_RF is one of 1, 2, 4, 8, 16; a constraint that cannot hold: "
            "M_RF = 5 (c.yaml:2:9)");
}

// Axes that constraints leave open follow from what fits.
TEST(LoopSpace, ParallelFactorsFindTheirAxes) {
  EXPECT_EQ(MessageOf("fixed: {M_GLB_par: 16, N_GLB_par: 8}"), "no error");
  EXPECT_EQ(MessageOf("fixed: {M_GLB_par: 16, N_GLB_par: 8, M_GLB_axis: X}"), "no error");
  EXPECT_EQ(MessageOf("fixed: {M_GLB_par: 16, N_GLB_par: 8, M_GLB_axis: Y}"), "no error");
  EXPECT_EQ(MessageOf("fixed: {M_GLB_par: 16, N_GLB_par: 8, K_GLB_par: 2}"), "no error");
  EXPECT_NE(MessageOf("fixed: {M_GLB_par: 16, N_GLB_par: 8, K_GLB_par: 4}"), "no error");
  const auto constraints = ParseConstraints(
      "format: tessera-constraints-1\nfixed: {M_GLB_par: 16, N_GLB_par: 8, K_GLB_par: 2}\n",
      "c.yaml");
  const auto space = MakeSpace(Gemm(16, 8, 4), ThreeLevels(), {.constraints = *constraints});
  const Result<void> checked = CheckSpace(*space, 1);
  EXPECT_TRUE(checked) << checked.error();
}

// golden/refuted F3: a register of one word may hold one of the three tensors.
TEST(LoopSpace, TensorsPassBySmallLevels) {
  Hierarchy tiny = ThreeLevels();
  for (const int64_t entries : {1, 2}) {
    tiny.levels[0].entries = entries;
    const auto space = LoopSpace::Make(Gemm(4, 4, 4), tiny, {.decide_keep = true});
    ASSERT_TRUE(space) << space.error();
    const Result<void> checked = CheckSpace(**space, 1);
    EXPECT_TRUE(checked) << checked.error();
  }
}

// Two positions of stride 2 and a kernel of one column touch two columns of three.
TEST(LoopSpace, HolesOfStridesAreStoredUnderTimeloopsRulesOnly) {
  const LoopProblem strided = *MakeLoopProblem(
      "conv", {{"R", 1}, {"S", 1}, {"P", 2}, {"Q", 1}, {"C", 1}, {"K", 2}, {"N", 1}},
      {{"Wstride", 2}});
  Hierarchy machine = ThreeLevels();
  machine.levels[0].entries = 5;  // one weight, two or three inputs, two outputs
  LoopMapping mapping{.num_levels = 3};
  mapping.levels[0].temporal[2] = 2;
  mapping.levels[2].temporal[5] = 2;
  ASSERT_EQ(strided.dimensions[2].name.view(), "P");
  ASSERT_EQ(strided.dimensions[5].name.view(), "K");
  EXPECT_FALSE(MakeSpace(strided, machine)->Encode(Mapping(mapping)));
  const auto touched = MakeSpace(strided, machine, {.store_holes = false})->Encode(mapping);
  EXPECT_TRUE(touched) << touched.error();
}

// Words of a window, against indices one by one.
TEST(LoopSpace, CountsWhatWindowsTouch) {
  for (const int64_t stride : {1, 2, 3, 5}) {
    for (const int64_t dilation : {1, 2, 3}) {
      const LoopProblem conv = *MakeLoopProblem(
          "conv", {{"R", 7}, {"S", 1}, {"P", 12}, {"Q", 1}, {"C", 1}, {"K", 1}, {"N", 1}},
          {{"Wstride", stride}, {"Wdilation", dilation}});
      const auto space = MakeSpace(conv, ThreeLevels(), {.store_holes = false});
      const auto inputs = static_cast<size_t>(
          std::ranges::find(conv.tensor_view(), TensorRole::kInput, &LoopTensor::role) -
          conv.tensor_view().begin());
      for (const auto& [r, p] :
           {std::pair(1, 12), {2, 1}, {2, 6}, {3, 4}, {7, 1}, {7, 5}, {4, 2}}) {
        std::array<int64_t, LoopSpace::kMaxDims> extent;
        extent.fill(1);
        extent[static_cast<size_t>(*FindDimension(conv, "R"))] = r;
        extent[static_cast<size_t>(*FindDimension(conv, "P"))] = p;
        std::set<int64_t> touched;
        for (int64_t i = 0; i < r; ++i) {
          for (int64_t j = 0; j < p; ++j) touched.insert(i * dilation + j * stride);
        }
        EXPECT_EQ(space->WordsOf(inputs, extent), std::ssize(touched))
            << stride << ' ' << dilation << ' ' << r << ' ' << p;
      }
    }
  }
}

TEST(LoopSpace, HonoursConstraints) {
  const auto constraints = ParseConstraints(
      "format: tessera-constraints-1\nfixed: {M_RF: 4, K_GLB_par: 4}\norder: {order_GLB: [K, M]}\n",
      "c.yaml");
  const auto space = MakeSpace(Gemm(16, 8, 4), ThreeLevels(), {.constraints = *constraints});
  const Result<void> checked = CheckSpace(*space, 1);
  EXPECT_TRUE(checked) << checked.error();
}

}  // namespace
}  // namespace tessera
