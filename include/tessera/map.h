// Mapping: the best mapping of every layer of a network on an accelerator, how far it can still be
// from the optimum, and search methods compared on equal terms.
//
//   MapSettings settings;
//   settings.objective = Objective::kEdp;
//   settings.method = *ParseMapMethod("marl");  // or "auto": search, then proof; "exact": proof
//   settings.budget.samples = 5'000;
//   const Result<MapJob> job = MakeMapJob(settings, network, accelerator);
//   if (!job) return job.error();
//   const Result<NetworkMapping> mapped = MapNetwork(*job);
//
// Contract of everything here: results are functions of the job, for any number of threads, unless
// a budget has seconds. Errors are values; without a folder nothing is written.
#ifndef TESSERA_MAP_H_
#define TESSERA_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/search.h"
#include "tessera/space.h"

namespace tessera {

// ---- What to map, and how ----------------------------------------------------------------------

// How mappings are found.
enum class ProofUse : uint8_t {
  kNone,         // what a search finds is all
  kAfterSearch,  // method auto
  kAlone,        // method exact
};

struct MapMethod {
  ProofUse proof = ProofUse::kNone;         // Default: kNone.
  std::optional<MethodChoice> search = {};  // none: proof alone

  bool proves() const { return proof != ProofUse::kNone; }
  std::string ToString() const;  // as ParseMapMethod reads it
};

// "marl", "ga:population=50", "auto" or "exact". Errors as ParseMethodChoice.
Result<MapMethod> ParseMapMethod(std::string_view text);

// The method of a proof; it has no settings.
MapMethod ProofMethod(ProofUse proof);

// The search method where there are no proofs, with its defaults.
MapMethod DefaultSearch();

// The methods that mapping has beside those of search: they end with a proof.
const MethodInfo& AutoMethod();   // a search, then proofs
const MethodInfo& ExactMethod();  // proofs alone
const MethodList& ProofMethods();

// The methods of search/, then those.
const MethodList& MapMethods();

// Which factors of a dimension mappings may have.
enum class Factors : uint8_t {
  kPerfect,  // those that divide it
  kAny,      // the last iteration may have less to do
};
inline constexpr std::array<std::string_view, 2> kFactorsNames = {"perfect", "any"};

// What a mapping of a network may decide beyond the mappings of its layers (docs/graphs.md).
enum class InterLayer : uint8_t {
  kNone,    // every tensor goes out to the outermost level and comes back
  kHomes,   // tensors may stay on chip from their producer to their last consumer
  kSlices,  // and chains of layers may run slice by slice, with pinned weights
};
inline constexpr std::array<std::string_view, 3> kInterLayerNames = {"none", "homes", "slices"};

struct MapSettings {
  // What they are called: zoo or preset name, or a file; in a run's folder, files of that folder.
  std::string network = {};
  std::string accelerator = {};
  std::vector<std::string> constraints = {};  // files; all of what they demand holds
  std::string dataflow = {};                  // one of DataflowNames(), beside them; empty: none

  CostModelChoice model = {};                 // Default: the first of CostModels().
  Objective objective = Objective::kLatency;  // Default: kLatency.
  std::vector<Objective> then = {};  // What decides between equal mappings; cycles and energy come
                                     // last in any case. Default: nothing else.
  double within = 0;       // The next objective may cost this part of the first: 0.01 is 1 %; of
                           // methods with proofs. Default: 0.
  CostLimits limits = {};  // Of every layer. Default: none.
  MapMethod method = DefaultSearch();  // Default: DefaultSearch().
  std::string policy = {};  // "default", "none", the name of a shipped one, or a file. Default:
                            // empty, "default" for methods policy and auto, otherwise "none".
  TileSizes sizes = TileSizes::kDivisors;      // Default: kDivisors.
  bool decide_pes = false;                     // Default: false.
  bool bypass = true;                          // Loops. Default: true.
  Factors factors = Factors::kPerfect;         // Of methods with proofs. Default: kPerfect.
  InterLayer inter_layer = InterLayer::kNone;  // Of methods with proofs. Default: kNone.

  int64_t seed = 1;                       // Default: 1.
  Budget budget = {};                     // Per layer; seconds: for the whole run.
  int64_t points = 64;                    // That a method is asked for at a time. Default: 64.
  std::optional<double> target_gap = {};  // Default: none.

