// Whatever the options, the instructions of a tile make every product once, and no sum is used
// again within two micro-ops where they say so.
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "tessera/part.h"
#include "tessera/vta/codegen/products.h"

namespace tessera::vta {
namespace {

using Places = std::tuple<int64_t, int64_t, int64_t>;  // of sum, input and weights

ProductTile RandomTile(CounterRng& rng) {
  const auto draw = [&rng] {
    Axis axis = {.kernel = 1 + rng.UniformInt(5), .stride = 1 + rng.UniformInt(3)};
    axis.pad = rng.UniformInt(axis.kernel);
    axis.size = axis.kernel + rng.UniformInt(12);
    return axis;
  };
  const auto outputs = [&rng](const Axis& axis) {
    const int64_t all = (axis.size + 2 * axis.pad - axis.kernel) / axis.stride + 1;
    const int64_t begin = rng.UniformInt(all);
    return Extent{begin, begin + 1 + rng.UniformInt(all - begin)};
  };
  const Axis rows = draw(), columns = draw();
  const Extent height = outputs(rows), width = outputs(columns);
  return {.rows = WindowOf(rows, height, rng.UniformInt(3) != 0, /*may_skip=*/true),
          .columns = WindowOf(columns, width, rng.UniformInt(3) != 0, /*may_skip=*/false),
          .height = height.size(),
          .width = width.size(),
          .kernel_h = rows.kernel,
          .kernel_w = columns.kernel,
          .ci = 1 + rng.UniformInt(4),
          .co = 1 + rng.UniformInt(4),
          .dst = rng.UniformInt(50),
          .src = rng.UniformInt(50),
          .wgt = rng.UniformInt(50)};
}

// Every product of an output with a tap that meets the buffer.
std::map<Places, int> Wanted(const ProductTile& t) {
  std::map<Places, int> wanted;
  const int64_t taps = t.kernel_h * t.kernel_w, pixels = t.rows.size() * t.columns.size();
  for (int64_t di = 0; di < t.kernel_h; ++di) {
    const Extent rows = OutputsOfTap(t.rows, t.height, di);
    for (int64_t dj = 0; dj < t.kernel_w; ++dj) {
      const Extent columns = OutputsOfTap(t.columns, t.width, dj);
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) {
          const int64_t row = t.rows.first_tap + i * t.rows.step + di;
          const int64_t place =
              row * t.columns.size() + t.columns.first_tap + j * t.columns.step + dj;
          for (int64_t block = 0; block < t.ci * t.co; ++block) {
            const int64_t ci = block % t.ci, co = block / t.ci;
            ++wanted[{t.dst + co * t.height * t.width + i * t.width + j,
                      t.src + ci * pixels + place,
                      t.wgt + (co * t.ci + ci) * taps + di * t.kernel_w + dj}];
          }
        }
      }
    }
  }
  return wanted;
}

// The products that an instruction makes, in their order.
std::vector<Places> Made(const Product& product) {
  std::vector<Places> made;
  const Loops& l = product.loops;
  for (int64_t o = 0; o < l.outer; ++o) {
    for (int64_t i = 0; i < l.inner; ++i) {
      for (const Uop& uop : product.uops) {
        made.emplace_back(uop.dst + o * l.dst_outer + i * l.dst_inner,
                          uop.src + o * l.src_outer + i * l.src_inner,
                          uop.wgt + o * l.wgt_outer + i * l.wgt_inner);
      }
    }
  }
  return made;
}

bool SumsApart(const std::vector<Places>& made) {
  for (size_t k = 1; k < made.size(); ++k) {
    if (std::get<0>(made[k]) == std::get<0>(made[k - 1])) return false;
    if (k > 1 && std::get<0>(made[k]) == std::get<0>(made[k - 2])) return false;
  }
  return true;
}

TEST(Products, EveryOneIsMadeOnce) {
  for (uint64_t trial = 0; trial < 400; ++trial) {
    CounterRng rng(41, StreamId("products"), trial);
    const ProductTile tile = RandomTile(rng);
    ProductOptions options = {.row_groups = rng.UniformInt(2) == 0,
                              .split = rng.UniformInt(3) == 0};
    for (const bool short_lists : {false, true}) {
      options.short_lists = short_lists;
      std::map<Places, int> made;
      for (const Product& product : ProductsOf(tile, options)) {
        const std::vector<Places> places = Made(product);
        for (const Places& at : places) ++made[at];
        EXPECT_EQ(product.too_soon, !SumsApart(places)) << trial;
      }
      ASSERT_EQ(made, Wanted(tile)) << trial << " short " << short_lists;
    }
  }
}

// Rows in the middle of an image are a loop, and the taps at both edges of a row go together.
TEST(Products, ShortListsAreShort) {
  const Axis rows = {.size = 28, .kernel = 3, .pad = 1};
  const Extent height = {7, 14}, width = {0, 28};
  const ProductTile tile = {.rows = WindowOf(rows, height, true, true),
                            .columns = WindowOf(rows, width, true, false),
                            .height = 7,
                            .width = 28,
                            .kernel_h = 3,
                            .kernel_w = 3,
                            .co = 4};
  const auto count = [&tile](bool short_lists) {
    int64_t uops = 0;
    const std::vector<Product> products = ProductsOf(tile, {.short_lists = short_lists});
    for (const Product& product : products) uops += std::ssize(product.uops);
    return std::pair(std::ssize(products), uops);
  };
  EXPECT_EQ(count(false), std::pair(int64_t{3}, int64_t{63}));
  EXPECT_EQ(count(true), std::pair(int64_t{2}, int64_t{36}));
}

}  // namespace
}  // namespace tessera::vta
