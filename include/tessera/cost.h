// What a mapping costs, and the models that say so.
//
// To price mappings: choose a model, make it for a layer and a machine, evaluate.
//
//   const Result<CostModelChoice> choice = ChooseCostModel(name);
//   const Result<std::unique_ptr<CostModel>> model = (*choice)->Make(layer, machine);
//   const Result<Cost> cost = Evaluate(**model, mapping);
//
// To add a model of your own: derive from CostModel, wrap its settings in a ConfiguredModel, fill
// in a CostModelInfo and call RegisterCostModel. Searches, proofs, files and the command line know
// no more of a model than that; docs/cpp.md has a whole one.
#ifndef TESSERA_COST_H_
#define TESSERA_COST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/mapping.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Rules of model loopnest -------------------------------------------------------------------
//
// The three sets of rules under which model `loopnest` counts.

namespace loopnest {

enum class Semantics : uint8_t {
  kExact,      // what walking the loop nest with sets of elements gives
  kTimeloop3,  // timeloop-model 3.0.3, bit for bit
  kTimeloop4,  // the same with the stride rule of v4; not checked against a v4 binary
};
inline constexpr std::array<std::string_view, 3> kSemanticsNames = {"exact", "timeloop3",
                                                                    "timeloop4"};

inline std::optional<Semantics> FindSemantics(std::string_view name) {
  for (size_t i = 0; i < kSemanticsNames.size(); ++i) {
    if (kSemanticsNames[i] == name) return static_cast<Semantics>(i);
  }
  return std::nullopt;
}

}  // namespace loopnest

struct LoopnestOptions {
  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.
  double clock_ghz = 1;  // what power follows from. Default: 1.
};

// ---- Costs -------------------------------------------------------------------------------------
//
// What a mapping costs: the numbers that searches minimise and reports show.

enum class Tensor : uint8_t { kInput, kWeight, kOutput };
inline constexpr size_t kTensors = 3;

// Words that one memory level, all its instances together, handed out and took in, by Tensor.
struct LevelAccesses {
  std::array<int64_t, kTensors> reads = {};
  std::array<int64_t, kTensors> writes = {};

  friend bool operator==(const LevelAccesses&, const LevelAccesses&) = default;
};

// Doubts about a cost. A model says in its documentation which ones make a mapping infeasible.
enum class CostFlag : uint8_t {
  kL1,            // needs more than the L1 size
  kL2,            // needs more than the L2 size
  kNoc,           // needs more than the on-chip bandwidth; its price is in the cycles
  kOffchip,       // needs more than the off-chip bandwidth; its price is in the cycles
  kRuntime,       // no cycles, or negative ones
  kNegative,      // a negative count
  kNan,           // a number that is not one
  kMacs,          // the MACs counted differ from those of the layer
  kAbovePeak,     // more MACs per cycle than the machine has
  kTileAboveDim,  // a tile larger than its dimension
};
inline constexpr std::array<std::string_view, 10> kCostFlagNames = {
    "L1", "L2", "NOC", "OFFCHIP", "runtime<=0", "negative", "nan", "macs", "thr>peak", "tile>dim"};

// A set of CostFlag.
class CostFlags {
 public:
  constexpr CostFlags() = default;
  constexpr CostFlags(std::initializer_list<CostFlag> flags) {
    for (const CostFlag flag : flags) Set(flag);
  }

  constexpr bool Has(CostFlag flag) const { return (bits_ >> static_cast<int>(flag) & 1) != 0; }
  constexpr void Set(CostFlag flag, bool on = true) {
    bits_ = static_cast<uint16_t>(bits_ | (on ? 1u : 0u) << static_cast<int>(flag));
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr CostFlags operator&(CostFlags other) const {
    CostFlags both;
    both.bits_ = bits_ & other.bits_;
    return both;
  }
  std::vector<std::string_view> Names() const;  // in the order of CostFlag

  friend constexpr bool operator==(CostFlags, CostFlags) = default;

 private:
  uint16_t bits_ = 0;
};

// The rule that an infeasible mapping breaks, with its numbers, small enough to be made millions of
// times a second. CostModel::Describe turns it into a sentence.
struct Violation {
  int16_t rule = 0;   // a code of the model that set it; 0: none
  int16_t level = 0;  // of the hierarchy, where the rule is about one
  int32_t item = 0;   // a dimension, a tensor, ..., where the rule is about one
  double have = 0;    // the inequality is have <= limit, or as the rule says
  double limit = 0;
  // How far the mapping is from all rules that it breaks, on a scale of the model: less is closer.
  // 0: the model cannot tell.
  double excess = 0;