  // What methods auto and exact may spend on proofs: seconds for the proofs of all layers, rounds
  // of exact search per layer (0: no limit), and memory for the open nodes of all layers.
  double proof_seconds = 0;         // Default: 0.
  int64_t proof_rounds = 0;         // Default: 0.
  int64_t proof_memory_mib = 1024;  // Default: 1024.
};

// Objectives in the order in which they count: "latency,energy". Errors: words that are none, and
// one that is named twice.
std::string ObjectivesText(const MapSettings& settings);
Result<std::vector<Objective>> ParseObjectives(std::string_view text);

// Whether mappings of the settings' model and objective can be proved; the error says why not.
Result<void> CheckProvable(const MapSettings& settings);

// What a run may spend, as somebody gives it; SetMapBudget chooses what is not given.
struct MapBudget {
  std::optional<int64_t> samples = {};
  std::optional<double> seconds = {};
  std::optional<double> proof_seconds = {};
  std::optional<int64_t> proof_rounds = {};
  std::optional<int64_t> proof_memory_mib = {};
};

// Sets the method, proofs where they are possible if none is chosen, and limits. Methods with
// proofs: with nothing given 55 s for everything; with samples no clock, and rounds in proportion;
// otherwise what is given. Errors: limits of proofs for a method that makes none.
Result<void> SetMapBudget(const MapBudget& budget, const std::optional<MapMethod>& method,
                          MapSettings& settings);

// Settings with everything loaded.
struct MapJob {
  MapSettings settings = {};
  Network network = {};
  Accelerator accelerator = {};
  MappingProblemOptions problem = {};
  std::optional<MethodChoice> method = {};  // none: method exact, which has no search
  bool prove = false;
  bool any_factors = false;  // also mappings whose factors do not divide

  // What method policy acts by, and what gives other searches and proofs their first mappings.
  // Default: null, nothing.
  std::shared_ptr<const policy::Networks> policy = {};
};

// A job for inputs that are at hand: loads the other files, relative to `folder` (empty: the
// current one). Equal layers that constraints tell apart by name become entries of their own.
// Errors: settings that do not go together; constraints about layers that the network does not
// have, unless it has only one.
Result<MapJob> MakeMapJob(const MapSettings& settings, Network network, Accelerator accelerator,
                          const std::string& folder = "");

// Which mappings a job chooses from, in one line: factors, bypass, parallel loops, constraints,
// limits. A result is optimal in that space and says nothing of any other.
std::string DescribeSpace(const MapJob& job);

// ---- Bounds ------------------------------------------------------------------------------------

// What no mapping of a layer can be below, whatever the search, as far as the cost model knows.
struct LayerBounds {
  std::optional<double> cycles = {};
  std::optional<double> energy_pj = {};

  // Of an objective; none for power and area.
  std::optional<double> Of(Objective objective) const;
};

// Errors: layers that the model cannot take.
Result<LayerBounds> BoundsOf(const Layer& layer, const MapJob& job);

// ---- Mapping a network -------------------------------------------------------------------------

// What was proved about a layer. Rounds and evaluations are those for the first objective; what
// decides between equal mappings is not counted.
struct LayerProof {
  int64_t rounds = 0;
  int64_t evaluations = 0;  // by the exact search; they count as samples
  bool complete = false;    // nothing is left to search

  friend bool operator==(const LayerProof&, const LayerProof&) = default;
};

enum class MapStatus : uint8_t {
  kOptimal,    // nothing can be better: the value is the bound
  kBounded,    // at most `gap` above the bound
  kHeuristic,  // no bound is known
  kNothing,    // no feasible mapping was found
};
std::string_view ToString(MapStatus status);  // "OPTIMAL", ...

// What ended a run, or a layer of it.
enum class MapStop : uint8_t {
  kProved,  // nothing is left to do: optimal, or within the target gap
  kTime,
  kMemory,  // what was left to search exceeded --proof-memory and was given up
  kRounds,
  kSamples,
  kInterrupted,
};
inline constexpr std::array<std::string_view, 6> kMapStopNames = {
    "proved", "time", "memory", "rounds", "samples", "interrupted"};

// What is known of a part of the space: of mappings of which every level holds what it can, or of
// those whose factors divide.
struct SubspaceResult {
  std::optional<double> value = {};  // the best one found
  double cycles = 0, energy_pj = 0;  // of it
  double bound = 0;                  // none of them has a lower value

