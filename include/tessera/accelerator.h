// Accelerators: the machine that a network is mapped onto, in the two forms that cost models need,
// a PE array and a memory hierarchy, and the files that machines are read from. A machine may have
// either form or both.
//
//   Result<Accelerator> machine = LoadAccelerator("eyeriss-256");  // or a path
//   if (!machine) return machine.error();
//   machine->hierarchy->levels[0].entries = 512;
//   if (const Result<void> valid = Validate(*machine); !valid) return valid.error();
#ifndef TESSERA_ACCELERATOR_H_
#define TESSERA_ACCELERATOR_H_

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Machines ----------------------------------------------------------------------------------
//
// Plain data; fill in a struct of your own, or change one that was loaded, and Validate it.

// A two-level array of processing elements, as MAESTRO describes it (specs of model `maestro`).
// Sizes are in elements, bandwidths in elements per cycle.
struct PeArray {
  static constexpr int64_t kUnlimited = (int64_t{1} << 31) - 1;  // MAESTRO's INT_MAX

  int64_t num_pes = 1;
  int64_t simd_lanes = 1;
  int64_t l1_elements = kUnlimited;  // per PE
  int64_t l2_elements = kUnlimited;  // shared
  int64_t noc_elements_per_cycle = kUnlimited;
  int64_t noc_hops = 1;
  int64_t noc_hop_latency_cycles = 1;
  int64_t offchip_elements_per_cycle = 70'000;

  friend bool operator==(const PeArray&, const PeArray&) = default;
};

// The network between a memory level and the level below it (or the MACs).
struct LevelNetwork {
  Decimal hop_pj = 0;      // per word and hop
  Decimal router_pj = 0;   // per word and router
  Decimal ingress_pj = 0;  // per word that enters
  int64_t fill_latency_cycles = 0;
  int64_t drain_latency_cycles = 0;

  friend bool operator==(const LevelNetwork&, const LevelNetwork&) = default;
};

// One level of a memory hierarchy; all its instances are alike.
struct MemoryLevel {
  std::string name = {};
  std::string technology = {};  // "DRAM", "SRAM", ...; for people and for energy tables
  std::optional<int64_t> entries = std::nullopt;  // words per instance; none: unlimited; 0: none
  int64_t word_bits = 16;
  int64_t block_words = 1;         // words per vector access
  int64_t cluster_size = 1;        // instances that share one address generator
  int64_t mesh_x = 1, mesh_y = 1;  // instances = mesh_x * mesh_y
  std::optional<Decimal> read_words_per_cycle = std::nullopt;  // per instance; none: unlimited
  std::optional<Decimal> write_words_per_cycle = std::nullopt;
  std::optional<Decimal> shared_words_per_cycle = std::nullopt;  // reads and writes together
  Decimal multiple_buffering = 1;  // usable entries = floor(entries / multiple_buffering)
  Decimal read_pj = 0, fill_pj = 0, update_pj = 0;  // per vector access
  Decimal address_pj = 0;                           // per generated address
  std::optional<Decimal> area_um2 = std::nullopt;   // of one instance; none: not known
  Decimal leakage_mw = 0;        // of an instance, whatever it does; counts in energies
  bool reduces_in_place = true;  // partial sums are added here, not sent down to be added
  LevelNetwork network = {};     // to the level below

  int64_t instances() const { return mesh_x * mesh_y; }
  friend bool operator==(const MemoryLevel&, const MemoryLevel&) = default;
};

inline constexpr std::array<std::string_view, 3> kTensorNames = {"Weights", "Inputs", "Outputs"};

// The MACs of a hierarchy.
struct Arithmetic {
  std::string name = "MAC";
  int64_t mesh_x = 1, mesh_y = 1;
  int64_t word_bits = 16;
  Decimal mac_pj = 0;
  std::optional<Decimal> area_um2 = std::nullopt;  // of one MAC; none: not known
  Decimal leakage_mw = 0;                          // of one MAC, as of a level

  // What pooling, additions, softmax and the like run on (docs/graphs.md). None: an element takes
  // what a MAC takes, and as many lanes as there are MACs work on them.
  std::optional<Decimal> vector_op_pj = std::nullopt;
  std::optional<int64_t> vector_lanes = std::nullopt;

  int64_t instances() const { return mesh_x * mesh_y; }
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

// Memory levels over an array of MACs (specs of model `loopnest`). levels[0] is next to the MACs,
// levels.back() is the outermost, usually DRAM.
struct Hierarchy {
  // Mappings and costs are plain data of fixed size, so a machine with more levels is refused.
  static constexpr size_t kMaxLevels = 12;

