// Columns are always the inner loop. The outer one runs over blocks of channels, neighbouring taps
// or rows; micro-ops do the rest, rows innermost, so that sums are far apart.
#include "tessera/vta/codegen/products.h"

#include <algorithm>
#include <optional>
#include <span>

namespace tessera::vta {
namespace {

bool NearRepeat(std::span<const int64_t> dst) {
  for (size_t i = 1; i < dst.size(); ++i) {
    if (dst[i] == dst[i - 1] || (i > 1 && dst[i] == dst[i - 2])) return true;
  }
  return false;
}

// Whether a sum is used again within two tile operations: inside the list of micro-ops, from one
// inner round to the next, or from one outer round to the next.
bool ReusesSumsTooSoon(const Loops& loops, std::span<const Uop> uops) {
  std::vector<int64_t> inner, outer;
  const auto add = [&uops](std::vector<int64_t>& dst, int64_t offset) {
    for (const Uop& uop : uops) dst.push_back(uop.dst + offset);
  };
  for (int64_t i = 0; i < std::min<int64_t>(loops.inner, 3); ++i) add(inner, i * loops.dst_inner);
  if (loops.outer == 1 || loops.inner > 2) return NearRepeat(inner);
  for (int64_t o = 0; o < std::min<int64_t>(loops.outer, 3); ++o) {
    for (int64_t i = 0; i < loops.inner; ++i) {
      add(outer, o * loops.dst_outer + i * loops.dst_inner);
    }
  }
  return NearRepeat(outer);
}

// What one instruction multiplies.
struct Step {
  TapGroup columns = {};
  std::vector<int64_t> taps = {};  // of rows
  std::vector<Extent> rows = {};   // that each of them meets
  Extent blocks = {};              // of inputs
};

// A dimension of the products of one instruction, and how far its steps are apart.
struct Dimension {
  int64_t extent = 1, dst = 0, src = 0, wgt = 0;
};

class Lister {
 public:
  Lister(const ProductTile& tile, const ProductOptions& options) : tile_(tile), options_(options) {
    // With one tap and rows that follow each other, rows and columns are one loop.
    const int64_t taps = tile.kernel_h * tile.kernel_w;
    one_row_ = taps == 1 && tile.rows.step * tile.columns.size() == tile.columns.step * tile.width;
  }

  std::vector<Product> Run() {
    const std::vector<TapGroup> rows = RowGroups();
    for (const TapGroup& columns :
         GroupTaps(tile_.columns, tile_.width, tile_.kernel_w, options_.short_lists)) {
      if (rows.empty()) {
        Add(StepOf(columns, AllTaps(), {0, tile_.ci}), 0);
      } else {
        for (const TapGroup& group : rows) {
          Add(StepOf(columns, group.taps, {0, tile_.ci}), group.outputs);
        }
      }
    }
    return std::move(products_);
  }

 private:
  // Taps of rows that are a loop together; none where rows are unrolled.
  std::vector<TapGroup> RowGroups() const {
    if (!options_.short_lists || one_row_) return {};
    std::vector<TapGroup> groups =
        GroupTaps(tile_.rows, tile_.height, tile_.kernel_h, /*any_outputs=*/true);
    if (groups.size() > 1 && !options_.row_groups) return {};
    return groups;
  }

  std::vector<int64_t> AllTaps() const {
    std::vector<int64_t> taps;
    for (int64_t tap = 0; tap < tile_.kernel_h; ++tap) taps.push_back(tap);
    return taps;
  }

  Step StepOf(const TapGroup& columns, const std::vector<int64_t>& taps,
              const Extent& blocks) const {
    Step step{.columns = columns, .blocks = blocks};
    for (const int64_t tap : taps) {
      const Extent rows = one_row_ ? Extent{0, 1} : OutputsOfTap(tile_.rows, tile_.height, tap);
      if (rows.size() == 0) continue;
      step.taps.push_back(tap);
      step.rows.push_back(rows);
    }
    return step;
  }

  // `rows`: those of all taps, if they are equally many and may be a loop.
  void Add(const Step& step, int64_t rows) {
    if (step.taps.empty()) return;
    Product product = Unrolled(step);
    if (rows > 0) {
      std::optional<Product> looped = Looped(step, rows);
      const bool fewer = looped && looped->uops.size() < product.uops.size();
      if (fewer || (looped && product.too_soon)) product = *std::move(looped);
    }
    if (product.too_soon && options_.split) return Split(step);
    products_.push_back(std::move(product));
  }

  void Split(const Step& step) {
    for (int64_t ci = step.blocks.begin; ci < step.blocks.end; ++ci) {
      for (size_t k = 0; k < step.taps.size(); ++k) {
        for (size_t dj = 0; dj < step.columns.taps.size(); ++dj) {
          products_.push_back(Unrolled({.columns = {.taps = {step.columns.taps[dj]},
                                                    .first = {step.columns.first[dj]},
                                                    .outputs = step.columns.outputs},
                                        .taps = {step.taps[k]},
                                        .rows = {step.rows[k]},
                                        .blocks = {ci, ci + 1}}));
        }
      }
    }
  }