  friend bool operator==(const SubspaceResult&, const SubspaceResult&) = default;
};

// An objective after the first: the least of it that mappings as good in those before it have.
struct NextObjective {
  Objective objective = Objective::kLatency;
  double value = 0;
  bool proved = false;  // nothing is less; otherwise the least that was found

  friend bool operator==(const NextObjective&, const NextObjective&) = default;
};

struct LayerMapping {
  std::string name = {};
  int64_t count = 1;
  Layer layer = {};
  SearchResult search = {};
  // The best point of the search, and the best mapping; empty if there is none.
  std::optional<Point> point = {};
  std::optional<Mapping> mapping = {};
  std::optional<Cost> cost = {};
  double value = 0;                  // of the objective
  std::optional<double> bound = {};  // no mapping has a lower value
  LayerBounds bounds = {};           // known without search
  MapStatus status = MapStatus::kNothing;
  MapStop stopped_by = MapStop::kSamples;
  std::optional<LayerProof> proof = {};                // of methods auto and exact
  std::optional<SubspaceResult> without_bypass = {};   // of proofs over bypass
  std::optional<SubspaceResult> perfect_factors = {};  // of proofs over all factors
  std::vector<NextObjective> then = {};                // of proofs
  std::string unproved = {};  // why method auto only searched; empty: it did not

  int64_t samples() const { return search.samples + (proof ? proof->evaluations : 0); }

  std::optional<double> gap() const {
    return bound && cost ? std::optional(value / *bound - 1) : std::nullopt;
  }
};

// Sums over all occurrences of all layers; EDP is the product of the sums, area and power are those
// of the most demanding layer, utilisation is weighted by cycles.
struct NetworkTotal {
  int64_t layers = 0;  // occurrences
  double cycles = 0;
  double energy_pj = 0;
  double area_um2 = 0;
  double power_mw = 0;
  double utilization = 0;
  double value = 0;                  // of the objective
  std::optional<double> bound = {};  // none for power and area
  int64_t samples = 0;

