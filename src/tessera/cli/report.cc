// tessera report: runs as one page that opens from disk, or as tables for issues and papers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/report/diff_report.h"
#include "tessera/report/explain_report.h"
#include "tessera/report/mapping_trace.h"
#include "tessera/report/run_data.h"
#include "tessera/report/run_tables.h"

namespace tessera {
namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  bool text = false, markdown = false;
  std::string perfetto, layer;
};

std::vector<Flag> Flags(ReportArguments& arguments) {
  return {{.name = "RUN",
           .target = &arguments.runs,
           .help = "folders that commands made with --out; several are shown beside each other",
           .required = true},
          {.name = "--text",
           .target = &arguments.text,
           .help = "tables for a terminal instead of a page"},
          {.name = "--markdown",
           .target = &arguments.markdown,
           .help = "tables in Markdown, for issues and papers, instead of a page"},
          {.name = "--perfetto",
           .target = &arguments.perfetto,
           .help = "instead of a page, a trace of one run's mappings for ui.perfetto.dev",
           .value = "FILE"},
          {.name = "--layer",
           .target = &arguments.layer,
           .help = "with --perfetto: only this layer, in finer steps: its name or 1-based index",
           .value = "LAYER"}};
}

Result<std::vector<RunDirectory>> OpenRuns(const std::vector<std::string>& folders) {
  std::vector<RunDirectory> runs;
  for (const std::string& folder : folders) {
    Result<RunDirectory> run = RunDirectory::ReadOnly(folder);
    if (!run) return run.error();
    runs.push_back(*std::move(run));
  }
  return runs;
}

// The tables of every run, and how later runs of map differ from the first.
Result<void> ShowTables(const std::vector<RunDirectory>& runs, bool markdown, Context& context) {
  const auto show = [&](const std::string& title, const Table& table) {
    return context.output.ShowText(markdown ? fmt::format("## {}\n\n{}\n", title, ToMarkdown(table))
                                            : fmt::format("{}\n{}\n", title, ToText(table)));
  };
  std::vector<RunExplanation> explained;
  for (const RunDirectory& run : runs) {
    const Result<std::vector<TitledTable>> tables = TablesOfRun(run);
    if (!tables) return tables.error();
    for (const auto& [title, table] : *tables) {
      if (Result<void> shown = show(title, table); !shown) return shown;
    }
    if (runs.size() == 1 || run.header().kind != kMapRun) continue;
    Result<RunExplanation> one = ExplainRun(run);
    if (!one) return one.error();
    explained.push_back(*std::move(one));
  }
  for (size_t i = 1; i < explained.size(); ++i) {
    const RunDiff diff = DiffRuns(explained[0], explained[i]);
    const std::string title = fmt::format("{} beside {}", diff.b.folder, diff.a.folder);
    if (Result<void> shown = show(title, DiffTable(diff)); !shown) return shown;
    if (Result<void> shown = show("Energy, " + title, PartTable(diff.parts)); !shown) return shown;
  }
  return {};
}

Result<void> WriteTrace(const ReportArguments& arguments, const std::vector<RunDirectory>& runs,
                        Context& context) {
  if (runs.size() != 1) {
    return Error{.kind = ErrorKind::kUsage, .message = "--perfetto takes one run"};
  }
  const Result<RunExplanation> run = ExplainRun(runs.front(), {.layer = arguments.layer});
  if (!run) return run.error();
  const std::string trace = MappingTrace(*run);
  if (Result<void> put = WriteFileAtomically(arguments.perfetto, trace); !put) return put;
  context.output.Set("file", arguments.perfetto);
  return context.output.ShowText(
      fmt::format("{}: {} bytes\n", arguments.perfetto, WithThousands(std::ssize(trace))));
}

Result<void> Run(const ReportArguments& arguments, Context& context) {
  if (arguments.text && arguments.markdown) {
    return Error{.kind = ErrorKind::kUsage, .message = "--text and --markdown exclude each other"};
  }
  Result<std::vector<RunDirectory>> runs = OpenRuns(arguments.runs);
  if (!runs) return runs.error();
  if (!arguments.perfetto.empty()) return WriteTrace(arguments, *runs, context);
  if (arguments.text || arguments.markdown) return ShowTables(*runs, arguments.markdown, context);
  const Result<Json> data = ReportData(*runs, context.origin.version);
  if (!data) return data.error();
  const std::string page = ReportPage(*data);
  std::string file = context.options.out;
  if (file.empty()) {
    Result<RunDirectory> first = RunDirectory::Open(arguments.runs.front());
    if (!first) return first.error();
    file = first->File("report.html");
    if (Result<void> written = first->Replace("report.html", page); !written) return written;
  } else if (Result<void> written = WriteFileAtomically(file, page); !written) {
    return written;
  }
  context.output.Set("file", file);
  return context.output.ShowText(
      fmt::format("{}: {} bytes\n", file, WithThousands(std::ssize(page))));
}

}  // namespace

extern const Command kReportCommand = {
    .name = "report",
    .summary = "a page of runs that opens from disk, or tables for issues and papers",
    .examples = {{"tessera report runs/resnet", "writes runs/resnet/report.html"},
                 {"tessera report runs/a runs/b --out both.html", "two runs and their differences"},
                 {"tessera report runs/resnet --markdown", "tables to paste"},
                 {"tessera report runs/resnet --perfetto trace.json",
                  "who moves what when, for ui.perfetto.dev"}},
    .bind = Bind<ReportArguments, Flags, Run>,
    .details =
        "The page is one file without requests to anywhere: verdict, network, layers with loop\n"
        "nests, energies, roofline and limits, searches, and differences of several runs. --out\n"
        "names a file here. docs/report.md.\n",
    .writes_out = true};

}  // namespace tessera
