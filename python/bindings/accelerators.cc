// Machines: values that do not change; replace() makes another one.
#include <cmath>
#include <optional>
#include <variant>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "support.h"
#include "tessera/accelerator.h"
#include "tessera/arch/sizes.h"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;

Decimal DecimalOf(const char* what, double value) {
  if (!std::isfinite(value)) Raise(BadValue(std::string(what) + " is not a finite number"));
  return Decimal::FromDouble(value);
}

std::optional<Decimal> DecimalOf(const char* what, std::optional<double> value) {
  if (!value) return std::nullopt;
  return DecimalOf(what, *value);
}

std::optional<double> DoubleOf(const std::optional<Decimal>& value) {
  if (!value) return std::nullopt;
  return value->ToDouble();
}

// Words, or a size as files have it: 65536, "64Kword", "128KB".
using Size = std::optional<std::variant<int64_t, std::string>>;

std::optional<int64_t> WordsOf(const Size& size, int64_t word_bits) {
  if (!size) return std::nullopt;
  if (const int64_t* const words = std::get_if<int64_t>(&*size)) return *words;
  Node text{.kind = Node::Kind::kScalar, .scalar = std::get<std::string>(*size), .entries = {}};
  return Value(ReadWords(text, word_bits));
}

void BindPeArray(nb::module_& module) {
  using Array = PeArray;
  constexpr int64_t kUnlimited = PeArray::kUnlimited;
  nb::class_<Array>(module, "PeArray",
                    "A two-level array of processing elements, as MAESTRO describes it; sizes in "
                    "elements, bandwidths in elements per cycle.")
      .def(
          "__init__",
          [](Array* at, int64_t num_pes, int64_t simd_lanes, int64_t l1_elements,
             int64_t l2_elements, int64_t noc_elements_per_cycle, int64_t noc_hops,
             int64_t noc_hop_latency_cycles, int64_t offchip_elements_per_cycle) {
            new (at) Array{num_pes,
                           simd_lanes,
                           l1_elements,
                           l2_elements,
                           noc_elements_per_cycle,
                           noc_hops,
                           noc_hop_latency_cycles,
                           offchip_elements_per_cycle};
          },
          nb::kw_only(), "num_pes"_a = 1, "simd_lanes"_a = 1, "l1_elements"_a = kUnlimited,
          "l2_elements"_a = kUnlimited, "noc_elements_per_cycle"_a = kUnlimited, "noc_hops"_a = 1,
          "noc_hop_latency_cycles"_a = 1, "offchip_elements_per_cycle"_a = 70'000)
      .def_ro("num_pes", &Array::num_pes)
      .def_ro("simd_lanes", &Array::simd_lanes)
      .def_ro("l1_elements", &Array::l1_elements)
      .def_ro("l2_elements", &Array::l2_elements)
      .def_ro("noc_elements_per_cycle", &Array::noc_elements_per_cycle)
      .def_ro("noc_hops", &Array::noc_hops)
      .def_ro("noc_hop_latency_cycles", &Array::noc_hop_latency_cycles)
      .def_ro("offchip_elements_per_cycle", &Array::offchip_elements_per_cycle)
      .def("__eq__", [](const Array& a, const Array& b) { return a == b; });
}

void BindLevelNetwork(nb::module_& module) {
  using Net = LevelNetwork;
  nb::class_<Net>(module, "LevelNetwork", "The network between a memory level and the one below.")
      .def(
          "__init__",
          [](Net* at, double hop_pj, double router_pj, double ingress_pj,
             int64_t fill_latency_cycles, int64_t drain_latency_cycles) {
            new (at)
                Net{DecimalOf("hop_pj", hop_pj), DecimalOf("router_pj", router_pj),
                    DecimalOf("ingress_pj", ingress_pj), fill_latency_cycles, drain_latency_cycles};
          },
          nb::kw_only(), "hop_pj"_a = 0.0, "router_pj"_a = 0.0, "ingress_pj"_a = 0.0,
          "fill_latency_cycles"_a = 0, "drain_latency_cycles"_a = 0)
      .def_prop_ro("hop_pj", [](const Net& n) { return n.hop_pj.ToDouble(); })
      .def_prop_ro("router_pj", [](const Net& n) { return n.router_pj.ToDouble(); })
      .def_prop_ro("ingress_pj", [](const Net& n) { return n.ingress_pj.ToDouble(); })
      .def_ro("fill_latency_cycles", &Net::fill_latency_cycles)
      .def_ro("drain_latency_cycles", &Net::drain_latency_cycles)
      .def("__eq__", [](const Net& a, const Net& b) { return a == b; });
}

void BindMemoryLevel(nb::module_& module) {
  using Level = MemoryLevel;
  using Rate = std::optional<double>;
  nb::class_<Level>(module, "MemoryLevel", "One level of a memory hierarchy.")
      .def(
          "__init__",
          [](Level* at, const std::string& name, const std::string& technology, const Size& entries,
             int64_t word_bits, int64_t block_words, int64_t cluster_size, int64_t mesh_x,
             int64_t mesh_y, Rate read, Rate write, Rate shared, double buffering, double read_pj,
             double fill_pj, double update_pj, double address_pj, Rate area_um2, double leakage_mw,
             bool reduces_in_place, const LevelNetwork& network) {
            new (at) Level{.name = name,
                           .technology = technology,
                           .entries = WordsOf(entries, word_bits),
                           .word_bits = word_bits,
                           .block_words = block_words,
                           .cluster_size = cluster_size,
                           .mesh_x = mesh_x,
                           .mesh_y = mesh_y,
                           .read_words_per_cycle = DecimalOf("read_words_per_cycle", read),
                           .write_words_per_cycle = DecimalOf("write_words_per_cycle", write),
                           .shared_words_per_cycle = DecimalOf("shared_words_per_cycle", shared),
                           .multiple_buffering = DecimalOf("multiple_buffering", buffering),
                           .read_pj = DecimalOf("read_pj", read_pj),
                           .fill_pj = DecimalOf("fill_pj", fill_pj),
                           .update_pj = DecimalOf("update_pj", update_pj),
                           .address_pj = DecimalOf("address_pj", address_pj),
                           .area_um2 = DecimalOf("area_um2", area_um2),
                           .leakage_mw = DecimalOf("leakage_mw", leakage_mw),
                           .reduces_in_place = reduces_in_place,
                           .network = network};
          },
          "name"_a, nb::kw_only(), "technology"_a = "", "entries"_a = nb::none(),
          "word_bits"_a = 16, "block_words"_a = 1, "cluster_size"_a = 1, "mesh_x"_a = 1,
          "mesh_y"_a = 1, "read_words_per_cycle"_a = nb::none(),
          "write_words_per_cycle"_a = nb::none(), "shared_words_per_cycle"_a = nb::none(),
          "multiple_buffering"_a = 1.0, "read_pj"_a = 0.0, "fill_pj"_a = 0.0, "update_pj"_a = 0.0,
          "address_pj"_a = 0.0, "area_um2"_a = nb::none(), "leakage_mw"_a = 0.0,
          "reduces_in_place"_a = true, "network"_a = LevelNetwork{})
      .def_ro("name", &Level::name)
      .def_ro("technology", &Level::technology)
      .def_ro("entries", &Level::entries, "Words per instance; None: unlimited.")
      .def_ro("word_bits", &Level::word_bits)
      .def_ro("block_words", &Level::block_words)
      .def_ro("cluster_size", &Level::cluster_size)
      .def_ro("mesh_x", &Level::mesh_x)
      .def_ro("mesh_y", &Level::mesh_y)
      .def_prop_ro("instances", &Level::instances)
      .def_prop_ro("read_words_per_cycle",
                   [](const Level& l) { return DoubleOf(l.read_words_per_cycle); })
      .def_prop_ro("write_words_per_cycle",
                   [](const Level& l) { return DoubleOf(l.write_words_per_cycle); })
      .def_prop_ro("shared_words_per_cycle",
                   [](const Level& l) { return DoubleOf(l.shared_words_per_cycle); })
      .def_prop_ro("multiple_buffering",
                   [](const Level& l) { return l.multiple_buffering.ToDouble(); })
      .def_prop_ro("read_pj", [](const Level& l) { return l.read_pj.ToDouble(); })
      .def_prop_ro("fill_pj", [](const Level& l) { return l.fill_pj.ToDouble(); })
      .def_prop_ro("update_pj", [](const Level& l) { return l.update_pj.ToDouble(); })
      .def_prop_ro("address_pj", [](const Level& l) { return l.address_pj.ToDouble(); })
      .def_prop_ro("area_um2", [](const Level& l) { return DoubleOf(l.area_um2); })
      .def_prop_ro("leakage_mw", [](const Level& l) { return l.leakage_mw.ToDouble(); })
      .def_ro("reduces_in_place", &Level::reduces_in_place)
      .def_ro("network", &Level::network)
      .def("__eq__", [](const Level& a, const Level& b) { return a == b; })
      .def("__repr__", [](const Level& l) { return "MemoryLevel('" + l.name + "')"; });
}

void BindHierarchy(nb::module_& module) {
  nb::class_<Arithmetic>(module, "Arithmetic", "The MACs of a hierarchy.")
      .def(
          "__init__",
          [](Arithmetic* at, const std::string& name, int64_t mesh_x, int64_t mesh_y,
             int64_t word_bits, double mac_pj, std::optional<double> area_um2, double leakage_mw,
             std::optional<double> vector_op_pj, std::optional<int64_t> vector_lanes) {
            new (at) Arithmetic{.name = name,
                                .mesh_x = mesh_x,
                                .mesh_y = mesh_y,
                                .word_bits = word_bits,
                                .mac_pj = DecimalOf("mac_pj", mac_pj),
                                .area_um2 = DecimalOf("area_um2", area_um2),
                                .leakage_mw = DecimalOf("leakage_mw", leakage_mw),
                                .vector_op_pj = DecimalOf("vector_op_pj", vector_op_pj),
                                .vector_lanes = vector_lanes};
          },
          nb::kw_only(), "name"_a = "MAC", "mesh_x"_a = 1, "mesh_y"_a = 1, "word_bits"_a = 16,
          "mac_pj"_a = 0.0, "area_um2"_a = nb::none(), "leakage_mw"_a = 0.0,
          "vector_op_pj"_a = nb::none(), "vector_lanes"_a = nb::none())
      .def_ro("name", &Arithmetic::name)
      .def_ro("mesh_x", &Arithmetic::mesh_x)
      .def_ro("mesh_y", &Arithmetic::mesh_y)
      .def_ro("word_bits", &Arithmetic::word_bits)
      .def_prop_ro("mac_pj", [](const Arithmetic& a) { return a.mac_pj.ToDouble(); })
      .def_prop_ro("area_um2", [](const Arithmetic& a) { return DoubleOf(a.area_um2); })
      .def_prop_ro("leakage_mw", [](const Arithmetic& a) { return a.leakage_mw.ToDouble(); })
      .def_prop_ro("vector_op_pj", [](const Arithmetic& a) { return DoubleOf(a.vector_op_pj); })
      .def_ro("vector_lanes", &Arithmetic::vector_lanes)
      .def_prop_ro("instances", &Arithmetic::instances)
      .def("__eq__", [](const Arithmetic& a, const Arithmetic& b) { return a == b; });
  nb::class_<Hierarchy>(module, "Hierarchy",
                        "Memory levels over an array of MACs; levels[0] is next to the MACs.")
      .def(
          "__init__",
          [](Hierarchy* at, const std::vector<MemoryLevel>& levels, const Arithmetic& arithmetic,
             bool links, bool bypass, const std::vector<std::vector<std::string>>& keeps) {
            new (at) Hierarchy{.arithmetic = arithmetic,
                               .levels = levels,
                               .links = links,
                               .bypass = bypass,
                               .keeps = keeps};
          },
          nb::kw_only(), "levels"_a, "arithmetic"_a = Arithmetic{}, "links"_a = false,
          "bypass"_a = true, "keeps"_a = std::vector<std::vector<std::string>>{})
      .def_ro("arithmetic", &Hierarchy::arithmetic)
      .def_ro("levels", &Hierarchy::levels)
      .def_ro("links", &Hierarchy::links)
      .def_ro("bypass", &Hierarchy::bypass,
              "Whether mappings may let a level pass by a tensor that it could hold.")
      .def_ro("keeps", &Hierarchy::keeps, "Tensors that each level may hold; empty: all.")
      .def("__eq__", [](const Hierarchy& a, const Hierarchy& b) { return a == b; });
}

std::vector<std::pair<std::string, nb::bytes>> Written(const Accelerator& accelerator,
                                                       const std::string& format) {
  const AcceleratorFormat* const known = Value(FindAcceleratorFormat(format));
  if (known->write == nullptr) {
    Raise({.kind = ErrorKind::kUnsupported,
           .message = "accelerators cannot be written as '" + format + "'"});
  }
  std::vector<std::pair<std::string, nb::bytes>> files;
  for (const ExportedFile& file : Value(known->write(accelerator)).files) {
    files.emplace_back(file.name, nb::bytes(file.contents.data(), file.contents.size()));
  }
  return files;
}

}  // namespace