  double edp() const { return cycles * energy_pj; }
  std::optional<double> gap() const {
    return bound && *bound > 0 ? std::optional(value / *bound - 1) : std::nullopt;
  }
};

// A node with MACs in a plan: one mapping, and how often it runs.
struct PlanPart {
  std::string node = {};  // of the graph
  size_t layer = 0;       // of Network::layers
  int64_t rows = 0;       // of the output that it computes at once; 0: the layer has none
  int64_t times = 1;      // slices with so many rows
  // Levels at which its tensors live, by Tensor (inputs, weights, outputs).
  std::array<std::string, kTensors> homes = {};
  LoopMapping mapping = {};
  double cycles = 0, energy_pj = 0;  // of one run
  double outer_words = 0;            // read and written at the outermost level in one run
};

// Nodes that run together: a group, or one node. Numbers are of all its nodes and slices.
struct PlanStage {
  std::vector<std::string> nodes = {};
  std::string level = {};  // of a group, where what is between its nodes lives; empty: no group
  int64_t slices = 1;
  std::vector<std::string> pinned = {};  // nodes of which the weights stay at the level
  bool view = false;                     // a concatenation that costs nothing
  std::vector<std::pair<std::string, std::string>> homes = {};  // of what it writes: tensor, level
  std::vector<PlanPart> parts = {};
  double cycles = 0, energy_pj = 0, outer_words = 0;
  double none_cycles = 0, none_energy_pj = 0,
         none_outer_words = 0;  // the same nodes, homes outside
};

// One step of a node's staircase: its optimum while other tensors leave so much room.
struct StaircaseStep {
  size_t layer = 0;
  int64_t rows = 0;
  std::array<std::string, kTensors> homes = {};
  // Words that are left at each level where tensors can live.
  std::vector<std::pair<std::string, int64_t>> room = {};
  std::optional<double> value = {};  // the least that was found; none: nothing fits
  double bound = 0;                  // nothing is below it (edp: energies)
  bool proved = false;
};

// What stays on chip, and what that brings.
struct InterLayerPlan {
  std::vector<std::pair<std::string, std::string>> homes = {};  // on chip: tensor, level
  std::vector<PlanStage> stages = {};                           // in execution order
  double none_cycles = 0, none_energy_pj = 0;  // all homes outside, the same vector nodes
  // Of the best plan without slices that was found, from which those with slices start.
  double homes_cycles = 0, homes_energy_pj = 0;
  MapStatus status = MapStatus::kNothing;
  std::vector<StaircaseStep> staircases = {};
};

struct NetworkMapping {
  std::vector<LayerMapping> layers = {};  // with inter-layer mapping: each by itself, homes outside
  NetworkTotal total = {};
  std::optional<InterLayerPlan> inter_layer = {};
  MapStop stopped_by = MapStop::kSamples;  // of the layers that are not proved, if there are any
  bool interrupted = false;
  double seconds = 0;
};

// The result does not depend on `threads` (0: one per core), nor on interruptions if the run is
// resumed, as long as no budget of seconds is set. Errors: layers that the model cannot take,
// constraints that leave nothing, files that cannot be written; and as CheckMapDevice. It does not
// depend on the device, either.
Result<NetworkMapping> MapNetwork(const MapJob& job, int threads = 0, const RunHooks& hooks = {},
                                  Device device = {});

// Whether a device can price what the job's method tries (tessera/env.h: Device). Errors: a build
// or a machine without it; proofs, models, machines and layers that it does not know.
Result<void> CheckMapDevice(const MapJob& job, Device device);

// The same for every setting of inter_layer: a plan for the network's graph (docs/graphs.md), found
// and bounded by proofs for single nodes. Further errors: networks without a graph.
Result<NetworkMapping> MapGraph(const MapJob& job, int threads = 0, const RunHooks& hooks = {},
                                Device device = {});

// What mappings outside the space of a job cost less, or could, by the network's objective.
struct SpaceGain {
  std::string restriction = {};       // "bypass", "factors"
  std::optional<double> gained = {};  // by searching them, at least of what was found: 0.3 is 30 %
  std::optional<double> could_gain = {};  // by searching them, at most
  std::string text = {};                  // a line for people
};
std::vector<SpaceGain> GainsOf(const MapJob& job, const NetworkMapping& mapping);

// A new run of kind map, and the job of one.
inline constexpr std::string_view kMapRun = "map";
Result<RunDirectory> CreateMapRun(const std::string& path, const MapJob& job,
                                  const RunOrigin& origin);
Result<MapJob> LoadMapJob(const RunDirectory& directory);

// A decision: all values that it may have, and those that constraints leave.
struct DecisionChoices {
  Decision all, left;
  bool follows = false;  // from the others: a factor of the outermost level
};

// The space of a layer that a job would search.
struct SpaceSize {
  int64_t decisions = 0;  // with more than one value
  double log10_size = 0;
  std::vector<DecisionChoices> choices = {};
  std::vector<Relation> relations = {};  // between them
};
// Of all layers, without searching any. Errors as MapNetwork.
Result<std::vector<SpaceSize>> SpaceSizes(const MapJob& job, int threads = 0);

// Below parts that the exact mapper left out, random mappings are priced.
struct RuleVerification {
  std::string_view rule = {};
  int64_t audited = 0, violations = 0;
  double tightest = 0;  // largest bound / cost
};

struct AuditResult {
  std::vector<RuleVerification> rules = {};
  std::vector<Discrepancy> discrepancies = {};
};

// Repeats the proofs of a run, as many rounds as they took, with up to `most` mappings per rule and
// layer. Errors: runs without proofs, and as Verify.
Result<AuditResult> AuditRun(const RunDirectory& directory, int threads, int64_t most);

// ---- Training policies -------------------------------------------------------------------------
//
// A policy (docs/policies.md) learns from the exercises that a curriculum describes, a file of
// format tessera-curriculum-1.

inline constexpr std::string_view kPolicyRun = "policy";
inline constexpr std::string_view kPolicyFile = "policy.safetensors";

// After so many steps of the networks.
struct PolicyRow {
  std::string phase = {};  // "labels", "imitation", "reinforcement"
  int64_t step = 0;
  double loss = 0;        // mean -log p of the values that the best known mappings have, of tiles
  double first_log2 = 0;  // cost of the most probable mapping over the best known, mean log2
  double best_log2 = 0;   // the same for the best of a visit's draws
};

struct PolicyTraining {
  std::string model = {};
  std::vector<PolicyRow> rows = {};
  int64_t step = 0, steps = 0;
  int64_t exercises = 0;
  std::string data_hash = {};   // of the exercises; empty if interrupted
  std::string label_hash = {};  // of what the first 32 of them were to teach; empty as well
  std::string policy = {};      // the file
  bool interrupted = false;
};

// A new run; the curriculum is copied. Errors: curricula that cannot be read, with the place.
Result<RunDirectory> CreatePolicyRun(const std::string& path, const std::string& curriculum_file,
                                     uint64_t seed, const RunOrigin& origin);

// Trains to the end, or until it is stopped. With a directory, goes on from its checkpoint. The
// result is a function of curriculum and seed, for any number of threads and interruptions.
Result<PolicyTraining> TrainPolicy(const std::string& curriculum_file, uint64_t seed, int threads,
                                   const RunHooks& hooks = {});

// ---- Fronts of cycles and energy ---------------------------------------------------------------

// No mapping with at most `cost.cycles` needs less energy than `bound_pj`.
struct FrontPoint {
  LoopMapping mapping = {};
  Cost cost = {};
  double bound_pj = 0;
  MapStatus status = MapStatus::kBounded;
};

struct LayerFront {
  std::string name = {};
  int64_t count = 1;
  Layer layer = {};
  std::vector<FrontPoint> points = {};  // from the least energy to the fewest cycles
  bool complete = false;                // all points are optimal, and there are no others
  // For every mapping some point has at most its cycles, or at most `cycles_gap` more of them than
  // any mapping needs, and at most `gap` more energy. None: nothing is known.
  std::optional<double> gap = {};
  std::optional<double> cycles_gap = {};
  int64_t evaluations = 0;
};

struct NetworkFronts {
  std::vector<LayerFront> layers = {};
  MapStop stopped_by = MapStop::kProved;
  bool interrupted = false;
  double seconds = 0;
};

// The front of every layer. Its ends are what MapNetwork finds for energy and for latency, ties
// decided by the other, each in a third of the time if there is a limit; between them the least
// energy with fewer cycles than the last point, one point after the other. No point is worse than
// another in both. Rounds (0: no limit) are for each point. A point that is not proved within its
// limits is BOUNDED. The job's objective is energy.
Result<NetworkFronts> FindFronts(const MapJob& job, int threads = 0, const RunHooks& hooks = {});

// ---- Comparing methods -------------------------------------------------------------------------
//
// Search methods against each other on one layer: the same space, the same evaluator, the same
// budget, several seeds.

// Runs of a method; each has a place in the table of runs, whether it has begun or not.
inline constexpr int64_t kMostSeeds = 100'000;

struct CompareOptions {
  std::vector<MethodChoice> methods = {};

