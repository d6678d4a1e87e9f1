// What `tessera evaluate` is asked for. Each model is one file behind it that reads what concerns
// it: evaluate_maestro.cc, evaluate_external.cc, ...; evaluate.cc declares the flags and picks the
// model.
#ifndef TESSERA_CLI_EVALUATE_H_
#define TESSERA_CLI_EVALUATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/external_arguments.h"
#include "tessera/cli/maestro_arguments.h"

namespace tessera {

// Choices of model `loopnest`.
struct LoopnestArguments {
  std::string network;            // what is mapped: a network, or a Timeloop problem
  std::vector<std::string> bind;  // values of the network's symbolic sizes
  std::optional<std::string> semantics;
  std::vector<std::string> energy;  // files with energy tables
  std::string timeloop;             // version of Timeloop to write files for
};

struct EvaluateArguments {
  std::optional<std::string> model;
  std::string mapping;   // a file
  std::string hardware;  // a file or the name of a preset
  std::string batch;     // a file of rows
  std::optional<std::string> layer;
  bool explain = false;
  MaestroArguments maestro;
  ExternalOptions external;  // limits; the command is in `model`
  LoopnestArguments loopnest;
};

std::vector<Flag> LoopnestFlags(LoopnestArguments& arguments);

Result<void> EvaluateMaestro(const EvaluateArguments& arguments, Context& context);
Result<void> EvaluateLoopnest(const EvaluateArguments& arguments, Context& context);
Result<void> EvaluateExternal(const std::string& command, const EvaluateArguments& arguments,
                              Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_EVALUATE_H_
