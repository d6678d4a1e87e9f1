#include "tessera/cli/loopnest_arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/cli/choices.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/part.h"

namespace tessera {
namespace {

bool IsZooName(const std::string& name) {
  return std::ranges::any_of(Zoo(), [&](const ZooFile& file) { return file.name == name; });
}

Result<std::vector<LoopLayer>> LoadProblem(const NetworkArgument& argument) {
  if (!argument.bind.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--bind is for networks, and this is a Timeloop problem"};
  }
  Result<LoopProblem> problem = LoadTimeloopProblem(argument.name);
  if (!problem) return problem.error();
  if (argument.bits) {
    const Result<TensorBits> bits = ParseTensorBits(*argument.bits);
    if (!bits) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = "--bits: " + bits.error().message,
                   .hint = bits.error().hint};
    }
    SetBits(*bits, *problem);
  }
  const std::string name = FileStem(argument.name);
  if (argument.layer && *argument.layer != name && *argument.layer != "1") {
    return Error{
        .kind = ErrorKind::kUnknownName,
        .message = fmt::format("no layer {} in {}", Quoted(*argument.layer), argument.name),
        .hint = fmt::format("its only layer is {}", Quoted(name))};
  }
  return std::vector<LoopLayer>{{.name = name, .problem = *problem}};
}

// A remark about a part of the file that somebody else reads.
bool IsOtherPart(const std::string& note) {
  return note.starts_with("'problem' on line ") || note.starts_with("'mapping' on line ") ||
         note.starts_with("'ERT' on line ");
}

}  // namespace

Flag SemanticsFlag(std::optional<std::string>& semantics, std::string_view help) {
  return {.name = "--semantics",
          .target = &semantics,
          .help = help,
          .value = "S",
          .choices = AsChoices<loopnest::kSemanticsNames>,
          .closed = true};
}

Flag EnergyFlag(std::vector<std::string>& files) {
  return {.name = "--energy",
          .target = &files,
          .help = "energy table to put into the accelerator: Tessera's own, or an ERT of Accelergy",
          .value = "FILE"};
}

std::optional<loopnest::Semantics> SemanticsOf(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return loopnest::FindSemantics(*name);
}

Result<std::vector<LoopLayer>> LoadLoopLayers(const NetworkArgument& argument) {
  if (!IsZooName(argument.name) && FileHasKey(argument.name, {"problem"})) {
    return LoadProblem(argument);
  }
  const Result<Network> network = Load(argument);
  if (!network) return network.error();
  std::vector<LoopLayer> layers;
  for (const NetworkLayer& layer : network->layers) {
    const Result<LoopProblem> problem = MakeLoopProblem(layer.layer);
    if (!problem) {
      Error error = problem.error();
      error.message = fmt::format("layer {}: {}", Quoted(layer.name), error.message);
      return error;
    }
    layers.push_back({.name = layer.name, .count = layer.count, .problem = *problem});
  }
  return layers;
}

Result<Accelerator> LoadLoopMachine(const std::string& name, const std::vector<std::string>& energy,
                                    Context& context) {
  Result<Accelerator> machine = LoadAccelerator(name);
  if (!machine) return machine.error();
  if (!machine->hierarchy) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("model 'loopnest' needs an accelerator with a memory "
                                        "hierarchy, and {} has none",
                                        Quoted(name)),
                 .hint = "use one such as 'eyeriss-256', or model 'maestro'"};
  }
  for (const std::string& file : energy) {
    const Result<std::vector<std::string>> notes = ApplyEnergyFile(file, *machine);
    if (!notes) return notes.error();
    for (const std::string& note : *notes) context.remark(note);
  }
  for (const std::string& note : machine->notes) {
    if (!IsOtherPart(note)) context.remark(note);
  }
  return machine;
}

}  // namespace tessera