  // What tables call them. Default: as they are written.
  std::vector<std::string> names = {};
  std::string NameOf(size_t method) const {
    return names.empty() ? methods[method].ToString() : names[method];
  }

  // Seeds per method, counted up from the job's. Default: 5.
  int64_t seeds = 5;

  // The lowest value known from elsewhere. Default: none.
  std::optional<double> best_known = {};

  // A run ends once it is this close to the best known value, which must then be given: 0.05 is
  // 5 %. For counting samples of slow methods. Default: none.
  std::optional<double> stop_within = {};

  // Methods that may run on beyond the budget, by name with settings, and to how many samples: runs
  // that are not within `extend_within` of the best value of all go on until they are. Tables still
  // compare at the budget; samples to a value count all. Default: none.
  std::vector<std::pair<std::string, int64_t>> extend = {};

  // Default: 0.05.
  double extend_within = 0.05;

  // Trials of a run, or of its extension, that are taken instead of evaluating; the search ends
  // where they do. For verification. Default: empty.
  std::function<std::vector<Trial>(size_t run, bool extended)> replay = {};
};

struct CompareRun {
  std::string method = {};
  int64_t seed = 1;
  SearchResult result = {};

  int64_t budget = 0;  // samples of the comparison; an extended run has more

  std::optional<double> best() const {
    return result.best ? std::optional(result.best->outcome.value) : std::nullopt;
  }
  // The best value within the budget, or nothing.
  std::optional<double> BestWithinBudget() const;
  // Samples until a value of at most `value` was found, or nothing.
  std::optional<int64_t> SamplesTo(double value) const;
  // The mean reward of the last whole thousand of samples within the budget, or nothing.
  std::optional<double> LastReturn() const;
};

struct Comparison {
  std::vector<CompareRun> runs = {};      // method by method, seed by seed
  std::optional<double> best_known = {};  // of these runs and of the options
  double log10_size = 0;                  // of the space
  std::optional<double> bound = {};
  // What rewards are measured by: the value of the first feasible point of a fixed random sequence,
  // as in environment `mapping`. None if there is no such point.
  std::optional<double> reference = {};
};

// Runs side by side on `threads` threads; only the times depend on how many. The job's network has
// one layer. With a directory every run has a journal, which it goes on with.
Result<Comparison> CompareMethods(const MapJob& job, const CompareOptions& options, int threads = 0,
                                  const RunHooks& hooks = {});

// What all seeds of a method amount to.
struct MethodSummary {
  std::string method = {};
  // At the budget, over the seeds; infinite where too few found anything.
  double median = 0, lower_quartile = 0, upper_quartile = 0;
  // Median samples to come within 10 %, 5 % and 1 % of the best known value; none if most seeds
  // never did.
  std::optional<double> to_10, to_5, to_1;
  // Mean over the seeds of their last returns; none without a whole thousand of samples.
  std::optional<double> last_return = {};
  double seconds = 0;  // mean, extensions included
};
std::vector<MethodSummary> Summarize(const Comparison& comparison);

inline constexpr std::string_view kCompareRun = "compare";

// A layer, and how methods are compared on it.
struct CompareJob {
  MapJob problem = {};
  CompareOptions options = {};
};

// A new run, and the job of one.
Result<RunDirectory> CreateCompareRun(const std::string& path, const CompareJob& job,
                                      const RunOrigin& origin);
Result<CompareJob> LoadCompareJob(const RunDirectory& directory);

// ---- Why a result is what it is ----------------------------------------------------------------

// Where the cycles of all MAC units go, as parts of units x cycles that add up to 1.
struct MacCycles {
  double useful = 0;   // operations of the layer on data
  double padding = 0;  // operations of the layer on zeros that padding adds
  double ragged = 0;   // units in use, idle in last iterations that have less to do
  double unused = 0;   // units that the mapping does not use
  double waiting = 0;  // for memories, and for networks to fill and drain
};

struct LayerExplanation {
  std::string name = {};
  int64_t count = 1;
  Layer layer = {};
  // Empty if no mapping was found; then what follows is empty, too.
  std::optional<Mapping> mapping = {};
  CostBreakdown parts = {};
  MacCycles mac_cycles = {};
  // Of the objective, as reported: no mapping of the space has a lower value.
  double value = 0;
  std::optional<double> bound = {};
  std::string status = {};  // "OPTIMAL", ...
};

struct RunExplanation {
  std::string folder = {}, network = {}, accelerator = {}, model = {}, objective = {};
  std::vector<LayerExplanation> layers = {};
};

// What a mapping of one of the job's layers costs, and why. Errors as ConfiguredModel::BreakDown.
Result<LayerExplanation> ExplainMapping(const MapJob& job, const NetworkLayer& layer,
                                        const Mapping& mapping);

struct ExplainOptions {
  // Only this layer: its name or 1-based index. Default: empty (all).
  std::string layer = {};

