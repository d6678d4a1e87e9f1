// tessera verify: every number of a run, computed again.
#include "tessera/run/verify.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/cli/command.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

struct VerifyArguments {
  std::string run;
};

std::vector<Flag> Flags(VerifyArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that tessera map --out made",
           .required = true}};
}

Result<void> Run(const VerifyArguments& arguments, Context& context) {
  const Result<RunDirectory> directory = RunDirectory::Open(arguments.run);
  if (!directory) return directory.error();
  const Result<Verification> verification =
      VerifyRun(*directory, static_cast<int>(context.options.threads));
  if (!verification) return verification.error();
  Table layers({"layer", "numbers", "evaluations", "files"});
  int64_t numbers = verification->total_numbers, trials = 0, files = 0;
  for (const LayerVerification& layer : verification->layers) {
    layers.Add(layer.name, layer.numbers, layer.trials, layer.files);
    numbers += layer.numbers;
    trials += layer.trials;
    files += layer.files;
  }
  if (Result<void> shown = context.output.Show(layers, "layers"); !shown) return shown;
  for (const std::string& what : verification->unchecked) {
    if (Result<void> shown = context.output.ShowText("not checked: " + what + "\n"); !shown) {
      return shown;
    }
  }
  Table wrong({"what", "reported", "computed"});
  for (const Discrepancy& discrepancy : verification->discrepancies) {
    wrong.Add(discrepancy.what, discrepancy.reported, discrepancy.computed);
  }
  context.output.Set("verified", verification->discrepancies.empty());
  context.output.Set("unchecked", verification->unchecked);
  if (verification->discrepancies.empty()) {
    context.output.Set("discrepancies", Json::array());
    return context.output.ShowText(fmt::format(
        "verified: {} numbers computed again, {} evaluations repeated, {} files compared\n",
        WithThousands(numbers), WithThousands(trials), WithThousands(files)));
  }
  if (Result<void> shown = context.output.Show(wrong, "discrepancies"); !shown) return shown;
  const Discrepancy& first = verification->discrepancies.front();
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format(
                   "{} of what the run reports is wrong; the first: {} is {}, but "
                   "should be {}",
                   verification->discrepancies.size(), first.what, first.reported, first.computed)};
}

}  // namespace

extern const Command kVerifyCommand = {
    .name = "verify",
    .summary = "check every number of a run by computing it again",
    .examples = {{"tessera verify runs/bert", "reported mappings, totals and the whole journal"},
                 {"tessera verify runs/bert --json",
                  "what was checked and what disagrees, as JSON"}},
    .bind = Bind<VerifyArguments, Flags, Run>,
    .details =
        "Mappings are read from their text, checked for legality and priced again; bounds, gaps,\n"
        "statuses and totals are computed again; all evaluations of the journals are repeated;\n"
        "exported files are compared with the mappings. Exit code 3: something does not agree.\n"};

}  // namespace tessera
