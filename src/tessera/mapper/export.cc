// Mappings as text of several kinds.
#include "tessera/map.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/cost/loopnest/row.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping/loop_shape.h"
#include "tessera/mapping/timeloop_mapping.h"

namespace tessera {
namespace {

Json DirectivesJson(const Dataflow& dataflow) {
  Json list = Json::array();
  for (const DataflowDirective& directive : dataflow.directives()) {
    switch (directive.kind) {
      case DataflowDirective::Kind::kTemporal:
        list.push_back({"T", directive.size, directive.offset, ToString(directive.dim)});
        break;
      case DataflowDirective::Kind::kSpatial:
        list.push_back({"S", directive.size, directive.offset, ToString(directive.dim)});
        break;
      case DataflowDirective::Kind::kCluster: list.push_back({"C", directive.size, "P"}); break;
    }
  }
  return list;
}

Json LoopsJson(const LoopProblem& problem, const auto& factors, const auto& order) {
  Json loops;
  std::vector<std::string> permutation;
  for (size_t i = 0; i < problem.dims().size(); ++i) {
    permutation.emplace_back(problem.dimensions[order[i]].name.view());
  }
  loops["perm"] = permutation;
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    loops["factors"][std::string(problem.dimensions[d].name.view())] = factors[d];
  }
  return loops;
}

Json LevelsJson(const LoopMapping& mapping, const LoopProblem& problem,
                const Hierarchy& hierarchy) {
  Json levels = Json::array();
  for (size_t i = 0; i < mapping.view().size(); ++i) {
    const LoopLevel& level = mapping.levels[i];
    Json made;
    made["name"] = hierarchy.levels[i].name;
    made["keep"] = Json::array();
    for (size_t t = 0; t < problem.tensor_view().size(); ++t) {
      if (level.Keeps(static_cast<int>(t))) made["keep"].push_back(problem.tensors[t].name.view());
    }
    made["temporal"] = LoopsJson(problem, level.temporal, level.temporal_order);
    if (FanoutX(hierarchy, i) * FanoutY(hierarchy, i) > 1) {
      made["spatial"] = LoopsJson(problem, level.spatial, level.spatial_order);
      made["spatial"]["split"] = std::min<size_t>(level.split, problem.dims().size());
    } else {
      made["spatial"] = nullptr;
    }
    levels.push_back(std::move(made));
  }
  return levels;
}

// A network of one layer with its dataflow.
Result<std::string> MaestroText(const std::string& name, const Layer& layer,
                                const Dataflow& dataflow) {
  const Result<maestro::Declaration> declaration = maestro::Declare(layer);
  if (!declaration) return declaration.error();
  std::string text = fmt::format("Network {} {{\n  Layer {} {{\n    Type: {}\n", name, name,
                                 ToString(declaration->type));
  std::string strides, dimensions;
  for (const auto& [dim, size] : declaration->strides) {
    strides += fmt::format(" {}: {}", ToString(dim), size);
  }
  for (const auto& [dim, size] : declaration->dims) {
    dimensions += fmt::format(" {}: {}", ToString(dim), size);
  }
  if (!strides.empty()) text += fmt::format("    Stride {{{} }}\n", strides);
  text += fmt::format("    Dimensions {{{} }}\n    Dataflow {{\n", dimensions);
  text += ToIndentedString(dataflow, "      ");
  return text + "    }\n  }\n}\n";
}

Result<Mapping> ReadDirectives(const Node& node) {
  Dataflow dataflow;
  const Error bad = node.ErrorHere(ErrorKind::kBadValue, "this is not a list of directives");
  for (const Node& item : node.items) {
    if (item.items.size() < 3 || dataflow.full()) return bad;
    const std::string& kind = item.items[0].scalar;
    const Result<int64_t> size = item.items[1].AsInt(1, INT32_MAX);
    if (!size) return size.error();
    if (kind == "C") {
      dataflow.Add(Cluster(static_cast<int32_t>(*size)));
      continue;
    }
    if (item.items.size() != 4 || (kind != "S" && kind != "T")) return bad;
    const Result<int64_t> offset = item.items[2].AsInt(1, INT32_MAX);
    if (!offset) return offset.error();
    const std::optional<DataflowDim> dim = FindDataflowDim(item.items[3].scalar);
    if (!dim) return bad;
    const auto make = kind == "S" ? Spatial : Temporal;
    dataflow.Add(make(static_cast<int32_t>(*size), static_cast<int32_t>(*offset), *dim));
  }
  return Mapping(dataflow);
}

// What a mapping is of.
struct Place {
  const Layer& layer;
  const Accelerator& accelerator;
};

Result<std::string> DataflowJson(const Place& /*place*/, const Mapping& mapping) {
  return ToLine(DirectivesJson(std::get<Dataflow>(mapping)));
}

Result<Mapping> ReadDataflow(const Place& /*place*/, const Node& node) {
  return ReadDirectives(node);
}

Result<std::vector<ExportedFile>> DataflowFiles(const Place& place, const std::string& stem,
                                                const Mapping& mapping) {
  const std::string name = std::filesystem::path(stem).filename().string();
  Result<std::string> text = MaestroText("layer_" + name, place.layer, std::get<Dataflow>(mapping));
  if (!text) return text.error();
  return std::vector<ExportedFile>{{stem + ".m", *std::move(text)}};
}

Result<std::string> LoopMappingJson(const Place& place, const Mapping& mapping) {
  const Result<LoopProblem> problem = MakeLoopProblem(place.layer);
  if (!problem) return problem.error();
  const Json levels =
      LevelsJson(std::get<LoopMapping>(mapping), *problem, *place.accelerator.hierarchy);
  return ToLine({{"levels", levels}});
}

Result<Mapping> ReadLoops(const Place& place, const Node& node) {
  const Result<LoopProblem> problem = MakeLoopProblem(place.layer);
  if (!problem) return problem.error();
  const std::optional<Hierarchy>& hierarchy = place.accelerator.hierarchy;
  if (!hierarchy) {
    return node.ErrorHere(ErrorKind::kBadValue, "a loop mapping needs a machine with levels");
  }
  Result<LoopMapping> loops = loopnest::ReadLoopMapping(node, *problem, *hierarchy);
  if (!loops) return loops.error();
  return Mapping(*loops);
}

Result<std::vector<ExportedFile>> LoopFiles(const Place& place, const std::string& stem,
                                            const Mapping& mapping) {
  const Result<LoopProblem> problem = MakeLoopProblem(place.layer);
  if (!problem) return problem.error();
  const Hierarchy& hierarchy = *place.accelerator.hierarchy;
  std::vector<std::string> names;
  for (const MemoryLevel& level : hierarchy.levels) names.push_back(level.name);
  const LoopMapping& loops = std::get<LoopMapping>(mapping);
  return std::vector<ExportedFile>{
      {stem + ".txt", PrintLoopNest(loops, *problem, names)},
      {stem + ".map.yaml", WriteTimeloopMapping(loops, *problem, hierarchy)},
      {stem + ".problem.yaml", WriteLoopProblem(*problem)}};
}

// How mappings of one form are written and read. In JSON a dataflow is a list, loops are a map.
struct FormTexts {
  Result<std::string> (*json)(const Place& place, const Mapping& mapping);
  Result<Mapping> (*read)(const Place& place, const Node& node);
  Result<std::vector<ExportedFile>> (*files)(const Place& place, const std::string& stem,
                                             const Mapping& mapping);
};
constexpr std::array<FormTexts, std::variant_size_v<Mapping>> kFormTexts = {{
    {DataflowJson, ReadDataflow, DataflowFiles},
    {LoopMappingJson, ReadLoops, LoopFiles},
}};

const FormTexts& TextsOf(MappingForm form) { return kFormTexts[static_cast<size_t>(form)]; }

}  // namespace