  // The machine that the mappings are priced on, with as many levels as the run's. Default: none
  // (the run's own; numbers that are not those of its result are then an error).
  std::optional<Accelerator> accelerator = {};
};

// The same for the mappings that a run of kind map or compare has found; of compare, the best.
// Errors: runs of other kinds, and runs that have not ended.
Result<RunExplanation> ExplainRun(const RunDirectory& directory,
                                  const ExplainOptions& options = {});

// "DRAM limits the layer: ...", with by how much it would gain.
std::string LimitSentence(const LayerExplanation& layer);

// The loop nest with tiles, or the directives of a dataflow.
std::string MappingText(const LayerExplanation& layer);

// How energies differ, part by part. A part that one side does not have counts as 0 there.
struct PartDelta {
  std::string level = {}, tensor = {};
  double a_pj = 0, b_pj = 0;
  double delta_pj() const { return b_pj - a_pj; }
};

struct LayerDiff {
  std::string name = {};
  // Places in the layers of the two explanations; none: only the other run has it.
  std::optional<size_t> a = {}, b = {};
  std::vector<PartDelta> parts = {};  // by level, those of a first; per occurrence
};

struct RunDiff {
  RunExplanation a = {}, b = {};
  std::vector<LayerDiff> layers = {};
  // Of all layers that both have, times their counts; `mac` and `leakage` are parts without tensor.
  std::vector<PartDelta> parts = {};
};

// Layers belong together by name, and where names differ by equal sizes, in their order.
RunDiff DiffRuns(RunExplanation a, RunExplanation b);

// ---- Agents for decisions ----------------------------------------------------------------------

// How decisions are grouped (docs/assignment.md); the words are those of LinkageNames and so on.
struct AssignOptions {
  // Agents, at most one per decision; 0 to cut the tree at height `threshold` instead. Default: 0.
  int64_t agents = 0;
  double threshold = 0;  // Default: 0 (only what is equal shares an agent).

