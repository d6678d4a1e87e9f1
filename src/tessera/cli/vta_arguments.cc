#include "tessera/cli/vta_arguments.h"

#include <fmt/format.h>

#include "tessera/cli/choices.h"

namespace tessera {

Flag VtaFlag(std::string& config) {
  return {.name = "--vta",
          .target = &config,
          .help =
              "the hardware: a preset ('tessera list vta'), an id such as "
              "1x16_i8w8a32_15_15_18_17, or a vta_config.json",
          .value = "CONFIG",
          .choices = [] { return NamesOf(vta::ConfigPresets()); }};
}

Flag ConfigsFlag(std::string& path) {
  return {.name = "--configs",
          .target = &path,
          .help =
              "further configurations that rows may name: a JSON file with 'default' and "
              "'others'",
          .value = "FILE"};
}

std::vector<Flag> TimingFlags(vta::TimingParameters& timing) {
  return {
      {.name = "--read-delay",
       .target = &timing.read_delay_cycles,
       .help = "cycles from a read request to its first beat",
       .value = "N"},
      {.name = "--beat-gap",
       .target = &timing.beat_gap_cycles,
       .help = "cycles per beat on the read bus",
       .value = "N"},
      {.name = "--write-delay",
       .target = &timing.write_ack_delay_cycles,
       .help = "extra cycles before a write is acknowledged",
       .value = "N"},
      {.name = "--bus-bytes", .target = &timing.bus_bytes, .help = "bytes per beat", .value = "N"},
      {.name = "--gemm-startup",
       .target = &timing.gemm_startup_cycles,
       .help = "cycles of a GEMM beyond its tile operations",
       .value = "N"},
      {.name = "--alu-startup",
       .target = &timing.alu_startup_cycles,
       .help = "cycles of an ALU instruction beyond its tile operations",
       .value = "N"}};
}

Result<void> RefuseWith(std::string_view mode,
                        std::initializer_list<std::pair<bool, std::string_view>> flags) {
  for (const auto& [given, flag] : flags) {
    if (!given) continue;
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} and {} do not go together", mode, flag)};
  }
  return {};
}

}  // namespace tessera
