#include "tessera/vta/check/access.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::vta {
namespace {

// A set of tile indices below a buffer's depth.
class TileSet {
 public:
  explicit TileSet(int64_t depth) : words_(static_cast<size_t>((depth + 63) / 64)) {}

  void Add(int64_t tile) { words_[static_cast<size_t>(tile / 64)] |= uint64_t{1} << (tile % 64); }

  // Adds all tiles moved up by step, 2 * step, ... (count - 1) * step; none may pass the end. Sums
  // of powers of two times step, so the work grows with the logarithm of count.
  void Spread(int64_t step, int64_t count) {
    if (step == 0) return;
    int64_t covered = 1;
    while (covered < count) {
      const int64_t more = std::min(covered, count - covered);
      OrShifted(more * step);
      covered += more;
    }
  }

  Ranges ToRanges() const {
    Ranges ranges;
    for (int64_t word = 0; word < std::ssize(words_); ++word) {
      uint64_t bits = words_[static_cast<size_t>(word)];
      while (bits != 0) {
        const int first = __builtin_ctzll(bits);
        const uint64_t inverted = ~(bits >> first);
        const int length = inverted == 0 ? 64 : __builtin_ctzll(inverted);
        const int64_t begin = word * 64 + first;
        if (!ranges.empty() && ranges.back().end == begin) {
          ranges.back().end += length;
        } else {
          ranges.push_back({begin, begin + length});
        }
        if (first + length >= 64) break;
        bits &= ~uint64_t{0} << (first + length);
      }
    }
    return ranges;
  }

 private:
  void OrShifted(int64_t distance) {
    const int64_t words = distance / 64, bits = distance % 64;
    for (int64_t i = std::ssize(words_) - 1; i >= words; --i) {
      uint64_t moved = words_[static_cast<size_t>(i - words)] << bits;
      if (bits != 0 && i > words)
        moved |= words_[static_cast<size_t>(i - words - 1)] >> (64 - bits);
      words_[static_cast<size_t>(i)] |= moved;
    }
  }

  std::vector<uint64_t> words_;
};

struct Operand {
  std::string_view name;
  Memory memory;
  uint32_t Uop::*index;
  int64_t outer, inner;
};

// The tiles of one operand, or nothing if an index passes the end of the buffer.
std::optional<Ranges> Tiles(const Instruction& kernel, std::span<const Uop> uops,
                            const Operand& operand, const Config& config, std::string* violation) {
  const int64_t depth = config.Depth(operand.memory);
  const int64_t furthest = (int64_t{kernel.iter_out} - 1) * operand.outer +
                           (int64_t{kernel.iter_in} - 1) * operand.inner;
  TileSet set(depth);
  for (uint32_t u = kernel.uop_bgn; u < kernel.uop_end; ++u) {
    const int64_t index = uops[u].*operand.index;
    if (index + furthest >= depth) {
      *violation = fmt::format("micro-op {} and the loops give {} index {} >= depth {}", u,
                               operand.name, index + furthest, depth);
      return std::nullopt;
    }
    set.Add(index);
  }
  set.Spread(operand.inner, kernel.iter_in);
  set.Spread(operand.outer, kernel.iter_out);
  return set.ToRanges();
}

void Merge(Ranges& into, const Ranges& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  Ranges merged;
  for (const Range& range : into) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  into = std::move(merged);
}

}  // namespace

bool Overlap(const Ranges& a, const Ranges& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].end <= b[j].begin) {
      ++i;
    } else if (b[j].end <= a[i].begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

Access TransferAccess(const Instruction& transfer, const Config& config) {
  Access access;
  if (transfer.IsNop()) return access;
  const int64_t tile_bytes = config.TileBytes(transfer.memory());
  Ranges bytes;
  for (int64_t y = 0; y < transfer.y_size; ++y) {
    const int64_t begin = (transfer.dram_base + y * transfer.x_stride) * tile_bytes;
    const int64_t end = begin + transfer.x_size * tile_bytes;
    if (!bytes.empty() && bytes.back().end == begin) {
      bytes.back().end = end;
    } else {
      bytes.push_back({begin, end});
    }
  }
  // Rows may overlap where the stride is short.
  if (transfer.x_stride < transfer.x_size) {
    Ranges merged;
    Merge(merged, bytes);
    bytes = std::move(merged);
  }
  const Ranges tiles = {{transfer.sram_base, transfer.sram_base + transfer.SramTiles()}};
  if (transfer.Is(Opcode::kStore)) {
    access.reads[static_cast<size_t>(Space::kAcc)] = tiles;
    access.writes[static_cast<size_t>(Space::kDram)] = std::move(bytes);
    return access;
  }
  access.reads[static_cast<size_t>(Space::kDram)] = std::move(bytes);
  switch (transfer.memory()) {
    case Memory::kInp: access.writes[static_cast<size_t>(Space::kInp)] = tiles; break;
    case Memory::kWgt: access.writes[static_cast<size_t>(Space::kWgt)] = tiles; break;
    case Memory::kAcc:
    case Memory::kAcc8Bit: access.writes[static_cast<size_t>(Space::kAcc)] = tiles; break;
    case Memory::kUop:
    case Memory::kOut: break;
  }
  return access;
}

std::optional<Access> KernelAccess(const Instruction& kernel, std::span<const Uop> uops,
                                   const Config& config, std::string* violation) {
  Access access;
  if (kernel.Rounds() == 0) return access;
  const bool gemm = kernel.Is(Opcode::kGemm);
  const Operand dst = {"ACC", Memory::kAcc, &Uop::dst, kernel.dst_factor_out, kernel.dst_factor_in};
  const Operand src = {gemm ? "INP" : "ACC", gemm ? Memory::kInp : Memory::kAcc, &Uop::src,
                       kernel.src_factor_out, kernel.src_factor_in};
  const Operand wgt = {"WGT", Memory::kWgt, &Uop::wgt, kernel.wgt_factor_out, kernel.wgt_factor_in};
  std::optional<Ranges> tiles = Tiles(kernel, uops, dst, config, violation);
  if (!tiles) return std::nullopt;
  access.writes[static_cast<size_t>(Space::kAcc)] = *tiles;
  if (gemm && kernel.reset != 0) return access;
  access.reads[static_cast<size_t>(Space::kAcc)] = *std::move(tiles);
  tiles = Tiles(kernel, uops, src, config, violation);
  if (!tiles) return std::nullopt;
  if (!gemm) {
    if (kernel.use_imm == 0) Merge(access.reads[static_cast<size_t>(Space::kAcc)], *tiles);
    return access;
  }
  access.reads[static_cast<size_t>(Space::kInp)] = *std::move(tiles);
  tiles = Tiles(kernel, uops, wgt, config, violation);
  if (!tiles) return std::nullopt;
  access.reads[static_cast<size_t>(Space::kWgt)] = *std::move(tiles);
  return access;
}

}  // namespace tessera::vta
