#include "tessera/report/run_data.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/map.h"
#include "tessera/mapper/map_network.h"
#include "tessera/record/trial_journal.h"
#include "tessera/report/diff_report.h"
#include "tessera/report/explain_report.h"
#include "tessera/report/kind_data.h"
#include "tessera/report/search_data.h"
#include "tessera/runs.h"
#include "tessera/space.h"

namespace tessera {

// data/web/*.html.
std::span<const EmbeddedFile> WebPages();

namespace {

// Seconds of all sittings, or null.
Json SecondsOf(const RunDirectory& run) {
  const Result<Json> times = ReadJson(run.File("times.json"));
  if (!times || !times->contains("sittings")) return nullptr;
  double seconds = 0;
  for (const Json& sitting : ValueAt(*times, "sittings")) {
    seconds += NumberAt(sitting, "seconds").value_or(0);
    // Training notes the time of every row instead, from the beginning of the sitting.
    const Json& rows = ValueAt(sitting, "rows");
    if (!rows.empty()) seconds += NumberAt(rows.back(), "seconds").value_or(0);
  }
  return seconds;
}

// As a shell takes it.
std::string CommandOf(const RunHeader& header) {
  if (header.origin.command.empty()) return "";
  std::vector<std::string> words = {"tessera"};
  for (const std::string& word : header.origin.command) {
    const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             std::string_view("-_./=:,+%@").find(c) != std::string_view::npos;
    });
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    words.push_back(plain ? word : quoted + "'");
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// What pages show of every kind of run.
Result<Json> CommonData(const RunDirectory& run) {
  Result<Json> result = ResultOf(run);
  if (!result) return result.error();
  Json json = OpenRunData(run);
  json["result"] = *std::move(result);
  return json;
}

// And of runs of map: why layers cost what they cost, and how they were searched. The explanation
// stays empty where the cost model has none.
Result<void> AddMapData(const RunDirectory& run, Json& json,
                        std::optional<RunExplanation>& explanation) {
  const Result<MapJob> job = LoadMapJob(run);
  if (!job) return job.error();
  Result<RunExplanation> explained = ExplainRun(run);
  json["explain"] = nullptr;
  if (explained) {
    json["explain"] = ToJson(*explained);
    explanation = *std::move(explained);
  } else if (explained.error().kind == ErrorKind::kUnsupported) {
    json["explain_error"] = explained.error().message;
  } else {
    return explained.error();
  }
  Result<Json> proofs = ProofData(run, *job);
  if (!proofs) return proofs.error();
  json["proofs"] = *std::move(proofs);
  json["graph"] = GraphData(job->network);
  json["search"] = Json::array();
  for (size_t i = 0; i < job->network.layers.size(); ++i) {
    const Result<std::vector<Trial>> trials = ReadTrials(SearchJournal(run, i));
    if (!trials) return trials.error();
    const NetworkLayer& layer = job->network.layers[i];
    const Result<std::unique_ptr<MappingProblem>> problem =
        MappingProblem::Make(layer.layer, job->accelerator, job->settings.model, job->problem);
    if (!problem) return problem.error();
    json["search"].push_back(SearchJson(layer.name, (*problem)->space(), *trials));
  }
  return {};
}

// At most kMostRows rows of training, of equal parts of the run those with the lowest and the
// highest return; the page says so.
void Thin(Json& result) {
  constexpr size_t kMostRows = 2'000;
  Json& rows = result["progress"];
  if (!rows.is_array() || rows.size() <= kMostRows) return;
  const auto return_of = [&](size_t i) { return NumberAt(rows[i], "team_return").value_or(0); };
  Json kept = Json::array();
  const size_t parts = kMostRows / 2;
  for (size_t part = 0; part < parts; ++part) {
    const size_t first = part * rows.size() / parts, end = (part + 1) * rows.size() / parts;
    size_t low = first, high = first;
    for (size_t i = first; i < end; ++i) {
      if (return_of(i) < return_of(low)) low = i;
      if (return_of(i) > return_of(high)) high = i;
    }
    if (part + 1 == parts) high = std::max(high, end - 1);
    kept.push_back(rows[std::min(low, high)]);
    if (low != high) kept.push_back(rows[std::max(low, high)]);
  }
  result["rows_of"] = rows.size();
  rows = std::move(kept);
}

// Kinds that the page has a view of (web/src/main.ts).
constexpr std::array<std::string_view, 7> kShown = {
    kMapRun, kCompareRun, coopt::kCooptimizeRun, kTrainRun, kStudyRun, kExploreRun, kSweepRun};

}  // namespace

Json OpenRunData(const RunDirectory& run) {
  const RunHeader& header = run.header();
  return {{"folder", run.path()},         {"kind", header.kind},
          {"command", CommandOf(header)}, {"version", header.origin.version},
          {"seed", header.seed},          {"id", header.id},
          {"inputs", header.inputs},      {"seconds", SecondsOf(run)}};
}

Result<Json> ResultOf(const RunDirectory& run) {
  if (!run.header().ended()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} has no results: the run has not ended", run.path()),
                 .hint = fmt::format("finish it with 'tessera resume {}'", run.path())};
  }
  Result<Json> json = ReadJson(run.File("result.json"));
  if (!json || json->is_object()) return json;
  return Error{.kind = ErrorKind::kSyntax,
               .message = "this is not a file of a run",
               .where = {.file = run.File("result.json")}};
}

