// Layers and networks: values that do not change; replace() makes another one.
#include <map>
#include <optional>
#include <variant>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "support.h"
#include "tessera/network.h"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;
using IntPair = std::pair<int64_t, int64_t>;
using IntFour = std::tuple<int64_t, int64_t, int64_t, int64_t>;

LayerType TypeOf(const std::string& name) {
  if (name == "conv" || name == "dwconv") return LayerType::kConv;
  if (name == "trconv") return LayerType::kTransposedConv;
  if (name == "fc") return LayerType::kFullyConnected;
  if (name == "gemm") return LayerType::kMatmul;
  Raise({.kind = ErrorKind::kUnknownName,
         .message = "unknown type of layer '" + name + "'",
         .hint = DidYouMean(name, std::span<const std::string_view>(kLayerTypeNames))});
}

void MakeLayer(Layer* at, const std::string& type, int64_t n, int64_t k, int64_t c, int64_t y,
               int64_t x, int64_t r, int64_t s, int64_t h, int64_t m, const IntPair& stride,
               const IntPair& dilation, const IntFour& pad, const IntPair& output_pad,
               int64_t groups, bool bias) {
  const Layer layer{.type = TypeOf(type),
                    .bias = bias,
                    .h = h,
                    .m = m,
                    .n = n,
                    .k = k,
                    .c = c,
                    .y = y,
                    .x = x,
                    .r = r,
                    .s = s,
                    .groups = groups,
                    .stride = {stride.first, stride.second},
                    .dilation = {dilation.first, dilation.second},
                    .pad = {std::get<0>(pad), std::get<1>(pad), std::get<2>(pad), std::get<3>(pad)},
                    .output_pad = {output_pad.first, output_pad.second}};
  Value(Validate(layer));
  new (at) Layer(layer);
}

void MakeNetworkOf(Network* at, const std::string& name, const std::vector<NetworkLayer>& layers) {
  new (at) Network(Value(MakeNetwork(name, layers)));
}

// The network with other parts; layers of equal sizes become one entry.
Network Replaced(const Network& network, const std::string& name, const std::string& source,
                 const std::vector<NetworkLayer>& layers) {
  Network other = Value(MakeNetwork(name, layers));
  other.source = source;
  other.variant = network.variant;
  other.batch = network.batch;
  return other;
}

// Numbers, and words where a setting is a choice.
using PythonBindings = std::map<std::string, std::variant<int64_t, std::string>>;

Bindings BindingsOf(const PythonBindings& given) {
  Bindings bindings;
  for (const auto& [name, value] : given) {
    bindings[name] = std::visit([](const auto& known) { return Binding(known); }, value);
  }
  return bindings;
}

std::vector<std::pair<std::string, nb::bytes>> Written(const Network& network,
                                                       const std::string& format) {
  const NetworkFormat* const found = Value(FindNetworkFormat(format));
  if (found->write == nullptr) {
    Raise({.kind = ErrorKind::kUnsupported,
           .message = "networks cannot be written as '" + format + "'"});
  }
  std::vector<std::pair<std::string, nb::bytes>> files;
  for (const ExportedFile& file : Value(found->write(network)).files) {
    files.emplace_back(file.name, nb::bytes(file.contents.data(), file.contents.size()));
  }
  return files;
}

std::vector<std::string> NetworkFormatNames() {
  std::vector<std::string> names;
  for (const NetworkFormat* format : NetworkFormats()) {
    if (format->write != nullptr) names.emplace_back(format->name);
  }
  return names;
}

std::vector<std::pair<std::string, int64_t>> DimensionList(const Layer& layer) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const NamedSize& size : Dimensions(layer)) sizes.emplace_back(size.name, size.size);
  return sizes;
}