void BindAccelerators(nb::module_& module) {
  BindPeArray(module);
  BindLevelNetwork(module);
  BindMemoryLevel(module);
  BindHierarchy(module);
  nb::class_<Accelerator>(module, "AcceleratorValue", nb::is_weak_referenceable(),
                          "A machine: a PE array, a memory hierarchy, or both.")
      .def(
          "__init__",
          [](Accelerator* at, const std::string& name, const std::string& source,
             const std::optional<PeArray>& pe_array, const std::optional<Hierarchy>& hierarchy) {
            const Accelerator made{
                .name = name, .source = source, .pe_array = pe_array, .hierarchy = hierarchy};
            Value(Validate(made));
            new (at) Accelerator(made);
          },
          "name"_a, nb::kw_only(), "source"_a = "", "pe_array"_a = nb::none(),
          "hierarchy"_a = nb::none())
      .def_ro("name", &Accelerator::name)
      .def_ro("source", &Accelerator::source, "Where the numbers come from.")
      .def_ro("notes", &Accelerator::notes, "What an importer could not use or had to assume.")
      .def_ro("pe_array", &Accelerator::pe_array)
      .def_ro("hierarchy", &Accelerator::hierarchy)
      .def(
          "replaced",
          [](const Accelerator& accelerator, const std::string& name, const std::string& source,
             const std::optional<PeArray>& pe_array, const std::optional<Hierarchy>& hierarchy) {
            Accelerator changed = accelerator;  // with its constraints and notes
            changed.name = name;
            changed.source = source;
            changed.pe_array = pe_array;
            changed.hierarchy = hierarchy;
            Value(Validate(changed));
            return changed;
          },
          "name"_a, "source"_a, "pe_array"_a.none(), "hierarchy"_a.none(),
          "The machine with other parts; constraints stay.")
      .def("written", &Written, "format"_a, "The files of a format: names and contents.")
      .def(
          "with_energies",
          [](const Accelerator& accelerator, const std::string& path) {
            Accelerator priced = accelerator;
            Value(ApplyEnergyFile(path, priced));
            return priced;
          },
          "path"_a, "The machine with the energies of a file.")
      .def("__eq__", [](const Accelerator& a, const Accelerator& b) { return a == b; })
      .def("__hash__", [](const Accelerator& a) { return std::hash<std::string>()(a.name); });
  module.def("load_accelerator",
             [](const std::string& name) { return Value(LoadAccelerator(name)); });
  module.def("parse_accelerator", [](const nb::bytes& bytes, const std::string& path) {
    return Value(ParseAccelerator({bytes.c_str(), bytes.size()}, path));
  });
  module.def("accelerator_names", [] {
    std::vector<std::string> names;
    for (const EmbeddedFile& file : AcceleratorPresets()) names.emplace_back(file.name);
    return names;
  });
  module.def("accelerator_formats", [] {
    std::vector<std::string> names;
    for (const AcceleratorFormat* format : AcceleratorFormats()) {
      if (format->write != nullptr) names.emplace_back(format->name);
    }
    return names;
  });
}

}  // namespace tessera::python
