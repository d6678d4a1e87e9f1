// Walks an ONNX graph in evaluation order, infers every tensor's shape and collects the layers.
#ifndef TESSERA_WORKLOAD_ONNX_IMPORTER_H_
#define TESSERA_WORKLOAD_ONNX_IMPORTER_H_

#include <functional>
#include <string>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/value.h"

namespace tessera::onnx {

namespace schema {
class Model;
}

// Sees every tensor of the main graph once its shape is inferred.
using TensorObserver = std::function<void(const Value&)>;

// The network of a parsed model, without its name. The error's `where` is empty.
Result<Network> ImportModel(const schema::Model& model, const Bindings& bindings,
                            const TensorObserver& observer);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_IMPORTER_H_
