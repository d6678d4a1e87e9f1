// Hierarchies as architecture files of Timeloop.
#ifndef TESSERA_ARCH_TIMELOOP_WRITE_H_
#define TESSERA_ARCH_TIMELOOP_WRITE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/result.h"

namespace tessera {

enum class TimeloopVersion {
  k03,  // flat levels, attributes with dashes: what timeloop-model 3.0.3 reads
  k04,  // tagged nodes, attributes with underscores
};
std::optional<TimeloopVersion> FindTimeloopVersion(std::string_view name);  // "0.3", "0.4"

struct TimeloopArchitecture {
  std::string text = {};

  // Energies that the architecture cannot hold, as an ERT: reads, fills and updates that differ,
  // and MACs of a fraction of a pJ, at which version 0.3 stops. Empty if there are none.
  std::string ert = {};

  // What is in neither, a line each, for people.
  std::vector<std::string> lost = {};
};

// The accelerator is valid and has a hierarchy. An error says what the version cannot express.
Result<TimeloopArchitecture> WriteTimeloopArchitecture(const Accelerator& accelerator,
                                                       TimeloopVersion version);

// The same as files: the architecture, and where it needs them NAME.ert.yaml and NAME.art.yaml.
// Errors also: machines without a hierarchy.
Result<AcceleratorExport> ExportTimeloop(const Accelerator& accelerator, TimeloopVersion version);

}  // namespace tessera

#endif  // TESSERA_ARCH_TIMELOOP_WRITE_H_
