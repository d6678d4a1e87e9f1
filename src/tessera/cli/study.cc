// tessera study: many mappings as one run, on this machine, in parts, or on a cluster.
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/cli/run_output.h"
#include "tessera/cli/study_lines.h"
#include "tessera/part.h"
#include "tessera/report/json.h"
#include "tessera/report/study_report.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct StudyArguments {
  std::vector<std::string> paths;
  std::string part;
  bool collect = false;
  std::optional<std::string> query;
  bool plan = false;
  std::vector<std::string> units;
  bool add = false;
  bool retry = false;
  bool allow_exec = false;
};

std::vector<Flag> Flags(StudyArguments& arguments) {
  return {{.name = "FILE",
           .target = &arguments.paths,
           .help = "a study (docs/cluster.md), or the folder of one",
           .required = true},
          {.name = "--part",
           .target = &arguments.part,
           .help = "of N equal parts only the I-th: units I, I+N, I+2N, ...",
           .value = "I/N"},
          {.name = "--collect",
           .target = &arguments.collect,
           .help = "merge the folders of runs of one study, into --out if it is given"},
          {.name = "--query",
           .target = &arguments.query,
           .help = "ask the store of a folder, also while the study runs",
           .value = "SQL"},
          {.name = "--retry", .target = &arguments.retry, .help = "try units that failed again"},
          {.name = "--plan",
           .target = &arguments.plan,
           .help = "make the folder and list the units, compute none"},
          {.name = "--unit",
           .target = &arguments.units,
           .help = "compute these units of a folder and print their records, one line each; "
                   "writes nothing",
           .value = "N,N",
           .commas = true},
          {.name = "--add",
           .target = &arguments.add,
           .help = "take records from standard input into a folder, as they come"},
          {.name = "--allow-exec",
           .target = &arguments.allow_exec,
           .help = "run the programs that units evaluate with (model exec:COMMAND)"}};
}

Error Usage(std::string message, std::string hint = "see 'tessera study --help'") {
  return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

// At most one of the things that the command does.
Result<void> CheckModes(const StudyArguments& arguments) {
  const std::pair<bool, std::string_view> modes[] = {
      {arguments.collect, "--collect"}, {arguments.query.has_value(), "--query"},
      {arguments.plan, "--plan"},       {!arguments.units.empty(), "--unit"},
      {arguments.add, "--add"},         {arguments.retry, "--retry"}};
  std::string_view chosen;
  for (const auto& [given, name] : modes) {
    if (!given) continue;
    if (!chosen.empty()) return Usage(fmt::format("{} and {} do not go together", chosen, name));
    chosen = name;
  }
  if (!arguments.collect && arguments.paths.size() > 1) {
    return Usage(fmt::format("{} files are given, but a study is one", arguments.paths.size()),
                 "merge runs of parts with --collect");
  }
  return {};
}

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// The run of a folder, or of a file in --out.
Result<RunDirectory> OpenRun(const StudyArguments& arguments, const Context& context) {
  const std::string& path = arguments.paths.front();
  if (IsFolder(path)) {
    if (!arguments.part.empty()) return Usage("--part is for a study file, not for its folder");
    return RunDirectory::Open(path);
  }
  StudyPart part;
  if (!arguments.part.empty()) {
    const Result<StudyPart> parsed = ParseStudyPart(arguments.part);
    if (!parsed) return parsed.error();
    part = *parsed;
  }
  if (context.options.out.empty()) {
    return Usage("a study needs a folder for its results", "add --out DIR");
  }
  return CreateStudyRun(context.options.out, path, part, context.origin);
}

// A folder of another kind of run is no study, and its programs are not ours to start.
Result<void> CheckStudy(const RunDirectory& directory, bool allow_exec) {
  if (directory.header().kind != kStudyRun) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} is a run of {}, not of a study", directory.path(),
                                        Quoted(directory.header().kind))};
  }
  const Result<const RunKind*> kind = KindOf(directory);
  return kind ? (*kind)->check_exec(directory, allow_exec) : kind.error();
}

Result<void> Query(const StudyArguments& arguments, Context& context) {
  const Result<StudyRows> found =
      QueryStudy(arguments.paths.front(), *arguments.query, context.stopped);
  if (!found) return found.error();
  Table table(found->columns);
  for (const std::vector<StudyValue>& row : found->rows) {
    std::vector<Cell> cells;
    for (const StudyValue& value : row) {
      cells.push_back(std::visit(
          [](const auto& held) -> Cell {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
              return {};
            } else {
              return held;
            }
          },
          value));
    }
    table.AddRow(std::move(cells));
  }
  return context.output.Show(table, "rows");
}

