// A network's graph as `tessera check --graph` shows it: JSON, a table, DOT and SVG.
#ifndef TESSERA_REPORT_GRAPH_REPORT_H_
#define TESSERA_REPORT_GRAPH_REPORT_H_

#include <string>

#include "tessera/network.h"
#include "tessera/report/json.h"
#include "tessera/report/table.h"

namespace tessera {

// {"nodes": [{"name", "type", "inputs", "outputs", "macs", ...}], "tensors": [{"name", "shape",
// "words", "bits", "kind"}], "peak_live_words"}: contract (docs/formats.md). Inputs and outputs are
// names of tensors.
Json GraphJson(const Network& network);

// One row per node.
Table NodeTable(const Network& network);

// "70 nodes (21 with MACs, 10 vector nodes, 39 views), 112 tensors; at most 802,816 words ...".
std::string GraphSummary(const Network& network);

// For Graphviz: nodes in execution order, an edge per tensor and reader.
std::string GraphDot(const Network& network);

// A drawing from top to bottom; branches stand beside each other.
std::string GraphSvg(const Network& network);

}  // namespace tessera

#endif  // TESSERA_REPORT_GRAPH_REPORT_H_
