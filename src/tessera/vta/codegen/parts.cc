#include "tessera/vta/codegen/parts.h"

#include <algorithm>
#include <cmath>

namespace tessera::vta {
namespace {

// Tiles after which the last stores start while the ALU still works on the rest.
constexpr int64_t kLastPartTiles = 96;

// Sizes of parts that are `sums` together, the last one first: each three quarters of the one
// before, because a sum takes four cycles in the ALU and three to be stored, and as many as keep
// short what remains after the products: starts of instructions and the last store.
std::vector<int64_t> ShrinkingSizes(int64_t sums) {
  constexpr double kRatio = 4.0 / 3.0, kStarts = 28, kStore = 3;
  double best = 0;
  std::vector<int64_t> sizes;
  for (int count = 1; count <= 16; ++count) {
    std::vector<int64_t> some;
    double size = static_cast<double>(sums) * (kRatio - 1) / (std::pow(kRatio, count) - 1);
    const double cycles = kStarts * count + kStore * size;
    for (int k = 0; k < count; ++k, size *= kRatio) {
      some.push_back(std::max<int64_t>(1, std::llround(size)));
    }
    if (!sizes.empty() && cycles >= best) continue;
    best = cycles;
    sizes = std::move(some);
  }
  return sizes;
}

}  // namespace

std::vector<Part> EqualParts(const OutputTile& tile, bool last) {
  const int64_t height = tile.rows.size();
  int64_t rows = height, blocks = tile.channels.size();
  if (last) {
    rows = std::clamp<int64_t>(kLastPartTiles / tile.columns.size(), 1, rows);
    blocks = std::clamp<int64_t>(kLastPartTiles / tile.pixels(), 1, blocks);
  }
  std::vector<Part> parts;
  for (const Extent& channels : Cut(tile.channels.size(), blocks)) {
    for (const Extent& some : Cut(height, blocks > 1 ? height : rows)) {
      parts.push_back({channels, some});
    }
  }
  return parts;
}

std::vector<Part> ShrinkingParts(const OutputTile& tile) {
  const int64_t pixels = tile.pixels(), width = tile.columns.size(), height = tile.rows.size(),
                blocks = tile.channels.size();
  std::vector<int64_t> sizes = ShrinkingSizes(tile.sums());
  std::vector<Part> parts;
  int64_t row = 0;
  for (int64_t block = 0; block < blocks;) {
    const int64_t size = sizes.back();
    if (sizes.size() > 1) sizes.pop_back();
    if (row == 0 && size >= pixels) {
      const int64_t whole = std::min(size / pixels, blocks - block);
      parts.push_back({{block, block + whole}, {0, height}});
      block += whole;
      continue;
    }
    const int64_t rows = std::clamp<int64_t>((size + width / 2) / width, 1, height - row);
    parts.push_back({{block, block + 1}, {row, row + rows}});
    row = (row + rows) % height;
    if (row == 0) ++block;
  }
  return parts;
}

}  // namespace tessera::vta
