// A co-optimization from settings to result: what was asked for as data that goes to a file and
// comes back, the search with its journal, and the same once more to check it.
#ifndef TESSERA_COOPT_RUN_H_
#define TESSERA_COOPT_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/targets.h"
#include "tessera/record/run_directory.h"
#include "tessera/record/verification.h"
#include "tessera/search/method.h"

namespace tessera::coopt {

inline constexpr std::string_view kCooptimizeRun = "cooptimize";

struct CooptimizeSettings {
  std::string target{Targets().front()->name};  // Default: the first.
  std::string method = "dcoc";                  // Default: dcoc.
  std::string objective = "throughput";         // Default: throughput.
  std::string generator = "best";               // Default: best.
  // Keep this hardware: "default", a preset, an id or a file. Default: none.
  std::optional<std::string> hardware = {};
  HardwareLimits limits = {};
  int64_t measurements = 1'000;  // Default: 1,000.
  double clock_mhz = 100;        // Default: 100.
  vta::TimingParameters timing = {};
  bool as_published = false;  // Default: false.
};

// Settings with everything loaded and looked up.
struct CooptimizeJob {
  CooptimizeSettings settings = {};
  uint64_t seed = 1;
  std::vector<Network> networks = {};
  std::string name = {};  // of the networks, joined with +
  std::vector<LeftOut> left_out = {};
  MethodChoice method = {};
  std::shared_ptr<const CooptProblem> problem = {};
};

// Files of the settings are relative to `folder` (empty: the current one).
Result<CooptimizeJob> MakeCooptimizeJob(const CooptimizeSettings& settings, uint64_t seed,
                                        std::vector<Network> networks,
                                        const std::string& folder = "");

// A new run, and the job of one.
Result<RunDirectory> CreateCooptimizeRun(const std::string& path, const CooptimizeJob& job,
                                         const RunOrigin& origin);
Result<CooptimizeJob> LoadCooptimizeJob(const RunDirectory& directory);

struct CooptimizeHooks {
  // Told after every batch; may be empty.
  std::function<void(const SessionResult&)> progress = {};
  // Of the exhaustive method: measurements so far, best value. May be empty.
  std::function<void(int64_t, std::optional<double>)> counted = {};
  std::function<bool()> stopped = {};       // may be empty
  const RunDirectory* directory = nullptr;  // for the journal; may be null
};

struct CooptimizeResult {
  CooptimizeJob job = {};
  SessionResult session = {};
  int64_t recorded = 0;  // measurements that the journal had
  // Of a run with a folder on a target that has programs: one per layer, each checked.
  std::vector<std::string> programs = {};
};

// An error if no accelerator has a schedule for every layer, unless somebody stopped it.
Result<CooptimizeResult> Cooptimize(CooptimizeJob job, int threads, const CooptimizeHooks& hooks);

// Repeats every measurement of the journal; what differs goes to `found`. Returns the result that
// the repeated measurements give.
Result<CooptimizeResult> CooptimizeAgain(const RunDirectory& directory,
                                         const VerifyOptions& options, Verification& found);

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_RUN_H_
