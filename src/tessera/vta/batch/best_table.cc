#include "tessera/vta/batch/best_table.h"

#include <fmt/format.h>

namespace tessera::vta {

const Result<BestConv>& BestTable::Get(const ConvShape& s, const Config& config) {
  const std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", ConfigId(config),
                                      s.n, s.ci, s.co, s.h, s.w, s.kh, s.kw, s.stride_h, s.stride_w,
                                      s.pad_top, s.pad_left, s.pad_bottom, s.pad_right);
  Entry* entry = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Entry>& found = entries_[key];
    if (found == nullptr) found = std::make_unique<Entry>();
    entry = found.get();
  }
  std::call_once(entry->once, [&] {
    entry->best.emplace(FindBest(s, config, /*epilogue=*/{}, {.timing = timing_}));
  });
  return *entry->best;
}

}  // namespace tessera::vta
