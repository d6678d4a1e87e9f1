// Reading of rows. Names of keys are those of the golden files.
#include "tessera/cost/loopnest/row.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/tensor_bits.h"
#include "tessera/base/text.h"
#include "tessera/mapping/loop_shape.h"

namespace tessera::loopnest {
namespace {

constexpr int64_t kMost = (int64_t{1} << 31) - 1;

// Where a number goes. Null means "not given" for optional ones.
Result<void> Read(MapReader& reader, std::string_view key, int64_t& target) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return {};
  const Result<int64_t> value = node->AsInt(0, kMost);
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> Read(MapReader& reader, std::string_view key, std::optional<int64_t>& target) {
  const Node* node = reader.Find(key);
  if (node == nullptr || node->kind == Node::Kind::kNull) return {};
  const Result<int64_t> value = node->AsInt();
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> Read(MapReader& reader, std::string_view key, Decimal& target) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return {};
  const Result<Decimal> value = node->AsDecimal();
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> Read(MapReader& reader, std::string_view key, std::optional<Decimal>& target) {
  const Node* node = reader.Find(key);
  if (node == nullptr || node->kind == Node::Kind::kNull) return {};
  const Result<Decimal> value = node->AsDecimal();
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> Read(MapReader& reader, std::string_view key, bool& target) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return {};
  const Result<bool> value = node->AsBool();
  if (!value) return value.error();
  target = *value;
  return {};
}

Result<void> Read(MapReader& reader, std::string_view key, std::string& target) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return {};
  const Result<std::string> value = node->AsString();
  if (!value) return value.error();
  target = *value;
  return {};
}

// A row is one line, so the name of the key has to say where in it.
Error About(std::string_view key, Error error) {
  error.message = fmt::format("{}: {}", key, error.message);
  return error;
}

// Reads several keys; the first error ends it.
template <typename... Targets>
Result<void> ReadAll(MapReader& reader, Targets&&... targets) {
  Result<void> result;
  const auto read = [&](std::string_view key, auto& target) {
    result = Read(reader, key, target);
    if (!result) result = About(key, result.error());
    return result.ok();
  };
  (read(targets.first, targets.second) && ...);
  return result;
}

template <typename Target>
std::pair<std::string_view, Target&> Key(std::string_view key, Target& target) {
  return {key, target};
}

// A mesh says how many instances there are; a row that also counts them must agree.
Result<void> CheckInstances(const Node& node, std::optional<int64_t> written, int64_t mesh_x,
                            int64_t mesh_y) {
  if (!written || *written == mesh_x * mesh_y) return {};
  return node.ErrorHere(
      ErrorKind::kBadValue,
      fmt::format("instances is {}, but meshX * meshY is {}", *written, mesh_x * mesh_y));
}

Result<LevelNetwork> ReadNetwork(const Node& node) {
  LevelNetwork network;
  MapReader reader(node, "network");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  if (Result<void> ok = ReadAll(
          reader, Key("e_hop", network.hop_pj), Key("e_router", network.router_pj),
          Key("e_ingress", network.ingress_pj), Key("fill_latency", network.fill_latency_cycles),
          Key("drain_latency", network.drain_latency_cycles));
      !ok) {
    return ok.error();
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  return network;
}

Result<MemoryLevel> ReadLevel(const Node& node) {
  MemoryLevel level;
  MapReader reader(node, "level");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  std::optional<int64_t> instances;
  bool explicit_reduction = false;  // a note of the generator
  if (Result<void> ok = ReadAll(
          reader, Key("name", level.name), Key("technology", level.technology),
          Key("entries", level.entries), Key("word_bits", level.word_bits),
          Key("block_size", level.block_words), Key("cluster_size", level.cluster_size),
          Key("instances", instances), Key("meshX", level.mesh_x), Key("meshY", level.mesh_y),
          Key("read_bw", level.read_words_per_cycle), Key("write_bw", level.write_words_per_cycle),
          Key("shared_bw", level.shared_words_per_cycle),
          Key("multiple_buffering", level.multiple_buffering), Key("e_read", level.read_pj),
          Key("e_fill", level.fill_pj), Key("e_update", level.update_pj),
          Key("e_addr_gen", level.address_pj), Key("reduction", level.reduces_in_place),
          Key("reduction_explicit", explicit_reduction));
      !ok) {
    return ok.error();
  }
  if (const Node* network = reader.Find("net")) {
    const Result<LevelNetwork> read = ReadNetwork(*network);
    if (!read) return read.error();
    level.network = *read;
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  if (Result<void> ok = CheckInstances(node, instances, level.mesh_x, level.mesh_y); !ok) {
    return ok.error();
  }
  return level;
}

Result<Arithmetic> ReadArithmetic(const Node& node) {
  Arithmetic macs;
  MapReader reader(node, "arithmetic");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  std::optional<int64_t> instances;
  if (Result<void> ok = ReadAll(reader, Key("name", macs.name), Key("instances", instances),
                                Key("meshX", macs.mesh_x), Key("meshY", macs.mesh_y),
                                Key("word_bits", macs.word_bits), Key("energy", macs.mac_pj));
      !ok) {
    return ok.error();
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  if (Result<void> ok = CheckInstances(node, instances, macs.mesh_x, macs.mesh_y); !ok) {
    return ok.error();
  }
  return macs;
}

Result<Accelerator> ReadMachine(const Node& node) {
  Accelerator machine;
  Hierarchy hierarchy;
  MapReader reader(node, "machine");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  if (Result<void> ok = ReadAll(reader, Key("name", machine.name), Key("links", hierarchy.links));
      !ok) {
    return ok.error();
  }
  if (const Node* const widths = reader.Find("bits")) {
    const Result<TensorBits> bits = ReadTensorBits(*widths);
    if (!bits) return bits.error();
    hierarchy.bits = *bits;
  }
  const Result<const Node*> arithmetic = reader.Require("arithmetic");
  if (!arithmetic) return arithmetic.error();
  const Result<Arithmetic> macs = ReadArithmetic(**arithmetic);
  if (!macs) return macs.error();
  hierarchy.arithmetic = *macs;
  const Result<const Node*> levels = reader.Require("levels");
  if (!levels) return levels.error();
  if ((*levels)->kind != Node::Kind::kSequence) {
    return (*levels)->ErrorHere(ErrorKind::kBadValue, "levels must be a list");
  }
  for (const Node& level : (*levels)->items) {
    Result<MemoryLevel> read = ReadLevel(level);
    if (!read) return read.error();
    hierarchy.levels.push_back(*std::move(read));
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  machine.hierarchy = std::move(hierarchy);
  if (Result<void> ok = Validate(machine); !ok) {
    return node.ErrorHere(ok.error().kind, ok.error().message, ok.error().hint);
  }
  return machine;
}

Result<NamedValues> ReadSizes(const Node* node) {
  NamedValues sizes;
  if (node == nullptr) return sizes;
  if (node->kind != Node::Kind::kMap) {
    return node->ErrorHere(ErrorKind::kBadValue, "sizes must be a map of names to numbers");
  }
  for (const Node::Entry& entry : node->entries) {
    const Result<int64_t> size = entry.value.AsInt();
    if (!size) return About(entry.key, size.error());
    sizes.emplace_back(entry.key, *size);
  }
  return sizes;
}

Result<LoopProblem> ReadProblem(const Node& node) {
  MapReader reader(node, "problem");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  const Result<const Node*> shape = reader.Require("shape");
  if (!shape) return shape.error();
  const Result<NamedValues> dims = ReadSizes(reader.Find("dims"));
  if (!dims) return dims.error();
  const Result<NamedValues> coefficients = ReadSizes(reader.Find("coeffs"));
  if (!coefficients) return coefficients.error();
  Result<LoopProblem> problem = (*shape)->kind == Node::Kind::kMap
                                    ? ReadLoopShape(**shape, *dims, *coefficients)
                                    : MakeLoopProblem((*shape)->scalar, *dims, *coefficients);
  if (const Node* const widths = reader.Find("bits"); widths != nullptr && problem) {
    const Result<TensorBits> bits = ReadTensorBits(*widths);
    if (!bits) return bits.error();
    SetBits(*bits, *problem);
  }
  if (problem || problem.error().where.line != 0) return problem;
  return node.ErrorHere(problem.error().kind, problem.error().message, problem.error().hint);
}

// "KMN" or ["K", "M", "N"].
std::vector<std::string> ReadNames(const Node& node) {
  std::vector<std::string> names;
  for (const Node& item : node.items) names.push_back(item.scalar);
  for (const char letter : node.scalar) names.emplace_back(1, letter);
  return names;
}

using Factors = std::array<int32_t, LoopProblem::kMaxDimensions>;
using Order = std::array<uint8_t, LoopProblem::kMaxDimensions>;

Result<void> ReadLoops(MapReader& reader, const LoopProblem& problem, Factors& factors,
                       Order& order) {
  if (const Node* node = reader.Find("factors")) {
    if (node->kind != Node::Kind::kMap) {
      return node->ErrorHere(ErrorKind::kBadValue, "factors must be a map of dimensions");
    }
    for (const Node::Entry& entry : node->entries) {
      const std::optional<int> dim = FindDimension(problem, entry.key);
      if (!dim) {
        return entry.value.ErrorHere(ErrorKind::kUnknownName,
                                     fmt::format("unknown dimension {}", Quoted(entry.key)));
      }
      const Result<int64_t> factor = entry.value.AsInt(0, kMost);
      if (!factor) return About(fmt::format("factor of {}", entry.key), factor.error());
      factors[static_cast<size_t>(*dim)] = static_cast<int32_t>(*factor);
    }
  }
  if (const Node* node = reader.Find("perm")) {
    const Result<Order> completed = CompleteOrder(problem, ReadNames(*node));
    if (!completed) return node->ErrorHere(completed.error().kind, completed.error().message);
    order = *completed;
  }
  return {};
}

Result<void> ReadSpatial(const Node& node, const LoopProblem& problem, LoopLevel& level) {
  MapReader reader(node, "spatial block");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  if (Result<void> ok = ReadLoops(reader, problem, level.spatial, level.spatial_order); !ok) {
    return ok;
  }
  if (const Node* split = reader.Find("split")) {
    const Result<int64_t> value = split->AsInt(0, problem.num_dimensions);
    if (!value) return About("split", value.error());
    level.split = static_cast<uint8_t>(*value);
  }
  return reader.Finish();
}

Result<void> ReadKeep(const Node& node, const LoopProblem& problem, LoopLevel& level) {
  if (node.kind != Node::Kind::kSequence) {
    return node.ErrorHere(ErrorKind::kBadValue, "keep must be a list of tensors");
  }
  level.keep = 0;
  for (const Node& item : node.items) {
    const std::optional<int> tensor = FindTensorOrRole(problem, item.scalar);
    if (!tensor) {
      return item.ErrorHere(ErrorKind::kUnknownName,
                            fmt::format("unknown tensor {}", Quoted(item.scalar)));
    }
    level.keep = static_cast<uint8_t>(level.keep | 1u << *tensor);
  }
  return {};
}

Result<LoopLevel> ReadMappingLevel(const Node& node, const LoopProblem& problem,
                                   std::string_view level_name) {
  LoopLevel level;
  MapReader reader(node, "level of the mapping");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  std::string name(level_name);
  if (Result<void> ok = Read(reader, "name", name); !ok) return ok.error();
  if (name != level_name) {
    return node.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("level {} of the mapping stands where the machine has {}",
                                      Quoted(name), Quoted(level_name)),
                          "list the levels from the MACs outwards");
  }
  if (const Node* keep = reader.Find("keep")) {
    if (Result<void> ok = ReadKeep(*keep, problem, level); !ok) return ok.error();
  }
  if (const Node* temporal = reader.Find("temporal")) {
    MapReader loops(*temporal, "temporal block");
    if (Result<void> ok = loops.Check(); !ok) return ok.error();
    if (Result<void> ok = ReadLoops(loops, problem, level.temporal, level.temporal_order); !ok) {
      return ok.error();
    }
    if (Result<void> ok = loops.Finish(); !ok) return ok.error();
  }
  const Node* spatial = reader.Find("spatial");
  if (spatial != nullptr && spatial->kind != Node::Kind::kNull) {
    if (Result<void> ok = ReadSpatial(*spatial, problem, level); !ok) return ok.error();
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  return level;
}

Result<LoopMapping> ReadMapping(const Node& node, const LoopProblem& problem,
                                const Hierarchy& hierarchy) {
  MapReader reader(node, "mapping");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  const Result<const Node*> levels = reader.Require("levels");
  if (!levels) return levels.error();
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  if ((*levels)->items.size() != hierarchy.levels.size()) {
    return node.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("the mapping has {} levels, but the machine has {}",
                                      (*levels)->items.size(), hierarchy.levels.size()));
  }
  if (hierarchy.levels.size() > LoopMapping::kMaxLevels) {
    return node.ErrorHere(ErrorKind::kUnsupported,
                          fmt::format("more than {} levels", LoopMapping::kMaxLevels));
  }
  LoopMapping mapping{.num_levels = static_cast<int32_t>(hierarchy.levels.size())};
  for (size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const Result<LoopLevel> level =
        ReadMappingLevel((*levels)->items[i], problem, hierarchy.levels[i].name);
    if (!level) return level.error();
    mapping.levels[i] = *level;
  }
  return mapping;
}

}  // namespace

Result<Row> ReadRow(const Node& node) {
  Row row;
  MapReader reader(node, "row");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  std::string rule;
  if (const Node* id = reader.Find("id")) row.id = id->scalar;
  if (Result<void> ok = ReadAll(reader, Key("rule", rule), Key("extrapolate", row.extrapolate));
      !ok) {
    return ok.error();
  }
  if (!rule.empty() && rule != "v3" && rule != "v4") {
    return node.ErrorHere(ErrorKind::kUnknownName, fmt::format("unknown rule {}", Quoted(rule)),
                          "known: v3, v4");
  }
  if (rule == "v4") row.semantics = Semantics::kTimeloop4;
  const Result<const Node*> problem = reader.Require("problem");
  if (!problem) return problem.error();
  const Result<LoopProblem> read_problem = ReadProblem(**problem);
  if (!read_problem) return read_problem.error();
  row.problem = *read_problem;
  const Result<const Node*> machine = reader.Require("arch");
  if (!machine) return machine.error();
  Result<Accelerator> read_machine = ReadMachine(**machine);
  if (!read_machine) return read_machine.error();
  row.machine = *std::move(read_machine);
  const Result<const Node*> mapping = reader.Require("mapping");
  if (!mapping) return mapping.error();
  const Result<LoopMapping> read_mapping =
      ReadMapping(**mapping, row.problem, *row.machine.hierarchy);
  if (!read_mapping) return read_mapping.error();
  row.mapping = *read_mapping;
  return row;
}

Result<LoopMapping> ReadLoopMapping(const Node& node, const LoopProblem& problem,
                                    const Hierarchy& hierarchy) {
  return ReadMapping(node, problem, hierarchy);
}

}  // namespace tessera::loopnest