Result<void> Collect(const StudyArguments& arguments, Context& context) {
  if (context.options.out.empty()) {
    Result<std::unique_ptr<StudyRunResult>> result = CollectStudies(arguments.paths);
    if (!result) return result.error();
    return ShowRun(kStudyRun, std::unique_ptr<RunResult>(*std::move(result)), context);
  }
  Result<RunDirectory> directory =
      CollectStudiesInto(context.options.out, arguments.paths, context.origin);
  if (!directory) return directory.error();
  const Result<std::unique_ptr<StudyRunResult>> result = LoadStudyRun(*directory);
  if (!result) return result.error();
  return EndRun(*directory, **result, context);
}

// --unit: records as lines, whatever --json says, because that is what they are.
Result<void> PrintUnits(const StudyArguments& arguments, Context& context) {
  const Result<RunDirectory> directory = RunDirectory::ReadOnly(arguments.paths.front());
  if (!directory) return directory.error();
  if (Result<void> may = CheckStudy(*directory, arguments.allow_exec); !may) return may;
  Json rows = Json::array();
  for (const std::string& text : arguments.units) {
    const Result<int64_t> number = ParseInt(text);
    if (!number) return Usage(fmt::format("--unit is {}, but must be a number", Quoted(text)));
    const Result<std::string> record = ComputeStudyUnit(*directory, *number, RunContextOf(context));
    if (!record) return record.error();
    if (Result<void> shown = context.output.ShowText(*record + "\n"); !shown) return shown;
    if (context.output.json()) rows.push_back(FromText(*record));
  }
  context.output.Set("records", std::move(rows));
  return {};
}

Result<void> ShowPlan(const RunDirectory& directory, Context& context) {
  const Result<std::unique_ptr<StudyRunResult>> result = LoadStudyRun(directory);
  if (!result) return result.error();
  const StudyRunResult& study = **result;
  context.output.Set("study", study.name);
  context.output.Set("id", study.id);
  Table table({"unit", "id", "network", "layer", "accelerator", "model", "objective", "method",
               "seed", "cores", "memory_mib", "state"});
  for (size_t i = 0; i < study.units.size(); ++i) {
    const StudyUnit& unit = study.units[i];
    table.Add(unit.number, unit.id, unit.network, unit.layer.empty() ? Cell() : Cell(unit.layer),
              unit.accelerator, unit.model, unit.objective, unit.method, unit.seed, unit.cores,
              unit.memory_mib, study.records[i].empty() ? "open" : "done");
  }
  return context.output.Show(table, "units");
}

Result<void> Run(const StudyArguments& arguments, Context& context) {
  if (Result<void> modes = CheckModes(arguments); !modes) return modes;
  if (context.options.seed_given) return Usage("--seed is not for studies", "the file has 'seeds'");
  if (arguments.query) return Query(arguments, context);
  if (arguments.collect) return Collect(arguments, context);
  if (!arguments.units.empty()) return PrintUnits(arguments, context);
  Result<RunDirectory> directory = OpenRun(arguments, context);
  if (!directory) return directory.error();
  if (Result<void> may = CheckStudy(*directory, arguments.allow_exec); !may) return may;
  if (arguments.plan) return ShowPlan(*directory, context);
  const auto end = [&](const Result<std::unique_ptr<RunResult>>& result) {
    return result ? EndRun(*directory, **result, context) : result.error();
  };
  if (arguments.add) {
    InputLines lines(context.stopped);
    return end(AddStudyRecords(
        *directory, [&] { return lines.Next(); }, RunContextOf(context)));
  }
  if (Result<void> begun = directory->Begin(); !begun) return begun;
  return end(RunStudy(*directory, RunContextOf(context), arguments.retry));
}

}  // namespace

extern const Command kStudyCommand = {
    .name = "study",
    .summary = "many mappings as one run: on all cores, in parts, or on a cluster",
    .examples = {{"tessera study buffers.yaml --out runs/buffers",
                  "all units of the file, on all cores; the same line again goes on"},
                 {"tessera study buffers.yaml --out part2 --part 2/8",
                  "every eighth unit, as a job of a Slurm array does it"},
                 {"tessera study --collect part1 part2 --out runs/buffers",
                  "one run from the runs of parts"},
                 {"tessera study --query 'SELECT network, min(edp) FROM units GROUP BY network' "
                  "runs/buffers",
                  "what there is so far, also while it runs"}},
    .bind = Bind<StudyArguments, Flags, Run>,
    .details =
        "Results do not depend on threads, parts, machines or interruptions, as long as no budget\n"
        "has seconds: result.json and study.sqlite are the same bytes. 'tessera resume' goes on\n"
        "with a study too; a unit that was interrupted is computed again. For a Ray cluster:\n"
        "python -m tessera.distributed FILE --out DIR --ray ADDRESS.\n",
    .writes_out = true};

}  // namespace tessera
