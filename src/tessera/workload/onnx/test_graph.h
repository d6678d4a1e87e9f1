// ONNX files for tests, written as text that reads like the graph:
//
//   opset 13
//   input x [batch, 3, 8, 8]        also: input ids int64 [1, 16]; ? is a dimension without name
//   weight w [4, 3, 3, 3]           a float initialiser
//   info y [1, 4, 8, 8]             the file's own annotation of a shape
//   output y                        without any: the results of the last node
//   conv1: y = Conv<pads=[1,1,1,1], auto_pad="NOTSET">(x, w)
//   z = com.microsoft.Gelu(y)
//
// An operand may stand in place: [2,3] is an input of that shape, {0,-1} an int64 vector, {0.5,2.0}
// a float vector, 3 and 0.5 are scalars, true and false booleans, _ is an absent input.
#ifndef TESSERA_WORKLOAD_ONNX_TEST_GRAPH_H_
#define TESSERA_WORKLOAD_ONNX_TEST_GRAPH_H_

#include <map>
#include <string>
#include <string_view>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/schema.pb.h"

namespace tessera::onnx {

// The model that a text describes. Mistakes in the text stop the test program.
schema::Model MakeModel(std::string_view text);

// The bytes of its file.
std::string MakeFile(std::string_view text);

Result<Network> Import(std::string_view text, const Bindings& bindings = {});

// Imports a graph whose message is to be seen: the error as text, or "imported".
std::string ImportError(std::string_view text, const Bindings& bindings = {});

// The shapes of all tensors of the main graph, as text: "[1, 4, 8, 8]", or "unknown".
std::map<std::string, std::string> Shapes(std::string_view text, const Bindings& bindings = {});

// The shape of the first result of one node, or the error: ShapeOf("Transpose([2,3])") is "[3, 2]".
std::string ShapeOf(std::string_view node, int64_t opset = 20);

// The elements of a graph's tensor 'y': "{2, 12}"; "?" for an unknown element, "" if none is known.
std::string ValuesOfY(std::string_view text, const Bindings& bindings = {});

// The only layer of a graph as ToString gives it, or the error.
std::string LayerOf(std::string_view text, const Bindings& bindings = {});

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_TEST_GRAPH_H_
