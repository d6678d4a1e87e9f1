// The two-level space: its 17 decisions, its mappings in MAESTRO's language, and its size.
#include "tessera/space/maestro_space.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tessera/space/conformance.h"

namespace tessera {
namespace {

Layer Conv(int64_t k, int64_t c, int64_t y, int64_t x, int64_t r, int64_t s) {
  Layer layer;
  layer.k = k, layer.c = c, layer.y = y, layer.x = x, layer.r = r, layer.s = s;
  return layer;
}

std::unique_ptr<MaestroSpace> MakeSpace(const Layer& layer,
                                        const MaestroSpaceOptions& options = {}) {
  auto space = MaestroSpace::Make(layer, {.num_pes = 256}, options);
  EXPECT_TRUE(space) << space.error();
  return *std::move(space);
}

std::vector<std::string> Names(const DecisionSpace& space) {
  std::vector<std::string> names;
  for (const Decision& decision : space.decisions()) names.push_back(decision.name());
  return names;
}

const Layer kLayer = Conv(64, 64, 56, 56, 3, 3);

TEST(MaestroSpace, HasTheSeventeenDecisionsOfThePaper) {
  const auto space = MakeSpace(kLayer);
  EXPECT_EQ(Names(*space),
            (std::vector<std::string>{"order_l2", "parallel_l2", "k_l2", "c_l2", "r_l2", "s_l2",
                                      "y_l2", "x_l2", "order_l1", "parallel_l1", "k_l1", "c_l1",
                                      "r_l1", "s_l1", "y_l1", "x_l1", "cluster"}));
  const auto with_pes = MakeSpace(kLayer, {.decide_pes = true});
  EXPECT_EQ(Names(*with_pes).back(), "num_pe");
  EXPECT_EQ(with_pes->size(), 18u);
}

TEST(MaestroSpace, TilesYAndXByTheTrueOutputSize) {
  const auto space = MakeSpace(kLayer);
  const Decision& y = space->decisions()[space->Find("y_l2")];
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < y.size(); ++i) sizes.push_back(y.value(i));
  EXPECT_EQ(sizes, (std::vector<int64_t>{1, 2, 3, 4, 6, 8, 9, 16, 18, 27, 32, 54}));
  EXPECT_EQ(space->decisions()[space->Find("r_l2")].size(), 1);  // the head version's rule
  const auto all = MakeSpace(kLayer, {.sizes = TileSizes::kAll, .kernel_tiles = true});
  EXPECT_EQ(all->decisions()[all->Find("y_l2")].size(), 54);
  EXPECT_EQ(all->decisions()[all->Find("r_l1")].size(), 3);
  EXPECT_EQ(all->decisions()[all->Find("cluster")].size(), 256);
}

TEST(MaestroSpace, WritesMappingsAsMaestroReadsThem) {
  const auto space = MakeSpace(kLayer);
  Point point(space->size());
  const auto set = [&](const char* name, const char* label) {
    const size_t decision = space->Find(name);
    point[decision] = *space->decisions()[decision].Parse(label);
  };
  set("order_l2", "K C Y X R S");
  set("parallel_l2", "K");
  set("k_l2", "4");
  set("c_l2", "32");
  set("y_l2", "9");
  set("order_l1", "X Y R S C K");
  set("parallel_l1", "C");
  set("y_l1", "3");
  set("cluster", "64");
  const Mapping mapping = space->Decode(point);
  EXPECT_EQ(ToString(std::get<Dataflow>(mapping)),
            "SpatialMap(4,4) K; TemporalMap(32,32) C; TemporalMap(9,9) Y'; TemporalMap(1,1) X'; "
            "TemporalMap(3,3) R; TemporalMap(3,3) S; Cluster(64,P); TemporalMap(1,1) X'; "
            "TemporalMap(3,3) Y'; TemporalMap(3,3) R; TemporalMap(3,3) S; SpatialMap(1,1) C; "
            "TemporalMap(1,1) K;");
  EXPECT_EQ(*space->Encode(mapping), point);
}

TEST(MaestroSpace, ConformsForEveryKindOfLayer) {
  Layer depthwise = Conv(32, 32, 28, 28, 3, 3);
  depthwise.groups = 32;
  Layer grouped = Conv(64, 64, 14, 14, 3, 3);
  grouped.groups = 4;
  Layer strided = Conv(64, 3, 224, 224, 7, 7);
  strided.stride = {2, 2};
  Layer batched = kLayer;
  batched.n = 4;
  const Layer gemm{.type = LayerType::kMatmul, .m = 128, .n = 768, .k = 768};
  const Layer fc{.type = LayerType::kFullyConnected, .k = 1000, .c = 512};
  for (const Layer& layer : {kLayer, depthwise, grouped, strided, batched, gemm, fc}) {
    for (const bool all : {false, true}) {
      const auto space = MakeSpace(
          layer, {.sizes = all ? TileSizes::kAll : TileSizes::kDivisors, .decide_pes = all});
      const Result<void> checked = CheckSpace(*space, 1);
      EXPECT_TRUE(checked) << checked.error();
      for (uint64_t step = 0; step < 50; ++step) {
        CounterRng rng(3, 4, step);
        Point point = space->Sample(rng, 8);
        if (all) point[space->Find("num_pe")] = space->decisions().back().size() - 1;
        const Result<Point> back = space->Encode(space->Decode(point));
        ASSERT_TRUE(back) << back.error();
        EXPECT_EQ(*back, point);
      }
    }
  }
}

TEST(MaestroSpace, StridedDimensionsHaveTilesOfOneOutput) {
  Layer strided = Conv(64, 3, 224, 224, 7, 7);
  strided.stride = {2, 2};
  const auto space = MakeSpace(strided);
  EXPECT_EQ(space->decisions()[space->Find("y_l2")].size(), 1);
  EXPECT_GT(MakeSpace(strided, {.strided_tiles = true})->decisions()[6].size(), 1);
}

TEST(MaestroSpace, CountsItsLegalPoints) {
  const auto space = MakeSpace(Conv(4, 2, 3, 1, 1, 1));
  // Pairs of nested tiles: 3 sizes of K (6), 2 of C (3), 3 of Y (6); orders 720 and parallel
  // dimensions 4 twice, and 9 powers of two as cluster.
  EXPECT_NEAR(space->Log10Size(), std::log10(6.0 * 3 * 6 * 720 * 720 * 4 * 4 * 9), 1e-9);
}

TEST(MaestroSpace, FormulaOfThePaper) {
  // 10 tile sizes, 3 dimensions, 1 parallel, 1 level: 10^3 * 3! * 3.
  EXPECT_NEAR(PaperLog10Size(10, 3, 1, 1), std::log10(1000.0 * 6 * 3), 1e-9);
  EXPECT_NEAR(PaperLog10Size(10, 3, 1, 2), 2 * std::log10(1000.0 * 6 * 3), 1e-9);
}

std::string MessageOf(const std::string& body) {
  const auto constraints = ParseConstraints("format: tessera-constraints-1\n" + body, "c.yaml");
  const auto space = MaestroSpace::Make(kLayer, {.num_pes = 256}, {.constraints = *constraints});
  return space ? "no error" : ToString(space.error());
}

TEST(MaestroSpace, KeepsConstraintsConsistent) {
  const auto constraints = ParseConstraints(
      "format: tessera-constraints-1\nfixed: {k_l1: 8, order_l2: [K, C, Y, X, R, S]}\n", "c.yaml");
  const auto space = MakeSpace(kLayer, {.constraints = *constraints});
  EXPECT_EQ(space->decisions()[space->Find("k_l2")].value(0), 8);
  const Result<void> checked = CheckSpace(*space, 1);
  EXPECT_TRUE(checked) << checked.error();
  EXPECT_EQ(MessageOf("fixed: {k_l1: 16, k_l2: 8}"),
            "no mapping is possible: 16 <= k_l1 <= k_l2 <= 8; constraints that do not go together: "
            "k_l1 = 16 (c.yaml:2:9), k_l2 = 8 (c.yaml:2:19)");
}

TEST(MaestroSpace, SaysWhyAMappingIsOutside) {
  const auto space = MakeSpace(kLayer);
  const auto message = [&](const char* text) {
    const Result<Point> point = space->Encode(*ParseDataflow(text));
    return point ? "no error" : ToString(point.error());
  };
  EXPECT_EQ(message("TemporalMap(5,5) K"),
            "the mapping is not in the space: tile 5 of K with offset 5");
  EXPECT_EQ(message("TemporalMap(4,2) K"),
            "the mapping is not in the space: tile 4 of K with offset 2");
  EXPECT_EQ(message("SpatialMap(1,1) G"), "the mapping is not in the space: it maps G");
  EXPECT_EQ(message("SpatialMap(3,3) R"), "the mapping is not in the space: R is parallel");
  EXPECT_EQ(message("SpatialMap(1,1) K"),
            "the mapping is not in the space: a level does not map every dimension once");
  EXPECT_EQ(message("Cluster(3,P)"), "the mapping is not in the space: cluster 3");
}

TEST(MaestroSpace, RefusesWhatMaestroCannotExpress) {
  Layer dilated = kLayer;
  dilated.dilation = {2, 2};
  const auto space = MaestroSpace::Make(dilated, {.num_pes = 256}, {});
  ASSERT_FALSE(space);
  EXPECT_EQ(space.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tessera
