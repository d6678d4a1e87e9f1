// The graph and the step of native network files (docs/graphs.md).
#ifndef TESSERA_WORKLOAD_NATIVE_GRAPH_H_
#define TESSERA_WORKLOAD_NATIVE_GRAPH_H_

#include <functional>
#include <string>
#include <string_view>

#include "tessera/base/document.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// The value of a size, which may be an expression over the file's parameters: node, what it is, the
// least that it may be.
using SizeReader = std::function<Result<int64_t>(const Node&, std::string_view, int64_t)>;

// Reads the key `graph` into a network that has its layers.
Result<void> ReadNativeGraph(const Node& node, const SizeReader& size, Network& network);

// Reads the key `step`.
Result<void> ReadNativeStep(const Node& node, Network& network);

// The text of both keys; empty for networks without them.
std::string NativeGraphText(const Network& network);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_NATIVE_GRAPH_H_