  friend bool operator==(const Violation&, const Violation&) = default;
};

// Numbers of an infeasible mapping are what the model could compute, and zero otherwise.
struct Cost {
  static constexpr size_t kMaxLevels = Hierarchy::kMaxLevels;

  int64_t cycles = 0;
  int64_t macs = 0;
  double energy_pj = 0;
  double power_mw = 0;
  double area_um2 = 0;
  double utilization = 0;  // busy MAC units, as a part of all; 0 to 1
  CostFlags flags = {};
  Violation violation = {};
  int32_t num_levels = 0;
  std::array<LevelAccesses, kMaxLevels> levels = {};  // next to the MACs first

  bool feasible() const { return violation.rule == 0; }
  double edp() const { return energy_pj * static_cast<double>(cycles); }  // pJ * cycles

  friend bool operator==(const Cost&, const Cost&) = default;
};

// What a search makes small: cycles, pJ, pJ * cycles, mW, um^2.
enum class Objective : uint8_t { kLatency, kEnergy, kEdp, kPower, kArea };
inline constexpr std::array<std::string_view, 5> kObjectiveNames = {"latency", "energy", "edp",
                                                                    "power", "area"};
Result<Objective> FindObjective(std::string_view name);
std::string_view ToString(Objective objective);
double ValueOf(const Cost& cost, Objective objective);

// The number of an objective as JSON and --limit call it: cycles, energy_pj, edp, power_mw,
// area_um2.
inline constexpr std::array<std::string_view, 5> kObjectiveKeys = {"cycles", "energy_pj", "edp",
                                                                   "power_mw", "area_um2"};

// Objectives in the order in which they count: of mappings that are equal in one, the next decides.
// Cycles and energy come last, whatever was asked for.
std::vector<Objective> InOrder(std::vector<Objective> objectives);

// What mappings may cost at most, by Objective; those that cost more do not count.
struct CostLimits {
  std::array<double, 5> most = {kNone, kNone, kNone, kNone, kNone};  // Default: no limit.

  static constexpr double kNone = std::numeric_limits<double>::infinity();

  double& Of(Objective objective) { return most[static_cast<size_t>(objective)]; }
  double Of(Objective objective) const { return most[static_cast<size_t>(objective)]; }
  bool any() const { return *this != CostLimits{}; }
  // The first objective of which a cost has too much.
  std::optional<Objective> Broken(const Cost& cost) const;
  // "cycles <= 1000000, energy_pj <= 2e+09"; empty without limits.
  std::string ToString() const;

  friend bool operator==(const CostLimits&, const CostLimits&) = default;
};
// A limit as users write it: "cycles=1e6".
Result<void> ParseLimit(std::string_view text, CostLimits& limits);

// ---- Cost models -------------------------------------------------------------------------------
//
// A cost model prices mappings of one layer on one machine.

// Contract, checked for every model of Tessera:
//   Threads      const functions may be called by many threads, each with a workspace of its own.
//   Determinism  a cost is a function of (layer, machine, options, mapping) alone; what a workspace
//                was used for before makes no difference.
//   Allocation   Evaluate allocates nothing once its workspace has been used.
//   Ownership    a model keeps no reference to what it was made from.
//   Errors       every mapping has a cost; those that break a rule have one that is not feasible.
class CostModel {
 public:
  // Scratch memory for one thread, made by the model that uses it.
  class Workspace {
   public:
    virtual ~Workspace() = default;
  };

  virtual ~CostModel() = default;

  virtual std::unique_ptr<Workspace> MakeWorkspace() const = 0;

  // What the mapping costs. A mapping of another model's kind is a programmer's error.
  virtual Cost Evaluate(const Mapping& mapping, Workspace& workspace) const = 0;

  // The broken rule as a sentence with its numbers, of kind kInfeasible, or kBadValue and the like
  // where the mapping does not suit the layer at all. Only for violations of this model's costs.
  virtual Error Describe(const Violation& violation) const = 0;