  int64_t Taps() const { return tile_.kernel_h * tile_.kernel_w; }
  int64_t PixelsOfInput() const { return tile_.rows.size() * tile_.columns.size(); }
  Dimension Columns(const Step& step) const {
    return {one_row_ ? tile_.height * tile_.width : step.columns.outputs, 1, tile_.columns.step, 0};
  }

  // The outer loop runs over the largest of blocks and neighbouring taps; with short lists over one
  // that leaves sums apart, if there is any.
  Product Unrolled(const Step& step) const {
    const Dimension taps = {std::ssize(step.columns.taps), 0, 1, 1};
    const Dimension ci = {step.blocks.size(), 0, PixelsOfInput(), Taps()};
    const Dimension co = {tile_.co, tile_.height * tile_.width, 0, tile_.ci * Taps()};
    const Dimension one = {};
    const auto over_ci = [&] { return Make(step, ci, taps.extent, one, co); };
    const auto over_co = [&] { return Make(step, co, taps.extent, ci, one); };
    if (taps.extent > std::max(ci.extent, co.extent) && step.columns.Alike()) {
      Product product = Make(step, taps, 1, ci, co);
      if (!product.too_soon || !options_.short_lists) return product;
    }
    Product product = co.extent > ci.extent ? over_co() : over_ci();
    if (!product.too_soon || !options_.short_lists) return product;
    Product other = co.extent > ci.extent ? over_ci() : over_co();
    return other.too_soon ? product : other;
  }

  // The outer loop runs over rows, as few of them unrolled as go; none if there is no such way.
  std::optional<Product> Looped(Step step, int64_t rows) const {
    const Dimension ci = {step.blocks.size(), 0, PixelsOfInput(), Taps()};
    const Dimension co = {tile_.co, tile_.height * tile_.width, 0, tile_.ci * Taps()};
    for (int64_t together = 1; together < rows; ++together) {
      if (rows % together != 0) continue;
      for (Extent& met : step.rows) met.end = met.begin + together;
      const Dimension outer = {rows / together, together * tile_.width,
                               together * tile_.rows.step * tile_.columns.size(), 0};
      Product product = Make(step, outer, std::ssize(step.columns.taps), ci, co);
      if (!product.too_soon) return product;
    }
    return std::nullopt;
  }

  Product Make(const Step& step, const Dimension& outer, int64_t taps, const Dimension& ci,
               const Dimension& co) const {
    const Dimension inner = Columns(step);
    Product product{.loops = {.outer = outer.extent,
                              .inner = inner.extent,
                              .dst_outer = outer.dst,
                              .dst_inner = inner.dst,
                              .src_outer = outer.src,
                              .src_inner = inner.src,
                              .wgt_outer = outer.wgt,
                              .wgt_inner = inner.wgt}};
    for (int64_t dj = 0; dj < taps; ++dj) {
      for (size_t k = 0; k < step.taps.size(); ++k) {
        for (int64_t block = 0; block < ci.extent; ++block) {
          for (int64_t channel = 0; channel < co.extent; ++channel) {
            AddRows(step, static_cast<size_t>(dj), k, block * ci.src,
                    step.blocks.begin * Taps() + block * ci.wgt + channel * co.wgt,
                    channel * co.dst, product.uops);
          }
        }
      }
    }
    product.too_soon = ReusesSumsTooSoon(product.loops, product.uops);
    return product;
  }

  // One micro-op for each row of a pair of taps; `src`, `wgt`, `dst`: where their blocks begin.
  void AddRows(const Step& step, size_t dj, size_t k, int64_t src, int64_t wgt, int64_t dst,
               std::vector<Uop>& uops) const {
    const int64_t tap = step.columns.taps[dj], first = step.columns.first[dj], di = step.taps[k];
    const int64_t column = tile_.columns.first_tap + first * tile_.columns.step + tap;
    for (int64_t i = step.rows[k].begin; i < step.rows[k].end; ++i) {
      const int64_t row = tile_.rows.first_tap + i * tile_.rows.step + di;
      uops.push_back({.dst = static_cast<uint32_t>(tile_.dst + dst + i * tile_.width + first),
                      .src = static_cast<uint32_t>(tile_.src + step.blocks.begin * PixelsOfInput() +
                                                   src + row * tile_.columns.size() + column),
                      .wgt = static_cast<uint32_t>(tile_.wgt + wgt + di * tile_.kernel_w + tap)});
    }
  }

  const ProductTile& tile_;
  const ProductOptions& options_;
  bool one_row_ = false;
  std::vector<Product> products_;
};

}  // namespace

std::vector<Product> ProductsOf(const ProductTile& tile, const ProductOptions& options) {
  return Lister(tile, options).Run();
}

}  // namespace tessera::vta
