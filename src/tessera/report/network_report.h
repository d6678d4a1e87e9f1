// Networks and layers as `tessera zoo` and `tessera check` show them, for people and as JSON. The
// JSON keys are a contract with scripts (docs/formats.md).
#ifndef TESSERA_REPORT_NETWORK_REPORT_H_
#define TESSERA_REPORT_NETWORK_REPORT_H_

#include <string>

#include "tessera/network.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// {"name", "type", "count", "macs", the dimensions by name, ...}; macs are of one occurrence.
Json ToJson(const NetworkLayer& entry);

// {"name", "batch", "macs", "parameters", "layers", "ignored", "unknown", ...}.
Json ToJson(const Network& network);

// One row per distinct layer.
Table LayerTable(const Network& network);

// "resnet18: 21 layers (12 distinct), 1,814,073,344 MACs, 11,684,712 parameters, batch 1" and,
// where there are any, lines with the source and the operators that gave no layer.
std::string Summary(const Network& network);

}  // namespace tessera

#endif  // TESSERA_REPORT_NETWORK_REPORT_H_
