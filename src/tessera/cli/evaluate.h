// What `tessera evaluate` is asked for, and who answers. The evaluator of a model is one file that
// ends in a ModelEvaluator, and one line in evaluators.cc; models without one are evaluated by
// evaluate_any.cc.
#ifndef TESSERA_CLI_EVALUATE_H_
#define TESSERA_CLI_EVALUATE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cli/batch.h"
#include "tessera/cli/command.h"
#include "tessera/cli/maestro_arguments.h"
#include "tessera/cli/model_arguments.h"
#include "tessera/cost.h"
#include "tessera/report/evaluation.h"
#include "tessera/result.h"

namespace tessera {

struct EvaluateArguments {
  EvaluateArguments();

  std::optional<std::string> model;
  std::string mapping;   // a file
  std::string hardware;  // a file or the name of a preset
  std::string batch;     // a file of rows
  std::optional<std::string> layer;
  bool explain = false;

  // Evaluators whose mapping files do not bring their layer along: what is mapped, a network or a
  // Timeloop problem, and values of the network's symbolic sizes.
  std::string network;
  std::vector<std::string> bind;
  std::optional<std::string> bits;

  // Evaluators of dataflows: MAESTRO's flags for the machine, and its choices.
  MaestroArguments maestro;

  // Model loopnest.
  std::optional<std::string> semantics;
  std::vector<std::string> energy;  // files with energy tables
  std::string timeloop;             // version of Timeloop to write files for

  // Settings of models that have no flags of their own above.
  ModelArguments settings;
};

struct ModelEvaluator {
  std::string_view model;  // whose mappings it evaluates

  // Extension of mapping files that are this model's unless --model says otherwise; empty: none.
  std::string_view mapping_extension = {};

  // Whether it needs NETWORK. Default: false.
  bool takes_network = false;

  // Its flags beyond those that all evaluators share, and whether these include all settings of the
  // model; settings that they do not include become flags of their own. Default: none, no.
  std::vector<Flag> (*flags)(EvaluateArguments& arguments) = nullptr;
  bool declares_settings = false;

  Result<void> (*run)(const EvaluateArguments& arguments, const CostModelChoice& model,
                      Context& context);
};

// All of them, in the order of their flags in --help.
std::span<const ModelEvaluator* const> ModelEvaluators();

// The evaluator of a model; null: it has none of its own.
const ModelEvaluator* FindEvaluator(const CostModelInfo& model);

// Complaints first, then what was evaluated.
Result<void> Show(EvaluationView view, Context& context);

// Evaluates a mapping as `tessera map` writes it (mappings/*.json) with any model.
Result<void> EvaluateAny(const EvaluateArguments& arguments, const CostModelChoice& model,
                         Context& context);

// Whether a NETWORK argument is the folder of a run; and its mappings, evaluated on the run's
// machine or on another one.
bool IsRun(const std::string& path);
Result<void> EvaluateRun(const EvaluateArguments& arguments, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_EVALUATE_H_
