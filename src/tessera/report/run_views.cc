// The views of all kinds, one line each.
#include "tessera/report/run_views.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/report/compare_report.h"
#include "tessera/report/coopt_report.h"
#include "tessera/report/explore_report.h"
#include "tessera/report/map_report.h"
#include "tessera/report/policy_report.h"
#include "tessera/report/study_report.h"
#include "tessera/report/train_report.h"
#include "tessera/runs.h"

namespace tessera {
namespace {

struct View {
  std::string_view kind;
  Result<RunView> (*make)(const RunResult&);
};

// A view of results of one type.
template <typename Of, Result<RunView> (*kMake)(const Of&)>
Result<RunView> Typed(const RunResult& result) {
  return kMake(static_cast<const Of&>(result));
}

constexpr std::array kViews = {
    View{kMapRun, Typed<MapRunResult, ViewOfMap>},
    View{kCompareRun, Typed<CompareRunResult, ViewOfCompare>},
    View{coopt::kCooptimizeRun, Typed<CooptimizeRunResult, ViewOfCooptimize>},
    View{kExploreRun, Typed<ExploreRunResult, ViewOfExplore>},
    View{kSweepRun, Typed<SweepRunResult, ViewOfSweep>},
    View{kTrainRun, Typed<TrainRunResult, ViewOfTrain>},
    View{kPolicyRun, Typed<PolicyRunResult, ViewOfPolicy>},
    View{kStudyRun, Typed<StudyRunResult, ViewOfStudy>},
};

std::string Short(const Json& json) { return Quoted(ToLine(json), 60); }

// Values that differ, by their place: "layers/0/cycles".
void Compare(const Json& reported, const Json& computed, const std::string& place,
             Verification& found) {
  if (reported.is_structured() && computed.is_structured() && reported.type() == computed.type() &&
      reported.size() == computed.size()) {
    for (auto item = computed.begin(); item != computed.end(); ++item) {
      const std::string key = computed.is_object()
                                  ? item.key()
                                  : fmt::format("{}", std::distance(computed.begin(), item));
      const std::string inner = place.empty() ? key : place + "/" + key;
      if (computed.is_object() && !reported.contains(key)) {
        found.discrepancies.push_back({inner, "missing", Short(*item)});
      } else {
        const Json& other =
            computed.is_object()
                ? reported.at(key)
                : reported.at(static_cast<size_t>(std::distance(computed.begin(), item)));
        Compare(other, *item, inner, found);
      }
    }
    return;
  }
  ++found.total_numbers;
  if (reported != computed) {
    found.discrepancies.push_back({place, Short(reported), Short(computed)});
  }
}

}  // namespace

Result<RunView> ViewOf(std::string_view kind, const RunResult& result) {
  for (const View& view : kViews) {
    if (view.kind == kind) return view.make(result);
  }
  return Error{.kind = ErrorKind::kInternal, .message = fmt::format("no view of {} runs", kind)};
}

void CompareWithView(const RunDirectory& directory, const RunView& view, Verification& found) {
  for (const ExportedFile& file : view.files) {
    // `tessera report` may have drawn the page anew; its hash tells whether it is what was written.
    if (file.name == "report.html") continue;
    const Result<std::string> bytes = ReadFile(directory.File(file.name));
    ++found.total_files;
    if (bytes && *bytes == file.contents) {
      if (file.name == "result.json") Compare(FromText(*bytes), FromText(*bytes), "", found);
      continue;
    }
    const size_t before = found.discrepancies.size();
    if (bytes && file.name == "result.json") {
      const Json json = FromText(*bytes);
      Compare(json, FromText(file.contents), "", found);
    }
    if (found.discrepancies.size() > before) continue;
    found.discrepancies.push_back(
        {file.name, bytes ? "another file" : "missing", "what the repeated evaluations give"});
  }
  // A result that the evaluations do not lead to at all has files beyond theirs.
  for (const auto& [name, hash] : directory.header().results) {
    const bool expected =
        name.starts_with("journal/") || std::ranges::count(view.own_files, name) > 0 ||
        std::ranges::find(view.files, name, &ExportedFile::name) != view.files.end();
    if (!expected) found.discrepancies.push_back({name, "there", "no file of this run"});
  }
}

}  // namespace tessera
