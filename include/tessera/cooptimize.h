// Co-optimization: one accelerator within limits and a schedule for every layer of one or more
// networks, found together (docs/cooptimize.md).
//
//   coopt::CooptimizeSettings settings;
//   settings.limits.macs = 256;
//   settings.measurements = 100;
//   Result<coopt::CooptimizeJob> job = coopt::MakeCooptimizeJob(settings, /*seed=*/1, {network});
//   if (!job) return job.error();
//   const Result<coopt::CooptimizeResult> made = coopt::Cooptimize(*std::move(job));
//   if (!made) return made.error();
//   Use(made->best->hardware, made->best->cycles);
//
// The result is a function of job and seed, for any number of threads.
//
// Below that: which machine of a template to build, with proofs, and what-if questions about one
// machine (docs/explore.md).
#ifndef TESSERA_COOPTIMIZE_H_
#define TESSERA_COOPTIMIZE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/search.h"
#include "tessera/vta.h"

namespace tessera::coopt {

// ---- What to decide ----------------------------------------------------------------------------

// What is to be small, summed over the layers with their counts. Throughput: cycles per image.
// Latency: cycles until a batch is done. EDP proxy: energy times cycles of each layer per image,
// with the energies of the target.
enum class CooptObjective : uint8_t { kThroughput, kLatency, kEdpProxy };
inline constexpr std::array<std::string_view, 3> kCooptObjectiveNames = {"throughput", "latency",
                                                                         "edp-proxy"};
Result<CooptObjective> FindCooptObjective(std::string_view name);

// Which code generator makes programs of schedules, as --generator names them.
enum class Generator : uint8_t { kReference, kBest };
inline constexpr std::array<std::string_view, 2> kGeneratorNames = {"reference", "best"};
Result<Generator> FindGenerator(std::string_view name);

// What settings may be at most, and the clock at least.
inline constexpr double kMostMacs = 65'536, kMostBatch = 8, kMostMeasurements = 1e9,
                        kLeastClockMhz = 1e-3, kMostClockMhz = 1e6;

// What an accelerator may cost.
struct HardwareLimits {
  // Multipliers, or PEs. The space has no accelerators of less than a quarter of them: they would
  // only thin out a search for speed. Default: 256.
  int64_t macs = 256;

  // Bytes of all buffers. Default: 0 (no limit).
  int64_t sram_bytes = 0;

  // Of multipliers and buffers, by the formula of the target. Default: 0 (no limit).
  double area_um2 = 0;

  // Peak power of the buffers, where the target knows it. Default: 0 (no limit).
  double sram_power_mw = 0;

  // Images that the matrix unit works on at once; no RTL exists for more than 1. Default: 8.
  int64_t max_batch = 8;

