// What commands for model `maestro` share: MAESTRO's own flags, its hardware and its mapping files.
#ifndef TESSERA_CLI_MAESTRO_ARGUMENTS_H_
#define TESSERA_CLI_MAESTRO_ARGUMENTS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cli/command.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/workload/maestro_file.h"

namespace tessera {

// MAESTRO's own flags, and the choices that model `maestro` has beyond them.
struct MaestroArguments {
  std::optional<int64_t> num_pes, num_simd_lanes, noc_bw, noc_hops, noc_hop_latency, offchip_bw;
  std::optional<int64_t> l1_size, l2_size;
  std::array<std::optional<std::string>, 25> without_effect;  // in the order of their flags
  std::optional<std::string> bw_sweep, top_bw_only;
  std::string version{NameOf(MaestroVersion::kHead, kMaestroVersionNames)};
  std::string legality{NameOf(MaestroLegality::kCompat, kMaestroLegalityNames)};
  std::string area{NameOf(MaestroArea::kMaestro, kMaestroAreaNames)};
  bool csv = false;
};

std::vector<Flag> MaestroFlags(MaestroArguments& arguments);
MaestroVersion VersionOf(const MaestroArguments& arguments);
MaestroLegality LegalityOf(const MaestroArguments& arguments);
MaestroArea AreaOf(const MaestroArguments& arguments);

// The machine: of `file`, a preset's name or a path, or of MAESTRO's flags and their defaults if
// that is empty. Remarks say which flags have no effect.
Result<PeArray> MaestroHardware(const std::string& file, const MaestroArguments& arguments,
                                Context& context);

// A MAESTRO mapping file, ready to evaluate.
struct MaestroMappingFile {
  // Where a layer and its directives stand.
  struct Places {
    Where layer = {};
    std::vector<MaestroPlace> directives = {};
  };

  std::string network = {};  // the name for the CSV file
  std::vector<maestro::MappedLayer> layers = {};
  std::vector<Places> places = {};  // by layer

  // The failure of a layer as an error about the directive to blame, or about the layer.
  Error ErrorOf(size_t layer, const maestro::Failure& failure) const;
};

// Reads one; only the layer with this name or 1-based index, if one is given.
Result<MaestroMappingFile> LoadMaestroMapping(const std::string& path,
                                              const std::optional<std::string>& layer);

}  // namespace tessera

#endif  // TESSERA_CLI_MAESTRO_ARGUMENTS_H_
