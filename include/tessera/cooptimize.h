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
#ifndef TESSERA_COOPTIMIZE_H_
#define TESSERA_COOPTIMIZE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::shared_ptr<const SessionResult> session = {};  // everything that was measured, for reports
};

// With a directory, goes on from its journal. An error if no accelerator has a schedule for every
// layer, unless somebody stopped it.
Result<CooptimizeResult> Cooptimize(CooptimizeJob job, int threads = 0, const RunHooks& hooks = {});

}  // namespace tessera::coopt

#endif  // TESSERA_COOPTIMIZE_H_