  double clock_mhz = 100;  // Default: 100.
};

// "vta", ...: what can be co-optimized, the default first.
std::vector<std::string> TargetNames();

// Methods that decide hardware and schedules together, or prove what is best.
const MethodList& JointMethods();

// Those and all that search one space, which work where hardware is fixed.
const MethodList& CooptMethods();

// A layer that the target does not run, and why.
struct LeftOut {
  std::string name;
  int64_t count = 1;
  std::string why;
};

class CooptProblem;
struct SessionResult;

inline constexpr std::string_view kCooptimizeRun = "cooptimize";

struct CooptimizeSettings {
  // Target and method by their names; methods may have settings: "autotvm:features=knob".
  std::string target{TargetNames().front()};               // Default: the first.
  std::string method = "dcoc";                             // Default: dcoc.
  CooptObjective objective = CooptObjective::kThroughput;  // Default: kThroughput.
  Generator generator = Generator::kBest;                  // Of VTA. Default: kBest.
  // Keep this hardware: "default", a preset, an id or a file. Default: none.
  std::optional<std::string> hardware = {};
  HardwareLimits limits = {};
  // How limits on SRAM, area and power act: 0 excludes what is above them; otherwise the objective
  // of such an accelerator is raised by this weight times its relative excesses. Default: 0.
  double limit_penalty = 0;
  int64_t measurements = 1'000;  // Default: 1,000.
  // What one measurement would take on a real device, for reports of time. Default: 0.
  double measurement_seconds = 0;
  double clock_mhz = 100;  // Default: 100.
  vta::TimingParameters timing = {};
  bool as_published = false;  // Default: false.
  // What an earlier run has kept for methods that take it up: a run's folder, or its
  // kCooptPolicyFile. Default: none.
  std::string policy = {};
};

// The policies of a run's agents with the data of their cost model.
inline constexpr std::string_view kCooptPolicyFile = "policies.safetensors";

// What is known about the policies that a job takes up.
struct CooptPolicyInfo {
  std::vector<std::string> networks = {};  // that they were trained on
  int64_t measurements = 0;                // in all
  int64_t layers_seen = 0;                 // of the job's, with the same sizes
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
  std::shared_ptr<const TensorReader> policy = {};  // what settings.policy names
  std::optional<CooptPolicyInfo> policy_info = {};
};

// Files of the settings are relative to `folder` (empty: the current one).
Result<CooptimizeJob> MakeCooptimizeJob(const CooptimizeSettings& settings, uint64_t seed,
                                        std::vector<Network> networks,
                                        const std::string& folder = "");

// A new run, and the job of one.
Result<RunDirectory> CreateCooptimizeRun(const std::string& path, const CooptimizeJob& job,
                                         const RunOrigin& origin);
Result<CooptimizeJob> LoadCooptimizeJob(const RunDirectory& directory);

// Adds environment `cooptimize` to those of tessera/env.h: the agents of DCOC walk through
// accelerators and schedules of one layer, and every state is measured. The program and the Python
// package have it; others call this before they name it. A second call does nothing. Errors:
// another environment has the name.
Result<void> RegisterCooptimizeEnv();

// ---- What comes of it --------------------------------------------------------------------------

struct HardwareCost {
  int64_t macs = 0;
  int64_t sram_bytes = 0;
  double area_um2 = 0;
  double sram_power_mw = 0;  // peak; 0 where the target has no such number
};

// A new best value and the number of measurements at which it was reached.
struct JointImprovement {
  int64_t measurements;
  double value;   // of the objective
  double cycles;  // per image
  friend bool operator==(const JointImprovement&, const JointImprovement&) = default;
};

struct CooptimizedLayer {
  std::string name = {};
  int64_t count = 1;
  std::string schedule = {};  // in the words of the target
  double cycles = 0;          // per image
  double floor_cycles = 0;    // that no schedule is below
  double energy_pj = 0;       // per image, with the energies of the target
  int64_t measurements = 0;
};

// An accelerator with its best schedule of every layer.
struct CooptimizedMachine {
  std::string hardware = {};  // its name
  std::string file = {};      // its description, as --hardware takes it
  HardwareCost cost = {};
  double value = 0;   // of the objective
  double cycles = 0;  // per image
  std::vector<CooptimizedLayer> layers = {};
};

// What a run took, by the clock of the processor and so on all threads.
struct CooptimizeSeconds {
  double search = 0;     // of the method
  double measuring = 0;  // of the simulator, in this sitting
};

struct CooptimizeResult {
  CooptimizeJob job = {};
  std::optional<CooptimizedMachine> best = {};  // none if somebody stopped it before there was one
  std::vector<JointImprovement> curve = {};
  int64_t measurements = 0;
  int64_t recorded = 0;  // measurements that the journal had
  bool interrupted = false;
  CooptimizeSeconds seconds = {};
  // Of a run with a folder on a target that has programs: one per layer, each checked.
  std::vector<std::string> programs = {};
  // kCooptPolicyFile, where the method keeps what it has learned.
  std::string policies = {};
  std::shared_ptr<const SessionResult> session = {};  // everything that was measured, for reports
};

// With a directory, goes on from its journal. An error if no accelerator has a schedule for every
// layer, unless somebody stopped it.
Result<CooptimizeResult> Cooptimize(CooptimizeJob job, int threads = 0, const RunHooks& hooks = {});

}  // namespace tessera::coopt