Result<Json> ReportData(const std::vector<RunDirectory>& runs, const std::string& version) {
  Json data = {{"version", version}, {"runs", Json::array()}, {"diffs", Json::array()}};
  std::optional<RunExplanation> first;
  for (const RunDirectory& run : runs) {
    const std::string& kind = run.header().kind;
    if (std::ranges::find(kShown, kind) == kShown.end()) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("{} is a run of {}; pages are made of runs of {}",
                                          run.path(), kind, fmt::join(kShown, ", "))};
    }
    Result<Json> made = CommonData(run);
    if (!made) return made.error();
    std::optional<RunExplanation> explanation;
    if (kind == kMapRun) {
      if (Result<void> added = AddMapData(run, *made, explanation); !added) return added.error();
    }
    if (kind == coopt::kCooptimizeRun) {
      Result<Json> more = CooptData(run, (*made)["result"]);
      if (!more) return more.error();
      (*made)["more"] = *std::move(more);
    } else if (kind == kTrainRun) {
      const Result<Json> times = ReadJson(run.File("times.json"));
      (*made)["more"] = TrainData(run, times ? *times : Json());
      Thin((*made)["result"]);
    }
    Json diff = nullptr;
    if (first && explanation) diff = ToJson(DiffRuns(*first, *explanation));
    if (data["runs"].empty()) first = std::move(explanation);
    data["runs"].push_back(*std::move(made));
    data["diffs"].push_back(std::move(diff));
  }
  return data;
}

std::string ReportPage(const Json& data) {
  constexpr std::string_view kPlace = "@DATA@";
  const std::string_view page = WebPages().front().contents;
  const size_t at = page.find(kPlace);
  TESSERA_CHECK(at != std::string_view::npos);
  std::string text(page.substr(0, at));
  // A name may hold "</script>": inside strings of JSON, "<" can be written otherwise.
  const std::string json = ToLine(data);
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text.append(page.substr(at + kPlace.size()));
}

std::string ServedPage(const std::string& version) {
  constexpr std::string_view kPolicy = "default-src 'none';";
  std::string page = ReportPage({{"version", version}, {"served", true}});
  const size_t at = page.find(kPolicy);
  TESSERA_CHECK(at != std::string::npos);
  return page.insert(at + kPolicy.size(), " connect-src 'self';");
}

}  // namespace tessera
