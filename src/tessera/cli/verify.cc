// tessera verify: every number of a run, computed again.
#include "tessera/mapper/verify.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/cli/command.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

struct VerifyArguments {
  std::string run;
  int64_t audit = 0;
};

std::vector<Flag> Flags(VerifyArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that tessera map --out made",
           .required = true},
          {.name = "--audit",
           .target = &arguments.audit,
           .help = "repeat the proofs and price up to so many random mappings per pruning rule and "
                   "layer",
           .value = "N",
           .least = 1}};
}

Result<void> ShowAudit(const AuditResult& audit, Context& context) {
  Table table({"rule", "audited", "violations", "tightest"});
  for (const RuleVerification& rule : audit.rules) {
    table.Add(rule.rule, rule.audited, rule.violations, rule.tightest);
  }
  return context.output.Show(table, "audit");
}

Result<void> ShowVerdict(const Verification& verification,
                         const std::vector<Discrepancy>& discrepancies, Context& context) {
  context.output.Set("verified", discrepancies.empty());
  if (discrepancies.empty()) {
    context.output.Set("discrepancies", Json::array());
    int64_t numbers = verification.total_numbers, trials = 0, files = 0;
    for (const LayerVerification& layer : verification.layers) {
      numbers += layer.numbers;
      trials += layer.trials;
      files += layer.files;
    }
    return context.output.ShowText(fmt::format(
        "verified: {} numbers computed again, {} evaluations repeated, {} files compared\n",
        WithThousands(numbers), WithThousands(trials), WithThousands(files)));
  }
  Table wrong({"what", "reported", "computed"});
  for (const Discrepancy& discrepancy : discrepancies) {
    wrong.Add(discrepancy.what, discrepancy.reported, discrepancy.computed);
  }
  if (Result<void> shown = context.output.Show(wrong, "discrepancies"); !shown) return shown;
  const Discrepancy& first = discrepancies.front();
  return Error{
      .kind = ErrorKind::kBadValue,
      .message = fmt::format("{} of what the run reports is wrong; the first: {} is {}, but should "
                             "be {}",
                             discrepancies.size(), first.what, first.reported, first.computed)};
}

Result<void> Run(const VerifyArguments& arguments, Context& context) {
  const Result<RunDirectory> directory = RunDirectory::Open(arguments.run);
  if (!directory) return directory.error();
  const auto threads = static_cast<int>(context.options.threads);
  const Result<Verification> verification = VerifyRun(*directory, threads);
  if (!verification) return verification.error();
  Table layers({"layer", "numbers", "evaluations", "files", "mapping", "bound"});
  for (const LayerVerification& layer : verification->layers) {
    layers.Add(layer.name, layer.numbers, layer.trials, layer.files, layer.mapping, layer.bound);
  }
  if (Result<void> shown = context.output.Show(layers, "layers"); !shown) return shown;
  std::vector<Discrepancy> discrepancies = verification->discrepancies;
  if (arguments.audit > 0) {
    const Result<AuditResult> audit = AuditRun(*directory, threads, arguments.audit);
    if (!audit) return audit.error();
    if (Result<void> shown = ShowAudit(*audit, context); !shown) return shown;
    discrepancies.insert(discrepancies.end(), audit->discrepancies.begin(),
                         audit->discrepancies.end());
  }
  return ShowVerdict(*verification, discrepancies, context);
}

}  // namespace

extern const Command kVerifyCommand = {
    .name = "verify",
    .summary = "check every number of a run by computing it again",
    .examples = {{"tessera verify runs/bert", "reported mappings, totals and the whole journal"},
                 {"tessera verify runs/bert --audit 10000",
                  "the proofs too: random mappings below everything that they left out"},
                 {"tessera verify runs/bert --json",
                  "what was checked and what disagrees, as JSON"}},
    .bind = Bind<VerifyArguments, Flags, Run>,
    .details =
        "Mappings are read from their text, checked for legality and priced again without the\n"
        "code that searched: by the cost model, and for small layers also by walking every\n"
        "iteration. Bounds, gaps, statuses and totals are computed again; proved bounds are "
        "compared\n"
        "with the journal of the proof and with random mappings; all evaluations of the journals "
        "are\n"
        "repeated; exported files are compared with the mappings. Exit code 3: something does not\n"
        "agree.\n"};

}  // namespace tessera