namespace tessera {

// ---- Which machine to build --------------------------------------------------------------------
//
//   ExploreSettings settings;
//   settings.map.objective = Objective::kEdp;
//   settings.limits = {{"area_mm2", 2}};
//   const Result<ExploreJob> job = MakeExploreJob(settings, {network}, template_text, "edge.yaml");
//   if (!job) return job.error();
//   const Result<ExploreResult> explored = Explore(*job);
//
// The machines of a template are compared by what `map --method exact` finds for each of them. Most
// are never mapped: a bound shows that they cannot be better than what is known.

class MachineTemplate;

inline constexpr std::string_view kExploreRun = "explore";
inline constexpr std::string_view kSweepRun = "sweep";

// How machines are chosen that are looked at, as --method names them.
const MethodList& ExploreMethods();

// area_mm2, power_w, ...: what a machine may have at most.
std::vector<std::string_view> MachineLimitNames();

struct ExploreSettings {
  // What they are called: zoo names or files; in a run's folder, files of that folder.
  std::vector<std::string> networks = {};
  std::string machine = {};

  // Model, bypass, constraints and limits of every layer, and the objective that each layer is
  // mapped for; method, budget and seed of it are not used.
  MapSettings map = {};

  // What is to be small: latency, energy or edp, then map.objective is the same; or area.
  Objective objective = Objective::kEdp;  // Default: kEdp.

  // Objectives of a front instead: latency, energy, edp, area. Default: none.
  std::vector<Objective> pareto = {};

  // How much each network counts. Default: 1 each.
  std::vector<double> weights = {};

  // Limits on machines beside the template's own: area_mm2, area_um2, power_w, sram_bytes, aspect.
  std::vector<std::pair<std::string, double>> limits = {};

  std::string method = "exhaustive";  // Default: exhaustive.
  int64_t seed = 1;                   // Default: 1.

  // Machines that other methods may propose. Default: 200.
  int64_t samples = 200;

  // Done once no machine can be better by more than this part: 0.05 is 5 %. Default: 0.
  double target_gap = 0;

  // Wall-clock limit, which makes the result depend on the machine. Default: 0 (none).
  double seconds = 0;
};

struct ExploreJob {
  ExploreSettings settings = {};
  std::vector<Network> networks = {};
  std::string template_text = {};
  std::shared_ptr<const MachineTemplate> machines = {};
  MapJob base = {};  // of every machine; accelerator and network are still to be filled in
};

// Files of the settings are relative to `folder` (empty: the current one). `file` is what messages
// call the template. Errors: settings that do not go together, templates with line and column.
Result<ExploreJob> MakeExploreJob(const ExploreSettings& settings, std::vector<Network> networks,
                                  std::string_view template_text, const std::string& file,
                                  const std::string& folder = "");

// Combinations of a template's values that its constraints allow, before anything is mapped.
// Counted unless there are more than `most` combinations, or somebody asks to stop: then all of
// them.
struct MachineCount {
  int64_t machines = 0;
  bool counted = true;
};
MachineCount CountMachines(const ExploreJob& job, int64_t most = INT64_MAX);

Result<RunDirectory> CreateExploreRun(const std::string& path, const ExploreJob& job,
                                      const RunOrigin& origin);
Result<ExploreJob> LoadExploreJob(const RunDirectory& directory);

struct ChosenValue {
  std::string field = {};  // "levels.GLB.entries"
  std::string text = {};
  std::optional<double> number = {};
};

struct ExploredNetwork {
  std::string name = {};
  double cycles = 0, energy_pj = 0;
};

// A machine whose networks are mapped. Sums are over all layers of all networks, by their weights.
struct ExploredMachine {
  int64_t number = 0;  // among the template's combinations, from 1
  std::vector<ChosenValue> values = {};
  std::string file = {};  // accelerator.yaml
  double cycles = 0, energy_pj = 0, area_um2 = 0, power_mw = 0;
  double value = 0;  // of the objective
  double bound = 0;  // below which it cannot be, once its layers are mapped as well as possible
  MapStatus status = MapStatus::kBounded;
  std::string limited_by = {};  // what takes most cycles: "compute" or a level
  std::vector<ExploredNetwork> networks = {};