std::string MappingStem(size_t layer, std::string_view name) {
  std::string stem = fmt::format("mappings/{:03}_", layer + 1);
  for (const char c : name) {
    stem += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return stem;
}

Result<std::string> MappingJson(const Layer& layer, const Accelerator& accelerator,
                                const Mapping& mapping) {
  return TextsOf(FormOf(mapping)).json({layer, accelerator}, mapping);
}

Result<Mapping> ParseMappingJson(std::string_view text, const std::string& file, const Layer& layer,
                                 const Accelerator& accelerator) {
  const Result<Node> node = ParseJson(text, file);
  if (!node) return node.error();
  const bool list = node->kind == Node::Kind::kSequence;
  return TextsOf(list ? MappingForm::kDataflow : MappingForm::kLoops)
      .read({layer, accelerator}, *node);
}

Result<std::vector<ExportedFile>> ExportMapping(const std::string& stem, const Layer& layer,
                                                const Accelerator& accelerator,
                                                const Mapping& mapping) {
  const FormTexts& texts = TextsOf(FormOf(mapping));
  const Place place = {layer, accelerator};
  const Result<std::string> json = texts.json(place, mapping);
  if (!json) return json.error();
  Result<std::vector<ExportedFile>> files = texts.files(place, stem, mapping);
  if (!files) return files.error();
  files->insert(files->begin(), {stem + ".json", *json + "\n"});
  return files;
}

}  // namespace tessera