  Arithmetic arithmetic = {};
  std::vector<MemoryLevel> levels = {};
  bool links = false;  // neighbours may hand words on (semantics `exact` only)

  // Whether a mapping may let a level pass by a tensor that it could hold. Default: true.
  bool bypass = true;

  // Widths of tensors that the network gives none. Not given: a word of each level.
  TensorBits bits = {};

  // Which tensors a level may hold by default, level by level: empty means all everywhere. Names
  // are those of kTensorNames (a bypassed tensor is absent).
  std::vector<std::vector<std::string>> keeps = {};

  friend bool operator==(const Hierarchy&, const Hierarchy&) = default;
};

// ---- What mappings must be like ----------------------------------------------------------------
//
// Demands on mappings beyond what sizes and memories ask for: of a user, or of a machine that
// cannot do everything. From YAML (docs/constraints.md), or from Timeloop's constraint files:
//
//   format: tessera-constraints-1
//   dataflow: weight-stationary                # a named set of demands
//   fixed: {K_GLB_par: 16}                     # a decision has this value
//   allowed: {C_GLB: [4, 8]}                   # or one of these
//   forbidden: {P_GLB: [1, 2]}                 # or none of these
//   range: {K_RF: {min: 2, max: 8}}            # or one between
//   ratio: {K_GLB / C_GLB: [0.5, 2]}           # one decision over another
//   order: {order_GLB: [[C, K], [C, P, Q]]}    # C outside K; C outside P outside Q
//   utilization: {min: 0.5}                    # parallel factors use half of the MACs or more
//   types: {fc: {dataflow: output-stationary}} # for layers of a type
//   layers: {"conv*": {fixed: {K_RF: 4}}}      # for layers whose name fits a pattern

struct Constraints {
  enum class Rule : uint8_t {
    kAllowed,    // one of `values`
    kForbidden,  // none of `values`
    kRange,      // between `min` and `max`
    kRatio,      // decision / values[0] between `min` and `max`
    kOrder,      // items `values` in this order, the outermost first
    kInnermost,  // items `values` are the innermost ones, the innermost first
    kOutermost,  // and the outermost ones, the outermost last
    kWhole,      // a factor is the whole size of its dimension
    kDataflow,   // the dataflow values[0]; no decision is named
    kParallel,   // parallel factors use at least the part `min` of all MACs; none is named
  };

  // One line of a file. Where `decision` is a pattern, it stands for every decision that it fits:
  // '*' for any characters, '?' for one.
  struct Demand {
    std::string decision = {};
    Rule rule = Rule::kAllowed;
    std::vector<std::string> values = {};
    double min = 0, max = std::numeric_limits<double>::infinity();

    // Which layers it is about, by type and by name: patterns, after a '!' those of all others.
    // Empty: all.
    std::string type = {};
    std::string layer = {};

    bool IsAbout(std::string_view layer_type, std::string_view layer_name) const;

    // Of the factors that a pattern fits, not those of these dimensions, and only those of
    // dimensions that one of `tensors` has (`others`: that none of them has). Empty: all.
    std::vector<std::string> except = {};
    std::vector<std::string> tensors = {};
    bool others = false;

    Where where = {};

    friend bool operator==(const Demand&, const Demand&) = default;
  };

  std::vector<Demand> demands = {};

  // What a reader could not use, a line each, for people.
  std::vector<std::string> notes = {};

  friend bool operator==(const Constraints&, const Constraints&) = default;
};

// "K_GLB = 16", "C_GLB <= 8", "order_GLB: C before K": a demand as people say it.
std::string ToString(const Constraints::Demand& demand);

// Whether a pattern of names fits all of a name.
bool FitsPattern(std::string_view pattern, std::string_view name);

// Tessera's own files and those of Timeloop (architecture_constraints, mapspace_constraints,
// constraints, mapspace); which one follows from the contents.
Result<Constraints> ParseConstraints(std::string_view text, const std::string& file);
Result<Constraints> ReadConstraints(const std::string& path);

// ---- Accelerators ------------------------------------------------------------------------------

struct Accelerator {
  std::string name = {};
  std::string source = {};  // where the numbers come from, for people
  // What an importer could not use or had to assume, a line each, for people.
  std::vector<std::string> notes = {};
  std::optional<PeArray> pe_array = std::nullopt;
  std::optional<Hierarchy> hierarchy = std::nullopt;
  Constraints constraints = {};  // on every mapping