  // The same, with what only the mapping tells: which tiles and which loops it is about.
  virtual Error Explain(const Mapping& /*mapping*/, const Violation& violation) const {
    return Describe(violation);
  }
};

// One evaluation without ceremony: an infeasible mapping is an error.
Result<Cost> Evaluate(const CostModel& model, const Mapping& mapping);

// Evaluates batches on the threads of a pool. The model and the pool outlive it.
class BatchEvaluator {
 public:
  BatchEvaluator(const CostModel& model, ThreadPool& pool);

  // costs[i] is the cost of mappings[i], whatever the number of threads; the spans are equally
  // long.
  void EvaluateBatch(std::span<const Mapping> mappings, std::span<Cost> costs);

 private:
  const CostModel& model_;
  ThreadPool& pool_;
  std::vector<std::unique_ptr<CostModel::Workspace>> workspaces_;  // one per thread
};

// ---- A model before it meets a layer -----------------------------------------------------------
//
// A cost model whose settings are chosen, before it meets a layer: everything that spaces, mappers
// and proofs ask of a model without knowing which one it is. What a model does not have it leaves
// at the default.

// What the space of a model's mappings has to have: what the model refuses anyway, or does not tell
// apart, is no decision. A space reads the part of its form.
struct SpaceRules {
  // Loops: whether the order of parallel loops matters on every machine, not only where words pay
  // for hops or neighbours hand them on. Default: false.
  bool always_order_parallel_loops = false;

  // Loops: whether a level also stores the elements that strides and dilations leave between those
  // that a tile touches. Default: true.
  bool store_holes = true;

  // Dataflows: whether tiles of R and S may be smaller than the kernel. Default: false.
  bool kernel_tiles = false;

  // Dataflows: whether R and S may be parallel at L1, an element of the kernel per PE. Default:
  // false.
  bool parallel_kernel = false;

  // Dataflows: whether tiles of a strided Y or X may have more than one output. Default: false.
  bool strided_tiles = false;
};

// What no mapping can be below; empty where the model knows no bound.
struct CostBounds {
  std::optional<double> cycles = {};
  std::optional<double> energy_pj = {};
};

// What a cost is made of: energy and traffic of every tensor at every level, and what the cycles
// wait for. Words are summed over all instances of a level and the whole run.
struct TensorShare {
  std::string name = {};
  bool kept = true;                           // false: it passes the level by
  int64_t tile_words = 0;                     // elements, of one instance
  int64_t reads = 0, fills = 0, updates = 0;  // elements
  double element_words = 1;                   // words of the level that an element takes
  double energy_pj = 0;                       // accesses, addresses and the network below
  double network_pj = 0;                      // the network's part of it
};

struct LevelShare {
  std::string name = {};
  std::vector<TensorShare> tensors = {};
  std::optional<int64_t> entries = {};  // words that one instance can hold; none: unlimited
  int64_t instances = 1, used_instances = 1;
  // Cycles that its bandwidth asks for, and which one that is ("read", "write", "shared"); 0 and
  // empty: it has no limit.
  int64_t cycles = 0;
  std::string bandwidth = {};
  std::optional<double> words_per_cycle = {};  // that bandwidth, of all instances in use
  // What no mapping of the space can need here; none where the model knows no bound.
  std::optional<double> bound_pj = {};

  // Words of the level, rounded up where elements are narrower.
  int64_t used_words() const;  // of one instance
  int64_t moved_words() const;
  double energy_pj() const;
};

inline constexpr std::string_view kComputeLimit = "compute";

struct CostBreakdown {
  // Equal to Evaluate's. The parts are multiples of the last place of energy_pj, so that mac_pj,
  // leakage_pj and the tensors of all levels add up to it exactly, in any order.
  Cost cost = {};
  double mac_pj = 0;
  double leakage_pj = 0;                // 0: not modelled
  std::vector<LevelShare> levels = {};  // next to the MACs first

  int64_t mac_units = 1, used_mac_units = 1;
  int64_t compute_cycles = 0;  // with memories that are never late
  int64_t latency_cycles = 0;  // filling and draining the networks, added at the end
  // What decides the cycles, a level's name or "compute"; and the cycles of the same mapping, with
  // the same traffic, on a machine in which that is infinitely fast.
  std::string limited_by = std::string(kComputeLimit);
  int64_t cycles_if_lifted = 0;

  // What no mapping of the space can be below, and what gives it: "compute" or a level.
  CostBounds bounds = {};
  std::string bound_cycles_from = {};
};

// Makes the parts of a breakdown add up to cost.energy_pj exactly, for models that fill one in.
void SettleParts(CostBreakdown& breakdown);

// A model that is cheaper by the batch, or answers in another process, so that an evaluation may
// also fail. Any thread may use it.
class BatchModel {
 public:
  struct Request {
    Mapping mapping = {};
    int64_t num_pes = 1;
  };