void BindLayer(nb::module_& module) {
  nb::class_<Layer>(module, "Layer",
                    "A layer by the sizes of its loops: type conv, dwconv, trconv, fc or gemm, and "
                    "its dimensions.")
      .def("__init__", &MakeLayer, nb::kw_only(), "type"_a = "conv", "n"_a = 1, "k"_a = 1,
           "c"_a = 1, "y"_a = 1, "x"_a = 1, "r"_a = 1, "s"_a = 1, "h"_a = 1, "m"_a = 1,
           "stride"_a = IntPair{1, 1}, "dilation"_a = IntPair{1, 1}, "pad"_a = IntFour{0, 0, 0, 0},
           "output_pad"_a = IntPair{0, 0}, "groups"_a = 1, "bias"_a = false)
      .def_prop_ro("type", [](const Layer& l) { return std::string(TypeName(l)); })
      .def_ro("n", &Layer::n)
      .def_ro("k", &Layer::k)
      .def_ro("c", &Layer::c)
      .def_ro("y", &Layer::y)
      .def_ro("x", &Layer::x)
      .def_ro("r", &Layer::r)
      .def_ro("s", &Layer::s)
      .def_ro("h", &Layer::h)
      .def_ro("m", &Layer::m)
      .def_ro("groups", &Layer::groups)
      .def_ro("bias", &Layer::bias)
      .def_prop_ro("stride",
                   [](const Layer& l) {
                     return IntPair{l.stride.y, l.stride.x};
                   })
      .def_prop_ro("dilation",
                   [](const Layer& l) {
                     return IntPair{l.dilation.y, l.dilation.x};
                   })
      .def_prop_ro("pad",
                   [](const Layer& l) {
                     return IntFour{l.pad.top, l.pad.left, l.pad.bottom, l.pad.right};
                   })
      .def_prop_ro("output_pad",
                   [](const Layer& l) {
                     return IntPair{l.output_pad.y, l.output_pad.x};
                   })
      .def_prop_ro(
          "macs", [](const Layer& l) { return Macs(l); }, "Multiply-accumulates.")
      .def_prop_ro(
          "parameters", [](const Layer& l) { return Parameters(l); }, "Weights and biases.")
      .def_prop_ro("dimensions", &DimensionList, "Names and sizes, in the order of the type.")
      .def("__eq__", [](const Layer& a, const Layer& b) { return a == b; })
      .def("__hash__", [](const Layer& l) { return LayerHash()(l); })
      .def("__repr__", [](const Layer& l) { return "Layer(" + ToString(l) + ")"; });
  nb::class_<NetworkLayer>(module, "NetworkLayer", "A layer of a network: name, sizes, count.")
      .def(
          "__init__",
          [](NetworkLayer* at, const std::string& name, const Layer& layer, int64_t count) {
            if (count < 1) Raise(BadValue("the count of layer '" + name + "' must be at least 1"));
            new (at) NetworkLayer{.name = name, .layer = layer, .count = count};
          },
          "name"_a, "layer"_a, "count"_a = 1)
      .def_ro("name", &NetworkLayer::name)
      .def_ro("layer", &NetworkLayer::layer)
      .def_ro("count", &NetworkLayer::count, "How often it occurs.")
      .def_ro("also", &NetworkLayer::also, "Names of further occurrences.")
      .def("__eq__", [](const NetworkLayer& a, const NetworkLayer& b) { return a == b; })
      .def("__hash__", [](const NetworkLayer& l) { return LayerHash()(l.layer); })
      .def("__repr__", [](const NetworkLayer& l) {
        return "NetworkLayer('" + l.name + "', " + ToString(l.layer) + ", count " +
               std::to_string(l.count) + ")";
      });
}

}  // namespace

void BindNetworks(nb::module_& module) {
  BindLayer(module);
  nb::class_<Network>(module, "NetworkValue", nb::is_weak_referenceable(),
                      "The layers of a network with how often each occurs.")
      .def("__init__", &MakeNetworkOf, "name"_a, "layers"_a)
      .def_ro("name", &Network::name)
      .def_ro("source", &Network::source, "Where the sizes come from.")
      .def_ro("variant", &Network::variant)
      .def_ro("batch", &Network::batch)
      .def_ro("layers", &Network::layers, "Different layers, in the order of first occurrence.")
      .def_ro("ignored", &Network::ignored, "Operators of a graph without MACs.")
      .def_ro("unknown", &Network::unknown, "Operators of a graph that are not known.")
      .def_prop_ro("macs", [](const Network& n) { return TotalMacs(n); })
      .def_prop_ro("parameters", [](const Network& n) { return TotalParameters(n); })
      .def_prop_ro("occurrences", [](const Network& n) { return TotalLayers(n); })
      .def(
          "layer",
          [](const Network& n, const std::string& selector) {
            return *Value(FindLayer(n, selector));
          },
          "selector"_a, "The layer of a name, or of a number from 1.")
      .def("replaced", &Replaced, "name"_a, "source"_a, "layers"_a)
      .def("written", &Written, "format"_a, "Files of a format: name and contents.")
      .def("__eq__", [](const Network& a, const Network& b) { return a == b; })
      .def("__hash__", [](const Network& n) { return std::hash<std::string>()(n.name); });
  module.def("load_network", [](const std::string& name, const PythonBindings& bind) {
    return Value([&] {
      nb::gil_scoped_release release;
      return LoadNetwork(name, BindingsOf(bind));
    }());
  });
  module.def("parse_network",
             [](const nb::bytes& bytes, const std::string& path, const PythonBindings& bind) {
               return Value(ParseNetwork({bytes.c_str(), bytes.size()}, path, BindingsOf(bind)));
             });
  module.def("network_formats", &NetworkFormatNames);
  module.def("zoo_names", [] {
    std::vector<std::string> names;
    for (const ZooFile& file : Zoo()) names.emplace_back(file.name);
    return names;
  });
}

}  // namespace tessera::python