  friend bool operator==(const Accelerator&, const Accelerator&) = default;
};

// Whether the numbers make sense: positive sizes, one to kMaxLevels levels, meshes that divide the
// meshes below them, bandwidths above zero, instances that fit in 64 bits. The error names the
// level; its `where` is empty, for the caller to fill in.
Result<void> Validate(const Accelerator& accelerator);

// Of all instances of the parts for which they are known; 0: of none.
double KnownAreaUm2(const Hierarchy& hierarchy);
double LeakageMw(const Hierarchy& hierarchy);

// Whether some part of a hierarchy has an energy: without any, energies of mappings mean nothing.
bool HasEnergies(const Hierarchy& hierarchy);

// The area of all instances of MACs and levels; none unless it is known of the MACs and of every
// level but the outermost, which is usually another chip.
std::optional<double> AreaUm2(const Hierarchy& hierarchy);

// Children of one instance of level i along each axis: mesh of level i-1 (i = 0: of the MACs)
// divided by the mesh of level i. Needs a valid hierarchy.
int64_t FanoutX(const Hierarchy& hierarchy, size_t level);
int64_t FanoutY(const Hierarchy& hierarchy, size_t level);

// ---- File formats and presets ------------------------------------------------------------------
//
// A format is a pair of functions between bytes and accelerators; which one a file has follows from
// its contents.

// A machine in files of a format, and what that cannot hold, a line each, for people.
struct AcceleratorExport {
  std::vector<ExportedFile> files = {};  // the machine first, what else it needs behind it
  std::vector<std::string> lost = {};
};

// Contract of a format:
//   Threads      the functions are pure; any thread may call them.
//   Errors       bad input gives an Error with file, line and column; what is not used or had to be
//                assumed is in Accelerator::notes, nothing else is skipped or defaulted.
//   Validity     Validate accepts what `read` returns.
//   Round trip   reading what `write` gives yields an accelerator that is equal but for what `lost`
//                names, once the tables of further files are applied.
struct AcceleratorFormat {
  std::string_view name;
  std::string_view summary;                  // one line for lists and --help
  std::vector<std::string_view> extensions;  // of files that it reads, with the dot
  bool (*recognises)(std::string_view bytes);
  // `file` is the name for messages.
  Result<Accelerator> (*read)(std::string_view bytes, const std::string& file);
  // Null where it cannot be written. Errors: machines that the format cannot express.
  Result<AcceleratorExport> (*write)(const Accelerator& accelerator);
};

// All formats, in the order of `tessera list formats`.
std::span<const AcceleratorFormat* const> AcceleratorFormats();

// The format of a name; the name of a tool alone, as formats of networks have it, is the first that
// is common: timeloop, maestro. Errors: unknown names, with a hint.
Result<const AcceleratorFormat*> FindAcceleratorFormat(std::string_view name);

// A machine in Tessera's own format, which holds everything.
std::string AcceleratorText(const Accelerator& accelerator);

// The format that the contents look like, or null.
const AcceleratorFormat* RecogniseAccelerator(std::string_view bytes);

// Reads an accelerator file; the format follows from the contents.
Result<Accelerator> ReadAccelerator(const std::string& path);

// The same for a file whose bytes are at hand; `path` names it in messages.
Result<Accelerator> ParseAccelerator(std::string_view bytes, const std::string& path);

// The machines that ship with Tessera, sorted by name.
std::span<const EmbeddedFile> AcceleratorPresets();

// An accelerator by preset name ("eyeriss-256") or by path. A preset goes before a file of that
// name; write ./eyeriss-256 for the file.
Result<Accelerator> LoadAccelerator(const std::string& name_or_path);

// Puts the energies of a file into a machine, so that one architecture can be priced with several
// technologies: Tessera's own tables, and the reference tables (ERT) of Accelergy
// (docs/accelerators.md). Components that the machine does not have are notes; if none fits, that
// is an error. Returns the notes.
Result<std::vector<std::string>> ApplyEnergyFile(const std::string& path, Accelerator& accelerator);

// The same for areas: reference tables (ART) of Accelergy.
Result<std::vector<std::string>> ApplyAreaFile(const std::string& path, Accelerator& accelerator);

}  // namespace tessera

#endif  // TESSERA_ACCELERATOR_H_