  virtual ~BatchModel() = default;

  // The costs in the order of the requests. An error of kind kInfeasible is a verdict on a mapping;
  // any other is a failure of the evaluation.
  virtual std::vector<Result<Cost>> Evaluate(std::span<const Request> requests,
                                             ThreadPool& pool) const = 0;
};

class ConfiguredModel {
 public:
  virtual ~ConfiguredModel() = default;

  // A model for valid inputs. The error says what the model cannot represent, or which part of the
  // accelerator it misses.
  virtual Result<std::unique_ptr<CostModel>> Make(const Layer& layer,
                                                  const Accelerator& accelerator) const = 0;

  // The same for models that price by the batch; null for all others, whose Make is then used.
  virtual Result<std::unique_ptr<BatchModel>> MakeBatch(const Layer& /*layer*/,
                                                        const Accelerator& /*accelerator*/) const {
    return std::unique_ptr<BatchModel>();
  }

  // The accelerator has the part that the model's form needs.
  virtual SpaceRules RulesFor(const Layer& /*layer*/, const Accelerator& /*accelerator*/) const {
    return {};
  }

  // `any_keep`: for mappings that choose what each level holds. Errors as Make.
  virtual Result<CostBounds> BoundsFor(const Layer& /*layer*/, const Accelerator& /*accelerator*/,
                                       bool /*any_keep*/) const {
    return CostBounds{};
  }

  // What the cost of a mapping is made of; `any_keep` as above, for its bounds. Errors: as Make,
  // kInfeasible for a mapping that has no cost, and kUnsupported for models that know totals only.
  virtual Result<CostBreakdown> BreakDown(const Layer& layer, const Accelerator& accelerator,
                                          const Mapping& mapping, bool any_keep) const;

  // Whether an objective means anything for mappings onto the machine; the error says what the
  // model does not know, or what the machine does not say.
  virtual Result<void> CheckObjective(Objective /*objective*/,
                                      const Accelerator& /*accelerator*/) const {
    return {};
  }

  // What the model takes for granted where it gives power; empty: nothing.
  virtual std::string PowerNote() const { return {}; }

  // The rules of model `loopnest` that every cost follows, for models that price loops by them:
  // proofs hold for these.
  virtual std::optional<loopnest::Semantics> semantics() const { return std::nullopt; }

  // The clock at which a machine's leakage counts and power is given.
  virtual double clock_ghz() const { return 1; }
};

// ---- Models by name ----------------------------------------------------------------------------
//
// One descriptor per model: flags, --help, lists, spaces, bounds, exports and proofs read it.

struct CostModelInfo {
  std::string_view name;     // as in --model
  std::string_view summary;  // one line for lists and --help
  MappingForm form;          // what it prices: its space, files and exports follow from that

  // Whether it is written NAME:COMMAND, the command being run by sh. Default: false.
  bool takes_command = false;

  // Its settings. A setting is a flag --NAME of every command that searches mappings; models that
  // share a setting declare it alike. Default: none.
  std::vector<ParameterInfo> (*parameters)() = [] { return std::vector<ParameterInfo>(); };

  // The model with settings, those that are not given at their defaults. Write Configure<...>.
  Result<std::shared_ptr<const ConfiguredModel>> (*configure)(const CostModelInfo& info,
                                                              const Assignments& settings,
                                                              const std::string& command);
};

// All models, in the order of `tessera list models`: a machine is priced by the first that suits
// it, unless the user names another.
std::span<const CostModelInfo* const> CostModels();

// Adds a model, which has to outlive the program, at the end of the list. Call it before anything
// reads the list. Errors: a name that is taken.
Result<void> RegisterCostModel(const CostModelInfo& model);

Result<const CostModelInfo*> FindCostModel(std::string_view name);

// Whether a machine has the part that mappings of a form are about.
bool HasPartFor(MappingForm form, const Accelerator& accelerator);

// The same as an error with a hint; `model` is its name for the message.
Result<void> CheckMachine(MappingForm form, std::string_view model, const Accelerator& accelerator);

// Whether a text is a value of a model's setting.
Result<void> CheckModelSetting(const ParameterInfo& parameter, std::string_view text);

// A model as a user chose it, parsed once and handed on. Copies share what is configured.
class CostModelChoice {
 public:
  CostModelChoice();  // the first model with its defaults

