#include "tessera/vta/sim/timing.h"

#include <string_view>

#include <fmt/format.h>

namespace tessera::vta {

Result<void> Validate(const TimingParameters& p) {
  struct Range {
    std::string_view name;
    int64_t value, least, most;
  };
  constexpr int64_t kMaxCycles = 1'000'000;
  for (const Range& range : {Range{"read_delay_cycles", p.read_delay_cycles, 0, kMaxCycles},
                             {"beat_gap_cycles", p.beat_gap_cycles, 1, kMaxCycles},
                             {"write_ack_delay_cycles", p.write_ack_delay_cycles, 0, kMaxCycles},
                             {"bus_bytes", p.bus_bytes, 1, 4096},
                             {"max_burst_beats", p.max_burst_beats, 1, 65536},
                             {"max_outstanding_bursts", p.max_outstanding_bursts, 1, 65536},
                             {"gemm_startup_cycles", p.gemm_startup_cycles, 0, kMaxCycles},
                             {"alu_startup_cycles", p.alu_startup_cycles, 0, kMaxCycles},
                             {"alu_immediate_cycles", p.alu_immediate_cycles, 1, kMaxCycles},
                             {"alu_register_cycles", p.alu_register_cycles, 1, kMaxCycles},
                             {"store_tile_cycles", p.store_tile_cycles, 0, kMaxCycles},
                             {"fetch_batch", p.fetch_batch, 1, 1 << 20},
                             {"queue_depth", p.queue_depth, 1, 1 << 20},
                             {"max_tokens", p.max_tokens, 1, 1 << 20}}) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} = {} is outside {}..{}", range.name, range.value,
                                        range.least, range.most)};
  }
  for (const auto& [name, value] : {std::pair<std::string_view, int64_t>{"bus_bytes", p.bus_bytes},
                                    {"max_burst_beats", p.max_burst_beats}}) {
    if ((value & (value - 1)) == 0) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} = {} is not a power of two", name, value)};
  }
  return {};
}

}  // namespace tessera::vta
