// tessera verify: every number of a run, computed again, whatever its kind.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/report/run_views.h"
#include "tessera/report/table.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct VerifyArguments {
  std::string run;
  int64_t audit = 0;
  double seconds = VerifyOptions{}.seconds;
  bool allow_exec = false;
};

std::vector<Flag> Flags(VerifyArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.run,
           .help = "folder that a command made with --out",
           .required = true},
          {.name = "--audit",
           .target = &arguments.audit,
           .help = "of map: repeat the proofs and price up to so many random mappings per pruning "
                   "rule and layer",
           .value = "N",
           .least = 1},
          {.name = "--seconds",
           .target = &arguments.seconds,
           .help = "time for proofs and training to be done again; the rest is listed as trusted",
           .value = "S",
           .least = 0},
          {.name = "--allow-exec",
           .target = &arguments.allow_exec,
           .help = "run the program that the run evaluates with (model exec:COMMAND)"}};
}

Result<void> ShowAudit(const AuditResult& audit, Context& context) {
  Table table({"rule", "audited", "violations", "tightest"});
  for (const RuleVerification& rule : audit.rules) {
    table.Add(rule.rule, rule.audited, rule.violations, rule.tightest);
  }
  return context.output.Show(table, "audit");
}

Result<void> ShowParts(const Verification& found, Context& context) {
  std::vector<std::string> columns = {found.part, "numbers", "evaluations", "files"};
  columns.insert(columns.end(), found.remarks.begin(), found.remarks.end());
  Table table(columns);
  for (const CheckedPart& part : found.parts) {
    std::vector<Cell> row = {part.name, part.numbers, part.trials, part.files};
    row.insert(row.end(), part.remarks.begin(), part.remarks.end());
    table.AddRow(std::move(row));
  }
  return context.output.Show(table, found.part + "s");
}

Result<void> ShowVerdict(const Verification& found, Context& context) {
  context.output.Set("verified", found.discrepancies.empty());
  context.output.Set("trusted", found.trusted);
  for (const std::string& trusted : found.trusted) {
    if (Result<void> shown = context.output.ShowText("taken on trust: " + trusted + "\n"); !shown) {
      return shown;
    }
  }
  if (found.discrepancies.empty()) {
    context.output.Set("discrepancies", Json::array());
    int64_t numbers = found.total_numbers, trials = 0, files = found.total_files;
    for (const CheckedPart& part : found.parts) {
      numbers += part.numbers;
      trials += part.trials;
      files += part.files;
    }
    return context.output.ShowText(fmt::format(
        "verified: {} numbers computed again, {} evaluations repeated, {} files compared\n",
        WithThousands(numbers), WithThousands(trials), WithThousands(files)));
  }
  Table wrong({"what", "reported", "computed"});
  for (const Discrepancy& discrepancy : found.discrepancies) {
    wrong.Add(discrepancy.what, discrepancy.reported, discrepancy.computed);
  }
  if (Result<void> shown = context.output.Show(wrong, "discrepancies"); !shown) return shown;
  const Discrepancy& first = found.discrepancies.front();
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format(
                   "{} of what the run reports is wrong; the first: {} is {}, but should "
                   "be {}",
                   found.discrepancies.size(), first.what, first.reported, first.computed)};
}

void Append(const std::vector<Discrepancy>& more, Verification& found) {
  found.discrepancies.insert(found.discrepancies.end(), more.begin(), more.end());
}

// The result that was computed again, shown as the run's was, has to be what the folder holds.
Result<Verification> VerifyFolder(const RunKind& kind, const RunDirectory& directory,
                                  const VerifyOptions& options) {
  Result<RunVerification> verification = kind.verify(directory, options);
  if (!verification) return verification.error();
  Verification found = std::move(verification->found);
  if (verification->again != nullptr) {
    const Result<RunView> view = ViewOf(kind.name, *verification->again);
    if (!view) return view.error();
    CompareWithView(directory, *view, found);
  }
  const Verification files = directory.CheckFiles();
  if (StopRequested()) {
    return Error{.kind = ErrorKind::kInterrupted, .message = "interrupted while comparing files"};
  }
  Append(files.discrepancies, found);
  found.total_files += files.total_files;
  return found;
}

Result<void> Run(const VerifyArguments& arguments, Context& context) {
  const Result<RunDirectory> directory = RunDirectory::ReadOnly(arguments.run);
  if (!directory) return directory.error();
  const Result<const RunKind*> kind = KindOf(*directory);
  if (!kind) return kind.error();
  if (Result<void> may = (*kind)->check_exec(*directory, arguments.allow_exec); !may) return may;
  if (!directory->header().ended()) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("{} has no results: the run has not ended", directory->path()),
        .hint = fmt::format("finish it with 'tessera resume {}'", directory->path())};
  }
  const VerifyOptions options{.threads = static_cast<int>(context.options.threads),
                              .seconds = arguments.seconds};
  Result<Verification> found = VerifyFolder(**kind, *directory, options);
  if (!found) return found.error();
  if (Result<void> shown = ShowParts(*found, context); !shown) return shown;
  if (arguments.audit > 0) {
    if ((*kind)->name != kMapRun) {
      return Error{.kind = ErrorKind::kUsage, .message = "--audit is for runs of map"};
    }
    const Result<AuditResult> audit = AuditRun(*directory, options.threads, arguments.audit);
    if (!audit) return audit.error();
    if (Result<void> shown = ShowAudit(*audit, context); !shown) return shown;
    Append(audit->discrepancies, *found);
  }
  return ShowVerdict(*found, context);
}

}  // namespace

extern const Command kVerifyCommand = {
    .name = "verify",
    .summary = "check every number of a run by computing it again",
    .examples = {{"tessera verify runs/bert", "reported mappings, totals and the whole journal"},
                 {"tessera verify runs/bert --audit 10000",
                  "the proofs too: random mappings below everything that they left out"},
                 {"tessera verify runs/agents --seconds 600",
                  "training again, for up to ten minutes"},
                 {"tessera verify runs/bert --json",
                  "what was checked and what disagrees, as JSON"}},
    .bind = Bind<VerifyArguments, Flags, Run>,
    .details =
        "Runs of map, compare, cooptimize and train; nothing is written, and nothing outside the\n"
        "folder is read. All evaluations and measurements of the journals are repeated, and the\n"
        "result is computed from them again; of map, mappings are read from their text and priced\n"
        "without the code that searched, for small layers also by walking every iteration, and\n"
        "proofs are repeated for --seconds. Of train, episodes are repeated for --seconds. What\n"
        "was not repeated is listed as taken on trust. Hashes of all files are compared with\n"
        "run.json. Exit code 3: something does not agree.\n"};

}  // namespace tessera
