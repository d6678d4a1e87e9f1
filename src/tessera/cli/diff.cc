// tessera diff: two runs side by side, with where their energies differ.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/map.h"
#include "tessera/report/diff_report.h"

namespace tessera {
namespace {

struct DiffArguments {
  std::string a, b;
  std::string layer;
};

std::vector<Flag> Flags(DiffArguments& arguments) {
  return {{.name = "RUN1",
           .target = &arguments.a,
           .help = "folder that map or compare made with --out",
           .required = true},
          {.name = "RUN2", .target = &arguments.b, .help = "another one", .required = true},
          {.name = "--layer",
           .target = &arguments.layer,
           .help = "only this layer, with both mappings: its name or its 1-based index",
           .value = "LAYER"}};
}

Result<RunExplanation> Load(const std::string& folder, const std::string& layer) {
  const Result<RunDirectory> directory = RunDirectory::ReadOnly(folder);
  if (!directory) return directory.error();
  return ExplainRun(*directory, {.layer = layer});
}

Result<void> Run(const DiffArguments& arguments, Context& context) {
  Result<RunExplanation> a = Load(arguments.a, arguments.layer);
  if (!a) return a.error();
  Result<RunExplanation> b = Load(arguments.b, arguments.layer);
  if (!b) return b.error();
  const RunDiff diff = DiffRuns(*std::move(a), *std::move(b));
  context.output.SetAll(ToJson(diff));
  if (!arguments.layer.empty()) {
    for (const RunExplanation* run : {&diff.a, &diff.b}) {
      Result<void> shown = context.output.ShowText(
          fmt::format("{}:\n{}\n", run->folder, MappingText(run->layers.front())));
      if (!shown) return shown;
    }
  }
  return context.output.ShowText(ToText(DiffTable(diff)) + "\n" + ToText(PartTable(diff.parts)));
}

}  // namespace

extern const Command kDiffCommand = {
    .name = "diff",
    .summary = "how two runs differ, by layer, level and tensor",
    .examples = {{"tessera diff runs/small runs/large",
                  "layers side by side; where energy changed"},
                 {"tessera diff runs/a runs/b --layer conv1", "both mappings of one layer"},
                 {"tessera diff runs/a runs/b --json", "both sides in full, with differences"}},
    .bind = Bind<DiffArguments, Flags, Run>,
    .details =
        "Layers belong together by name, or by equal sizes. Differences are RUN2 minus RUN1, in\n"
        "pJ by level and tensor; those of the network count each layer as often as it occurs.\n"};

}  // namespace tessera
