// What a run of any kind shows and leaves in its folder when it ends. Each kind has one view, made
// from its result alone, so that `tessera verify` can make it again and compare.
#ifndef TESSERA_REPORT_RUN_VIEWS_H_
#define TESSERA_REPORT_RUN_VIEWS_H_

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/network.h"
#include "tessera/report/json.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/runs.h"

namespace tessera {

// The page of a run, among its files.
inline constexpr std::string_view kPageFile = "report.html";

struct RunView {
  Json json = {};                           // for programs, times included
  std::string text = {};                    // for people
  std::string closer = {};                  // for people at a terminal, after the text
  std::vector<std::string> remarks = {};    // for people, beside the result
  std::vector<ExportedFile> files = {};     // result.json, report.html, ...; none: nothing to keep
  std::vector<std::string> own_files = {};  // that the run has written by itself
  Json times = {};                          // of the clock
  bool interrupted = false;
  Result<void> verdict = {};  // an error if the result is none
};

Result<RunView> ViewOf(std::string_view kind, const RunResult& result);

// Files of a folder that are not those of the view; of result.json every value that differs.
void CompareWithView(const RunDirectory& directory, const RunView& view, Verification& found);

}  // namespace tessera

#endif  // TESSERA_REPORT_RUN_VIEWS_H_