  // Part of the feasible samples that is kept, the best ones. Default: 0.15.
  double top = 0.15;

  std::string linkage = "ward";    // Between groups. Default: ward.
  std::string distance = "rows";   // Between decisions. Default: rows.
  std::string orders = "lehmer";   // How a loop order enters: lehmer, positions. Default: lehmer.
  std::string reward = "inverse";  // 1 / objective, or -log objective (log). Default: inverse.

  // Threads that evaluate; results do not depend on it. Default: 0 (one per core).
  int threads = 0;

  // Polled while samples are collected; true ends that, and what there is counts. Default: none.
  std::function<bool()> stopped = {};
};
std::vector<std::string> LinkageNames();
std::vector<std::string> DistanceNames();

struct AssignmentStudy;

struct AgentAssignment {
  std::vector<std::vector<std::string>> agents = {};  // the decisions of each
  std::shared_ptr<const AssignmentStudy> study = {};  // how they were found, for reports
};

// Collects samples of the job's first layer with `policy`, within the job's budget and from its
// seed, and assigns the decisions of its space (Algorithm 1 of the MARL mapper). The errors are
// those of problem, method and search, unknown words, too few feasible samples, and more agents
// than decisions.
Result<AgentAssignment> AssignAgents(const MapJob& job, const MethodChoice& policy,
                                     const AssignOptions& options);

// ---- Proofs for scripts ------------------------------------------------------------------------

struct ExactRowOptions {
  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.

  // For each objective of each row; 0: none. Default: 0.
  double time_limit_seconds = 0;

  // Random mappings per pruning rule that are checked against the bound for which they were left
  // out; the answer then has `audit`. Default: 0.
  int64_t audit = 0;

  // Of those mappings. Default: 1.
  uint64_t seed = 1;
};

// Answers a problem in a line of JSON (docs/optimality.md) with one: the size of the space, the
// optimum for cycles, energy and EDP with its status and mapping, evaluations and seconds.
Result<std::string> AnswerExactRow(std::string_view line, const Where& where,
                                   const ExactRowOptions& options = {});

// ---- Mappings as files -------------------------------------------------------------------------

// Files named `stem` with the extension of their format: a MAESTRO mapping file (.m) for dataflows;
// for loop mappings a loop nest (.txt) and what Timeloop reads, the mapping (.map.yaml) and its
// problem (.problem.yaml); JSON for both.
Result<std::vector<ExportedFile>> ExportMapping(const std::string& stem, const Layer& layer,
                                                const Accelerator& accelerator,
                                                const Mapping& mapping);

// Where the files of a layer's mapping go in a run: "mappings/003_conv2".
std::string MappingStem(size_t layer, std::string_view name);

// The JSON form alone, on one line: the format of the rows of `tessera evaluate --batch`, that is
// [["S",1,1,"K"],["C",64,"P"],...] for dataflows and {"levels":[...]} for loop mappings.
Result<std::string> MappingJson(const Layer& layer, const Accelerator& accelerator,
                                const Mapping& mapping);

// Reads the JSON form back.
Result<Mapping> ParseMappingJson(std::string_view text, const std::string& file, const Layer& layer,
                                 const Accelerator& accelerator);

}  // namespace tessera

#endif  // TESSERA_MAP_H_
