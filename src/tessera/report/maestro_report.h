// Evaluated MAESTRO mapping files as `tessera evaluate` shows them.
#ifndef TESSERA_REPORT_MAESTRO_REPORT_H_
#define TESSERA_REPORT_MAESTRO_REPORT_H_

#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

struct MaestroReport {
  const std::string& network;
  MaestroVersion version;
  const PeArray& array;
  MaestroArea area;
  const std::vector<maestro::MappedLayer>& layers;
  const std::vector<maestro::LayerOutcome>& outcomes;  // of the same layers
};

// {"model", "network", "version", "area_model", "hardware", "layers", "total"}; the numbers of a
// layer carry their units in their names, and `maestro_csv` holds MAESTRO's own columns.
Json ToJson(const MaestroReport& report);

// One row per layer that has numbers.
Table LayerTable(const MaestroReport& report);

// The machine, the totals, and what the flags mean if there are any.
std::string Summary(const MaestroReport& report);

}  // namespace tessera

#endif  // TESSERA_REPORT_MAESTRO_REPORT_H_
