// tessera bound: lower bounds of every layer on an accelerator, without search.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/accelerator_argument.h"
#include "tessera/cli/command.h"
#include "tessera/cli/loopnest_arguments.h"
#include "tessera/cost.h"
#include "tessera/part.h"
#include "tessera/report/loopnest_report.h"

namespace tessera {
namespace {

struct BoundArguments {
  NetworkArgument network;
  std::string accelerator;
  std::vector<std::string> energy;
  std::optional<std::string> semantics;
  std::vector<std::string> keep;
  bool any_keep = false;
  bool levels = false;
};

std::vector<Flag> Flags(BoundArguments& arguments) {
  std::vector<Flag> flags = NetworkFlags(arguments.network);
  flags.push_back(BitsFlag(arguments.network.bits));
  flags.push_back(AcceleratorFlag(arguments.accelerator));
  flags.push_back(EnergyFlag(arguments.energy));
  flags.push_back(SemanticsFlag(
      arguments.semantics,
      "bounds of exact, timeloop3 or timeloop4 (3.0.3 with the stride rule of v4, not checked "
      "against a v4 binary) (default: exact)"));
  flags.push_back({.name = "--keep",
                   .target = &arguments.keep,
                   .help = "tensors that a level holds, as in GLB=Inputs,Outputs "
                           "(default: what the accelerator says, otherwise what a mapping likes)",
                   .value = "LEVEL=TENSORS"});
  flags.push_back(
      {.name = "--any-keep",
       .target = &arguments.any_keep,
       .help = "let mappings choose what each level holds, whatever the accelerator says"});
  flags.push_back({.name = "--levels",
                   .target = &arguments.levels,
                   .help = "also traffic, cycles and energy of every level"});
  return flags;
}

Error UnknownLevel(const Hierarchy& hierarchy, std::string_view name) {
  std::vector<std::string_view> names;
  for (const MemoryLevel& level : hierarchy.levels) names.push_back(level.name);
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("--keep: the accelerator has no level {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

// Which tensors each level holds: of the flags, of the accelerator, or what a mapping chooses.
Result<std::vector<uint8_t>> KeepOf(const BoundArguments& arguments, const LoopProblem& problem,
                                    const Hierarchy& hierarchy) {
  std::vector<uint8_t> keep;
  if (arguments.any_keep) return keep;
  keep = KeepSets(problem, hierarchy);
  if (keep.empty() && arguments.keep.empty()) return keep;
  if (keep.empty()) keep.assign(hierarchy.levels.size(), 0xff);
  for (const std::string& text : arguments.keep) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("--keep: {} has no '='", Quoted(text)),
                   .hint = "write --keep GLB=Inputs,Outputs"};
    }
    const std::string name = text.substr(0, equals);
    size_t level = 0;
    while (level < hierarchy.levels.size() && hierarchy.levels[level].name != name) ++level;
    if (level == hierarchy.levels.size()) return UnknownLevel(hierarchy, name);
    keep[level] = 0;
    for (const std::string_view item : Split(std::string_view(text).substr(equals + 1), ',')) {
      if (Trim(item).empty()) continue;
      const std::optional<int> tensor = FindTensorOrRole(problem, Trim(item));
      if (!tensor) {
        std::vector<std::string_view> names;
        for (const LoopTensor& t : problem.tensor_view()) names.push_back(t.name.view());
        return Error{.kind = ErrorKind::kUnknownName,
                     .message = fmt::format("--keep: unknown tensor {}", Quoted(Trim(item))),
                     .hint = DidYouMean(Trim(item), names)};
      }
      keep[level] = static_cast<uint8_t>(keep[level] | 1u << *tensor);
    }
  }
  return keep;
}

Result<void> Run(const BoundArguments& arguments, Context& context) {
  if (arguments.any_keep && !arguments.keep.empty()) {
    return Error{.kind = ErrorKind::kUsage, .message = "--keep and --any-keep exclude each other"};
  }
  const Result<std::vector<LoopLayer>> layers = LoadLoopLayers(arguments.network);
  if (!layers) return layers.error();
  const Result<Accelerator> machine =
      LoadLoopMachine(arguments.accelerator, arguments.energy, context);
  if (!machine) return machine.error();
  const loopnest::Semantics semantics =
      SemanticsOf(arguments.semantics).value_or(loopnest::Semantics::kExact);

  std::vector<BoundReport> reports;
  Json rows = Json::array();
  double energy_pj = 0;
  for (const LoopLayer& layer : *layers) {
    const Result<std::vector<uint8_t>> keep = KeepOf(arguments, layer.problem, *machine->hierarchy);
    if (!keep) return keep.error();
    const Result<LoopBounds> bounds =
        LowerBounds(layer.problem, *machine->hierarchy, {.semantics = semantics, .keep = *keep});
    if (!bounds) return bounds.error();
    reports.push_back({layer.name, layer.count, layer.problem, *bounds});
    Json row = {
        {"layer", layer.name}, {"count", layer.count}, {"problem", ToString(layer.problem)}};
    row["bound"] = ToJson(*bounds, layer.problem);
    rows.push_back(std::move(row));
    energy_pj += static_cast<double>(layer.count) * bounds->energy_pj;
  }
  const Result<int64_t> cycles = TotalCycles(reports);
  if (!cycles) return cycles.error();
  context.output.SetAll({{"accelerator", machine->name},
                         {"semantics", loopnest::kSemanticsNames[static_cast<size_t>(semantics)]},
                         {"layers", std::move(rows)},
                         {"total", {{"cycles", *cycles}, {"energy_pj", energy_pj}}}});
  if (context.output.json()) return {};
  if (Result<void> shown = context.output.Show(BoundTable(reports)); !shown) return shown;
  if (arguments.levels) {
    Result<void> shown = context.output.ShowText("\n" + ToText(BoundLevelTable(reports)));
    if (!shown) return shown;
  }
  return context.output.ShowText(
      fmt::format("\nall layers one after another: at least {} cycles and {:.6g} uJ\n", *cycles,
                  energy_pj / 1e6));
}

}  // namespace

extern const Command kBoundCommand = {
    .name = "bound",
    .summary = "lower bounds of every layer, no search",
    .examples = {{"tessera bound resnet18 --accelerator eyeriss-256",
                  "cycles, energy and EDP below which no mapping gets"},
                 {"tessera bound problem.yaml --accelerator arch.yaml --levels",
                  "a Timeloop problem, with traffic and cycles of every level"},
                 {"tessera bound vgg16 --layer 2 --accelerator simba --keep WBuf=Weights --json",
                  "with the tensors that a level holds, for scripts"}},
    .bind = Bind<BoundArguments, Flags, Run>,
    .details =
        "A bound holds for every mapping that model 'loopnest' accepts and that holds the same\n"
        "tensors at the same levels; with --any-keep, and for accelerators that do not say what\n"
        "their levels hold, for every mapping at all. docs/bounds.md derives each bound and lists "
        "what it assumes."};

}  // namespace tessera
