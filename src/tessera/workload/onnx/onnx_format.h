// Reads ONNX graphs as networks; docs/onnx.md says what is understood.
#ifndef TESSERA_WORKLOAD_ONNX_ONNX_FORMAT_H_
#define TESSERA_WORKLOAD_ONNX_ONNX_FORMAT_H_

#include <string>
#include <string_view>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/importer.h"

namespace tessera::onnx {

// Reads a graph and shows every tensor of its main graph to `observer`.
Result<Network> ReadOnnx(std::string_view bytes, const std::string& file, const Bindings& bindings,
                         const TensorObserver& observer = nullptr);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_ONNX_FORMAT_H_
