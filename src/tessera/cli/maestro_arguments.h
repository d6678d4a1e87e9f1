// What commands for model `maestro` share: MAESTRO's own flags and its hardware.
#ifndef TESSERA_CLI_MAESTRO_ARGUMENTS_H_
#define TESSERA_CLI_MAESTRO_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cli/command.h"
#include "tessera/report/evaluation.h"
#include "tessera/result.h"

namespace tessera {

// MAESTRO's own flags, and the choices that model `maestro` has beyond them.
struct MaestroArguments {
  std::optional<int64_t> num_pes, num_simd_lanes, noc_bw, noc_hops, noc_hop_latency, offchip_bw;
  std::optional<int64_t> l1_size, l2_size;
  std::array<std::optional<std::string>, 25> without_effect;  // in the order of their flags
  std::optional<std::string> bw_sweep, top_bw_only;
  MaestroChoices choices;
  bool csv = false;
};

std::vector<Flag> MaestroFlags(MaestroArguments& arguments);
// The machine: of `file`, a preset's name or a path, or of MAESTRO's flags and their defaults if
// that is empty. Remarks say which flags have no effect.
Result<PeArray> MaestroHardware(const std::string& file, const MaestroArguments& arguments,
                                Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_MAESTRO_ARGUMENTS_H_