  // Unknown settings, values out of range and models without their command are errors.
  static Result<CostModelChoice> Make(const CostModelInfo& info, const Assignments& settings = {},
                                      std::string command = {});

  const CostModelInfo& info() const { return *info_; }
  const std::string& command() const { return command_; }
  const Assignments& settings() const { return settings_; }  // all, in the order of parameters

  // The text of --model: NAME, or NAME:COMMAND.
  std::string ToString() const;

  const ConfiguredModel* operator->() const { return model_.get(); }

  friend bool operator==(const CostModelChoice& a, const CostModelChoice& b) {
    return a.info_ == b.info_ && a.command_ == b.command_ && a.settings_ == b.settings_;
  }

 private:
  explicit CostModelChoice(const CostModelInfo* info) : info_(info) {}

  const CostModelInfo* info_;
  std::string command_ = {};
  Assignments settings_ = {};
  std::shared_ptr<const ConfiguredModel> model_ = nullptr;
};

// The choice that a text of --model names.
Result<CostModelChoice> ChooseCostModel(std::string_view text, const Assignments& settings = {});

// The model of a machine for which none was named.
const CostModelInfo& DefaultCostModel(const Accelerator& accelerator);

// A model's `parameters` and `configure`, for a `Model` that is made from options, and from a
// command if it takes one, where Model::Parameters() returns its ParameterList.
template <typename Model>
std::vector<ParameterInfo> DescribeSettings() {
  return Describe(Model::Parameters());
}
template <typename Model>
Result<std::shared_ptr<const ConfiguredModel>> Configure(const CostModelInfo& info,
                                                         const Assignments& settings,
                                                         const std::string& command) {
  const auto options =
      ReadOptions("model " + std::string(info.name), Model::Parameters(), settings);
  if (!options) return options.error();
  if constexpr (requires { Model(*options, command); }) {
    return std::shared_ptr<const ConfiguredModel>(std::make_shared<Model>(*options, command));
  } else {
    return std::shared_ptr<const ConfiguredModel>(std::make_shared<Model>(*options));
  }
}

// ---- Lower bounds ------------------------------------------------------------------------------
//
// What no mapping of a problem onto a hierarchy can be below under model `loopnest`, without
// search, level by level. ConfiguredModel::BoundsFor has the totals of any model that knows bounds.
// docs/bounds.md derives them and lists their assumptions.

// What the bounds take as given.
struct BoundOptions {
  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.

  // Which tensors each level holds, bit by bit, levels[0] first, as LoopLevel::keep. Empty: any
  // mapping may choose, which gives weaker bounds. Default: empty.
  std::vector<uint8_t> keep = {};

  // At which what leaks in a cycle counts. Default: 1.
  double clock_ghz = 1;
};

// Words of one tensor at one level, over all instances and the whole run.
struct TrafficBound {
  int64_t reads = 0, fills = 0, updates = 0;
};

struct LevelBound {
  std::string name = {};
  std::array<TrafficBound, LoopProblem::kMaxTensors> tensors = {};
  // Reads and updates of all tensors together: at least the sum of the above, more where the
  // memory below is too small to hold what is used again.
  int64_t words = 0;
  int64_t cycles = 0;  // that the level's bandwidth asks for; 0: no limit
  double energy_pj = 0;
  double network_pj = 0;  // of the network below
};

struct LoopBounds {
  int64_t compute_cycles = 0;  // with the best fill of the array
  int64_t cycles = 0;
  std::string cycles_from = {};  // what decides: "compute" or a level's name
  double energy_pj = 0;
  double edp() const { return energy_pj * static_cast<double>(cycles); }
  std::vector<LevelBound> levels = {};  // next to the MACs first
};

// Needs a valid problem and a valid hierarchy. Errors: as model `loopnest`, and keep sets that do
// not suit the hierarchy.
Result<LoopBounds> LowerBounds(const LoopProblem& problem, const Hierarchy& hierarchy,
                               const BoundOptions& options = {});

// The keep sets of a mapping, or those that a hierarchy names; empty if it names none.
std::vector<uint8_t> KeepSets(const LoopMapping& mapping);
std::vector<uint8_t> KeepSets(const LoopProblem& problem, const Hierarchy& hierarchy);

}  // namespace tessera

#endif  // TESSERA_COST_H_
