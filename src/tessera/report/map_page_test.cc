// Drawings and pages: marks where people look for them, names that cannot break out, nothing that
// changes from run to run.
#include "tessera/report/map_page.h"

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/mapper/map_network.h"
#include "tessera/report/curves.h"

namespace tessera {
namespace {

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Curves, ScalesHaveMarksWhateverTheRange) {
  for (const auto& [low, high] : {std::pair(1.0, 1.02), {1.0, 3.0}, {2.0, 40.0}, {1e9, 5e15}}) {
    const std::string svg = ToSvg({.curves = {{.name = "a", .points = {{10, high}, {5000, low}}}}});
    EXPECT_GE(Count(svg, "text-anchor=\"end\""), 2u) << low << " to " << high;
    EXPECT_LE(Count(svg, "text-anchor=\"end\""), 12u) << low << " to " << high;
    EXPECT_EQ(svg.find("nan"), std::string::npos);
  }
}

TEST(Curves, EqualNamesShareALegendEntry) {
  const std::string svg = ToSvg({.curves = {{.name = "a<b", .points = {{1, 2}}},
                                            {.name = "a<b", .points = {{1, 3}}},
                                            {.name = "c", .points = {{1, 4}}}}});
  EXPECT_EQ(Count(svg, ">a&lt;b<"), 1u);
  EXPECT_EQ(Count(svg, ">c<"), 1u);
}

TEST(MapPage, ShowsWhatWasFoundAndWhatWasNot) {
  Network network{.name = "net & co"};
  network.layers = {{.name = "first"}, {.name = "<second>"}};
  const Result<MapJob> job =
      MakeMapJob({.model = *ChooseCostModel("maestro")}, network, *LoadAccelerator("maestro-256"));
  ASSERT_TRUE(job) << job.error();
  NetworkMapping mapping;
  mapping.layers = {{.name = "first", .count = 2, .bound = 50.0, .status = MapStatus::kBounded},
                    {.name = "<second>"}};
  mapping.layers[0].cost = Cost{.cycles = 100, .energy_pj = 3e6, .utilization = 0.5};
  mapping.layers[0].point = Point(1);
  mapping.layers[0].value = 100;
  mapping.layers[0].search.curve = {{1, 400}, {7, 100}};
  mapping.layers[0].search.samples = 9;
  mapping.layers[1].search.last_problem = "L1: 9 > 8";
  mapping.total = AddUp(mapping.layers, Objective::kLatency);
  const Result<std::string> page = MapPage(*job, mapping);
  ASSERT_TRUE(page) << page.error();
  for (const char* part : {"<h1>net &amp; co on maestro-256</h1>", "<b>200</b>", "100.0 %",
                           "&lt;second&gt;", "L1: 9 &gt; 8", "NOTHING", "<svg"}) {
    EXPECT_NE(page->find(part), std::string::npos) << part;
  }
  EXPECT_EQ(*page, *MapPage(*job, mapping));
}

TEST(MapPage, LayersLieBelowTheRoof) {
  const Result<Network> network = LoadNetwork("alexnet");
  ASSERT_TRUE(network) << network.error();
  const Result<MapJob> job =
      MakeMapJob({.method = *ParseMapMethod("random"), .budget = {.samples = 20}},
                 OnlyLayer(*network, network->layers[2]), *LoadAccelerator("simple3"));
  ASSERT_TRUE(job) << job.error();
  const Result<NetworkMapping> mapping = MapNetwork(*job);
  ASSERT_TRUE(mapping) << mapping.error();
  const Result<std::string> page = MapPage(*job, *mapping);
  ASSERT_TRUE(page) << page.error();
  EXPECT_NE(page->find("<h2>Roofline</h2>"), std::string::npos);
  EXPECT_EQ(Count(*page, "<svg"), 2u);
  EXPECT_EQ(page->find("nan"), std::string::npos);
}

}  // namespace
}  // namespace tessera
