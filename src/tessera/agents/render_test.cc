// Drawings, compared as text.
#include "tessera/agents/render.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

const CorrelationMatrix kMatrix{.names = {"k", "order"},
                                .values = {1, -0.5, 0.254, -0.5, 1, 0, 0.254, 0, 1},
                                .constant = {},
                                .unchanged = {}};

TEST(Render, MatrixAsText) {
  EXPECT_EQ(MatrixText(kMatrix),
            "                       r\n"
            "                 o     e\n"
            "                 r     w\n"
            "                 d     a\n"
            "                 e     r\n"
            "           k     r     d\n"
            "k       1.00 -0.50  0.25\n"
            "order  -0.50  1.00  0.00\n"
            "reward  0.25  0.00  1.00\n");
}

TEST(Render, DendrogramAsText) {
  const Dendrogram tree = Cluster({0, 1, 4, 1, 0, 4, 4, 4, 0}, 3, Linkage::kSingle);
  EXPECT_EQ(DendrogramText(tree, {"a", "b", "far"}),
            "a   ╶──────────────┐\n"
            "                   ├──────────────────────────────────────────┐\n"
            "b   ╶──────────────┘                                          │\n"
            "                                                              │\n"
            "far ╶─────────────────────────────────────────────────────────┘\n"
            "    0                                                      4.00\n");
}

TEST(Render, SvgHoldsEveryNameOnce) {
  const Dendrogram tree = Cluster({0, 1, 1, 0}, 2, Linkage::kWard);
  const std::string svg = DendrogramSvg(tree, {"a<b", "order"});
  EXPECT_NE(svg.find(">a&lt;b<"), std::string::npos);
  EXPECT_NE(svg.find(">order<"), std::string::npos);
  EXPECT_EQ(svg.find("<svg"), 0u);
  EXPECT_NE(MatrixSvg(kMatrix).find(">-0.50<"), std::string::npos);
}

}  // namespace
}  // namespace tessera
