// Levels of caches, and what a trace misses in them.
#include "tessera/rl/cache_model.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tessera/part.h"

namespace tessera {
namespace {

constexpr int64_t kLine = 64, kPage = 4096, kKiB = 1024;

constexpr CacheShape Cache(int64_t kib, int64_t ways) { return {kib * kKiB / kLine, ways, kLine}; }
constexpr CacheShape Tlb(int64_t entries, int64_t ways) { return {entries, ways, kPage}; }

constexpr std::array<CacheModel, 2> kModels = {
    CacheModel{.name = "zen2",
               .summary = "AMD Zen 2: L1 32 KiB 8-way, L2 512 KiB 8-way, 16 MiB 16-way per four "
                          "cores, 64 data TLB entries, pages of 4 KiB",
               .l1 = Cache(32, 8),
               .l2 = Cache(512, 8),
               .last = Cache(16 * 1024, 16),
               .dtlb = Tlb(64, 64)},
    CacheModel{.name = "skylake-x",
               .summary = "Intel Skylake server: L1 32 KiB 8-way, L2 1 MiB 16-way, 16 MiB 16-way, "
                          "64 data TLB entries 4-way, pages of 4 KiB",
               .l1 = Cache(32, 8),
               .l2 = Cache(1024, 16),
               .last = Cache(16 * 1024, 16),
               .dtlb = Tlb(64, 4)}};

}  // namespace

std::span<const CacheModel> CacheModels() { return kModels; }

Result<const CacheModel*> FindCacheModel(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CacheModel& model : kModels) {
    if (model.name == name) return &model;
    names.push_back(model.name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown cache model '{}'", name),
               .hint = DidYouMean(name, std::span<const std::string_view>(names))};
}

SimulatedCache::SimulatedCache(const CacheShape& shape)
    : line_bytes_(static_cast<uint64_t>(shape.line_bytes)),
      sets_(static_cast<uint64_t>(shape.entries / shape.ways)),
      ways_(static_cast<uint64_t>(shape.ways)),
      lines_(static_cast<size_t>(shape.entries)) {}

bool SimulatedCache::Access(uint64_t line) {
  const auto set = lines_.begin() + static_cast<ptrdiff_t>(line % sets_ * ways_);
  const auto end = set + static_cast<ptrdiff_t>(ways_);
  const auto found = std::find(set, end, line + 1);
  const bool hit = found != end;
  // To the front; without a hit the last one of the set, used longest ago, goes.
  std::rotate(set, hit ? found : end - 1, hit ? found + 1 : end);
  *set = line + 1;
  return hit;
}

CacheSimulator::CacheSimulator(const CacheModel& model)
    : l1_(model.l1), l2_(model.l2), last_(model.last), dtlb_(model.dtlb) {}

void CacheSimulator::Touch(uint64_t region, int64_t offset, int64_t bytes) {
  if (bytes <= 0) return;
  const uint64_t first = (region + 1) * kRegionBytes + static_cast<uint64_t>(offset);
  const uint64_t last = first + static_cast<uint64_t>(bytes) - 1;
  for (uint64_t page = dtlb_.LineOf(first); page <= dtlb_.LineOf(last); ++page) {
    if (!dtlb_.Access(page)) ++counts_.dtlb_misses;
  }
  for (uint64_t line = l1_.LineOf(first); line <= l1_.LineOf(last); ++line) {
    ++counts_.accesses;
    if (trace_ != nullptr) trace_->push_back(line * kLine);
    if (l1_.Access(line)) continue;
    ++counts_.l1_misses;
    if (l2_.Access(line)) continue;
    ++counts_.l2_misses;
    if (!last_.Access(line)) ++counts_.last_misses;
  }
}

}  // namespace tessera
