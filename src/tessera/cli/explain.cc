// tessera explain: why the mappings of a run cost what they cost.
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/map.h"
#include "tessera/report/explain_report.h"

namespace tessera {
namespace {

struct ExplainArguments {
  std::string run;
  std::string layer;
};

std::vector<Flag> Flags(ExplainArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that map or compare made with --out",
           .required = true},
          {.name = "--layer",
           .target = &arguments.layer,
           .help = "only this layer, with its loop nest: its name or its 1-based index",
           .value = "LAYER"}};
}

Result<void> Run(const ExplainArguments& arguments, Context& context) {
  const Result<RunDirectory> directory = RunDirectory::ReadOnly(arguments.run);
  if (!directory) return directory.error();
  const Result<RunExplanation> run = ExplainRun(*directory, {.layer = arguments.layer});
  if (!run) return run.error();
  context.output.SetAll(ToJson(*run));
  if (run->layers.size() == 1) return context.output.ShowText(LayerText(run->layers.front()));
  return context.output.ShowText(ToText(ExplainTable(*run)));
}

}  // namespace

extern const Command kExplainCommand = {
    .name = "explain",
    .summary = "why a run's mappings cost what they cost",
    .examples = {{"tessera explain runs/resnet", "what limits each layer, and where energy goes"},
                 {"tessera explain runs/resnet --layer conv1",
                  "energy, traffic, occupancy, roofline and bounds of one layer"},
                 {"tessera explain runs/resnet --json", "all of it, for programs"}},
    .bind = Bind<ExplainArguments, Flags, Run>,
    .details =
        "Mappings are priced again, part by part; of a run of compare it is the best one found.\n"
        "'cycles_if_lifted' are the cycles of the same mapping on a machine in which the limit is\n"
        "infinitely fast. Networks and addresses count with the level above. docs/explain.md.\n"};

}  // namespace tessera