  double edp() const { return cycles * energy_pj; }
  double gap() const { return bound > 0 ? value / bound - 1 : 0; }
};

// What became of a machine.
enum class MachineFate : uint8_t {
  kMapped,
  kBound,       // it cannot be better than what is known
  kLimit,       // it exceeds a limit
  kImpossible,  // it cannot be built, or some layer has no mapping on it
  kOpen,        // nobody had the time to look
};
inline constexpr std::array<std::string_view, 5> kMachineFateNames = {"mapped", "bound", "limit",
                                                                      "impossible", "open"};

struct MachineRecord {
  int64_t number = 0;
  MachineFate fate = MachineFate::kOpen;
  double bound = 0;      // of the objective
  std::string why = {};  // in words
};

struct ExploreResult {
  ExploreJob job = {};
  int64_t machines = 0;
  std::vector<MachineRecord> records = {};  // of all of them, in the order of their numbers
  int64_t Count(MachineFate fate) const;

  std::optional<ExploredMachine> best = {};
  std::vector<ExploredMachine> front = {};  // by its first objective; without --pareto: the best
  // No machine of the template is better by more than this part; none: nothing is known.
  std::optional<double> gap = {};
  MapStop stopped_by = MapStop::kProved;
  bool interrupted = false;
  int64_t turns = 0;     // of the search, for repeating it
  int64_t recorded = 0;  // steps that the journal had
  double seconds = 0;
};

// With a directory, goes on from its journal. An error if no machine has a mapping of every layer,
// unless somebody stopped it.
Result<ExploreResult> Explore(const ExploreJob& job, int threads = 0, const RunHooks& hooks = {});

// The same from what a run's journal holds, as far as the run got; bounds are proved once more as
// far as the options' seconds go.
Result<ExploreResult> ExploreAgain(const RunDirectory& directory, const VerifyOptions& options,
                                   Verification& found);

// ---- What if -----------------------------------------------------------------------------------

struct SweepSettings {
  std::string network = {};
  std::string accelerator = {};
  MapSettings map = {};  // as of ExploreSettings

  // "levels.GLB.entries" or "network.seq", and its values; all combinations are points.
  std::vector<std::pair<std::string, std::vector<std::string>>> vary = {};
  double seconds = 0;  // Default: 0 (none).
};

// The network with other parameters; files and zoo names are loaded with them bound.
using NetworkWith =
    std::function<Result<Network>(const std::vector<std::pair<std::string, std::string>>&)>;

struct SweepJob {
  SweepSettings settings = {};
  std::vector<Network> networks = {};  // one for each combination of its parameters
  std::string accelerator_text = {};
  std::shared_ptr<const MachineTemplate> machines = {};
  MapJob base = {};
};

Result<SweepJob> MakeSweepJob(const SweepSettings& settings, const NetworkWith& network,
                              std::string_view accelerator_text, const std::string& file,
                              const std::string& folder = "");
Result<RunDirectory> CreateSweepRun(const std::string& path, const SweepJob& job,
                                    const RunOrigin& origin);
Result<SweepJob> LoadSweepJob(const RunDirectory& directory);

struct SweepPoint {
  std::vector<ChosenValue> values = {};
  std::optional<ExploredMachine> machine = {};  // none: see `why`
  std::string why = {};
};

struct SweepResult {
  SweepJob job = {};
  std::vector<SweepPoint> points = {};  // the last value varies fastest
  // Where the curve of the objective over the first number that is varied flattens: the point from
  // which on a step in it gains least for what it costs. None: fewer than three points, or no bend.
  std::optional<size_t> knee = {};
  bool interrupted = false;
  int64_t recorded = 0;  // steps that the journal had
  double seconds = 0;
};

// Values as --vary has them: "16K..1M:x2", "1..9:+2", "8,16,32". K is 1,024.
Result<std::vector<std::string>> ParseVariedValues(std::string_view text);

// The file of an accelerator in Tessera's own format, by preset name or path.
Result<std::string> AcceleratorFileText(const std::string& name_or_path);

Result<SweepResult> SweepAgain(const RunDirectory& directory, const VerifyOptions& options,
                               Verification& found);
Result<SweepResult> Sweep(const SweepJob& job, int threads = 0, const RunHooks& hooks = {});

}  // namespace tessera

#endif  // TESSERA_COOPTIMIZE_H_
