// Mappings: how a layer's loops are tiled, ordered and spread over a machine. Each cost model
// prices one of two forms: directives in MAESTRO's language for a PE array (Dataflow), or a loop
// nest over the levels of a memory hierarchy (LoopMapping). All types are plain data of fixed
// capacity, so that searches can keep millions.
#ifndef TESSERA_MAPPING_H_
#define TESSERA_MAPPING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Dataflows: mappings for a PE array --------------------------------------------------------
//
// A mapping in MAESTRO's language: for each level of the array, outermost first, the order of the
// loops, the tile of each dimension, and which dimension is spread over the units of the level.

// Dimensions by MAESTRO's names, in the order in which it completes mappings. kXOut and kYOut are
// X' and Y', output sizes. kOther stands for any name that no layer has.
enum class DataflowDim : uint8_t { kC, kG, kK, kM, kN, kR, kS, kX, kY, kXOut, kYOut, kOther };
inline constexpr size_t kDataflowDims = 11;  // without kOther

std::string_view ToString(DataflowDim dim);                         // "K", "Y'"; "?" for kOther
std::optional<DataflowDim> FindDataflowDim(std::string_view name);  // "K", "Y'"

// One line of a dataflow. Sizes have 32 bits because MAESTRO's have.
struct DataflowDirective {
  enum class Kind : uint8_t { kTemporal, kSpatial, kCluster };

  Kind kind = Kind::kTemporal;
  DataflowDim dim = DataflowDim::kOther;  // maps only
  int32_t size = 1;                       // of the tile, or of the cluster; at least 1
  int32_t offset = 1;                     // from one tile to the next; maps only; at least 1

  friend bool operator==(const DataflowDirective&, const DataflowDirective&) = default;
};

constexpr DataflowDirective Temporal(int32_t size, int32_t offset, DataflowDim dim) {
  return {DataflowDirective::Kind::kTemporal, dim, size, offset};
}
constexpr DataflowDirective Spatial(int32_t size, int32_t offset, DataflowDim dim) {
  return {DataflowDirective::Kind::kSpatial, dim, size, offset};
}
constexpr DataflowDirective Cluster(int32_t size) {
  return {DataflowDirective::Kind::kCluster, DataflowDim::kOther, size, 1};
}

// Directives in file order; Cluster directives separate the levels. Trivially copyable, so that
// searches can keep many. Whether it makes sense for a layer is for the cost model to say.
class Dataflow {
 public:
  static constexpr size_t kCapacity = 64;

  std::span<const DataflowDirective> directives() const { return {directives_.data(), size_}; }
  size_t size() const { return size_; }
  bool full() const { return size_ == kCapacity; }

  // Only if not full().
  void Add(const DataflowDirective& directive) {
    TESSERA_CHECK(!full());
    directives_[size_++] = directive;
  }

  friend bool operator==(const Dataflow& a, const Dataflow& b);

 private:
  uint32_t size_ = 0;
  std::array<DataflowDirective, kCapacity> directives_ = {};
};
static_assert(std::is_trivially_copyable_v<Dataflow>);

struct DataflowHash {
  size_t operator()(const Dataflow& dataflow) const;
};

// MAESTRO's syntax, one line: "SpatialMap(1,1) K; TemporalMap(3,3) R; Cluster(64,P); ...". The
// indented form, one directive per line, is the inside of a Dataflow block of a mapping file.
std::string ToString(const Dataflow& dataflow);
std::string ToIndentedString(const Dataflow& dataflow, std::string_view indent);

// Reads either form. Blanks, line ends and any of `, ( ) ;` only separate. Errors carry line and
// column; `file` is the name for them, empty if the text is not from a file.
Result<Dataflow> ParseDataflow(std::string_view text, const std::string& file = "");

// ---- Loop problems: what is mapped onto a hierarchy --------------------------------------------
//
// A layer as a perfect loop nest over affine tensors: what model `loopnest` maps. Dimensions have
// bounds; each rank of a tensor is a sum of dimensions with coefficients. Convolutions, matrix
// products and shapes that a user writes down are all this one type, so nothing further on knows
// them apart.

// A name of at most 31 bytes, stored in place.
class ShortName {
 public:
  static constexpr size_t kMaxSize = 31;

  constexpr ShortName() = default;
  // The caller has checked the length; what is longer is cut.
  constexpr ShortName(std::string_view text)  // NOLINT: implicit, "K" means "K"
      : size_(static_cast<uint8_t>(std::min(text.size(), kMaxSize))) {
    for (size_t i = 0; i < size_; ++i) text_[i] = text[i];
  }
  constexpr ShortName(const char* text) : ShortName(std::string_view(text)) {}  // NOLINT: implicit

  constexpr std::string_view view() const { return {text_.data(), size_}; }
  friend constexpr bool operator==(const ShortName&, const ShortName&) = default;

 private:
  std::array<char, kMaxSize> text_ = {};
  uint8_t size_ = 0;
};

struct LoopDimension {
  ShortName name = {};
  int64_t bound = 1;

  friend bool operator==(const LoopDimension&, const LoopDimension&) = default;
};

// A number of the problem by name, such as Wstride.
struct LoopCoefficient {
  ShortName name = {};
  int64_t value = 1;

  friend bool operator==(const LoopCoefficient&, const LoopCoefficient&) = default;
};

// coefficient * index of a dimension.
struct RankTerm {
  int32_t dimension = 0;
  int32_t named = -1;       // index of LoopProblem::coefficients that it came from; -1: none
  int64_t coefficient = 1;  // its value

  friend bool operator==(const RankTerm&, const RankTerm&) = default;
};

// One coordinate of a tensor: the sum of its terms.
struct TensorRank {
  static constexpr size_t kMaxTerms = 4;

  int32_t num_terms = 0;
  std::array<RankTerm, kMaxTerms> terms = {};

  std::span<const RankTerm> view() const { return {terms.data(), static_cast<size_t>(num_terms)}; }
  friend bool operator==(const TensorRank&, const TensorRank&) = default;
};

// What a tensor is to the layer, whatever its name: machines say "Weights" where a matrix product
// says "B".
enum class TensorRole : uint8_t { kInput, kWeight, kOutput, kOther };

struct LoopTensor {
  static constexpr size_t kMaxRanks = 6;

  ShortName name = {};
  TensorRole role = TensorRole::kOther;
  bool read_write = false;  // holds partial sums
  int32_t bits = 0;         // of an element; 0: as the machine says
  int32_t sum_bits = 0;     // the same further in than its outermost level, if it is read-write
  int32_t num_ranks = 0;
  std::array<TensorRank, kMaxRanks> ranks = {};

  std::span<const TensorRank> view() const {
    return {ranks.data(), static_cast<size_t>(num_ranks)};
  }
  friend bool operator==(const LoopTensor&, const LoopTensor&) = default;
};

// Plain data of fixed capacity. Order matters: it is the order of loops that a mapping leaves out,
// and of tensors in sums of floating-point numbers.
struct LoopProblem {
  static constexpr size_t kMaxDimensions = 12;
  static constexpr size_t kMaxTensors = 6;
  static constexpr size_t kMaxCoefficients = 8;

  ShortName shape = {};  // "conv", "gemm", ...
  int32_t num_dimensions = 0;
  int32_t num_tensors = 0;
  int32_t num_coefficients = 0;
  std::array<LoopDimension, kMaxDimensions> dimensions = {};
  std::array<LoopCoefficient, kMaxCoefficients> coefficients = {};
  std::array<LoopTensor, kMaxTensors> tensors = {};

  std::span<const LoopDimension> dims() const {
    return {dimensions.data(), static_cast<size_t>(num_dimensions)};
  }
  std::span<const LoopTensor> tensor_view() const {
    return {tensors.data(), static_cast<size_t>(num_tensors)};
  }
  std::span<const LoopCoefficient> coefficient_view() const {
    return {coefficients.data(), static_cast<size_t>(num_coefficients)};
  }
  friend bool operator==(const LoopProblem&, const LoopProblem&) = default;
};

// Whether the problem makes sense: bounds of at least 1, coefficients of at least 1, names that
// are there and differ, every dimension in some tensor, at least one read-write tensor, and counts
// that fit in 50 bits. The error's `where` is empty, for the caller to fill in.
Result<void> Validate(const LoopProblem& problem);

// The loops of a valid layer. Padding is not modelled: an input has the elements that the
// projection touches. Shapes, dimensions in order:
//   conv     R S P Q C K N     gconv    R S P Q C K N G (C and K per group)
//   dwconv   R S P Q C N       trconv   R S Y X C K N G (Outputs are the window tensor)
//   fc       C K N             gemm     M N K           bgemm  H M N K
Result<LoopProblem> MakeLoopProblem(const Layer& layer);

// Gives the tensors of a problem widths by their roles; what is not given stays.
void SetBits(const TensorBits& bits, LoopProblem& problem);

// A built-in shape by name, with the given bounds and coefficients; those not given are 1. Unknown
// names are errors.
using NamedValues = std::vector<std::pair<std::string, int64_t>>;
Result<LoopProblem> MakeLoopProblem(std::string_view shape, const NamedValues& bounds,
                                    const NamedValues& coefficients = {});

// Names of the built-in shapes.
std::vector<std::string_view> LoopShapeNames();

std::optional<int> FindDimension(const LoopProblem& problem, std::string_view name);
std::optional<int> FindTensor(const LoopProblem& problem, std::string_view name);

// As FindTensor; "Inputs", "Weights" and "Outputs" also find the tensor of that role.
std::optional<int> FindTensorOrRole(const LoopProblem& problem, std::string_view name);

int64_t Macs(const LoopProblem& problem);  // product of the bounds

// "conv R3 S3 P56 Q56 C64 K64 N1 Wstride 2".
std::string ToString(const LoopProblem& problem);

// ---- Loop mappings: mappings for a hierarchy ---------------------------------------------------
//
// A mapping of a loop nest onto a memory hierarchy: for each level, which loops run there one after
// another, which are spread over the level's children, and which tensors the level holds.

// The loops of one level, by dimension of the problem. Loops of factor 1 do nothing.
struct LoopLevel {
  static constexpr size_t kMaxDimensions = LoopProblem::kMaxDimensions;

  // Factors; 0 stands for the dimension's whole bound.
  std::array<int32_t, kMaxDimensions> temporal = Ones();
  std::array<int32_t, kMaxDimensions> spatial = Ones();

  // Dimensions from the innermost loop to the outermost: permutations of 0 .. dimensions-1.
  std::array<uint8_t, kMaxDimensions> temporal_order = Identity();
  std::array<uint8_t, kMaxDimensions> spatial_order = Identity();

  // So many leading entries of spatial_order lie on X, the rest on Y.
  uint8_t split = kMaxDimensions;

  // Bit t: tensor t is held here; otherwise it bypasses the level.
  uint8_t keep = 0xff;

  bool Keeps(int tensor) const { return (keep >> tensor & 1) != 0; }
  friend bool operator==(const LoopLevel&, const LoopLevel&) = default;

 private:
  static constexpr std::array<int32_t, kMaxDimensions> Ones() {
    std::array<int32_t, kMaxDimensions> ones{};
    ones.fill(1);
    return ones;
  }
  static constexpr std::array<uint8_t, kMaxDimensions> Identity() {
    std::array<uint8_t, kMaxDimensions> identity{};
    for (size_t i = 0; i < kMaxDimensions; ++i) identity[i] = static_cast<uint8_t>(i);
    return identity;
  }
};

// Plain data of fixed capacity. levels[0] is next to the MACs, as in Hierarchy.
struct LoopMapping {
  static constexpr size_t kMaxLevels = Hierarchy::kMaxLevels;

  int32_t num_levels = 0;
  std::array<LoopLevel, kMaxLevels> levels = {};

  std::span<LoopLevel> view() { return {levels.data(), static_cast<size_t>(num_levels)}; }
  std::span<const LoopLevel> view() const {
    return {levels.data(), static_cast<size_t>(num_levels)};
  }

  // Only the levels in use are compared.
  friend bool operator==(const LoopMapping& a, const LoopMapping& b);
};
static_assert(std::is_trivially_copyable_v<LoopMapping>);

struct LoopMappingHash {
  size_t operator()(const LoopMapping& mapping) const;
};

// Whether orders are permutations, factors are not negative, splits are in range and keep sets
// name tensors of the problem. Bits and entries beyond the problem are ignored.
Result<void> Validate(const LoopMapping& mapping, const LoopProblem& problem);

// A permutation of a problem's dimensions from the names that a text gives, innermost first;
// dimensions that are left out follow in problem order.
Result<std::array<uint8_t, LoopProblem::kMaxDimensions>> CompleteOrder(
    const LoopProblem& problem, std::span<const std::string> names);

// Words of each tensor that one instance of a level holds.
using TileWords = std::array<int64_t, LoopProblem::kMaxTensors>;

// The nest in the style that users of Timeloop know, outermost loop first:
//
//   DRAM [ Weights:36 Inputs:100 Outputs:64 ]
//   -----------------------------------------
//   | for K in [0:2)
//   |   for P in [0:4) (Spatial-X)
//
//   L1 [ Inputs:12 ]
//   ----------------
//   |     for R in [0:3)
//
// `level_names` are those of the hierarchy, levels[0] first. Without tile sizes only names of
// tensors are shown.
std::string PrintLoopNest(const LoopMapping& mapping, const LoopProblem& problem,
                          std::span<const std::string> level_names,
                          std::span<const TileWords> tile_words = {});

// ---- Mappings of either form -------------------------------------------------------------------
//
// A mapping of any cost model: how a layer's loops are tiled, ordered and spread over a machine.

// Each cost model takes one of the alternatives; space/ makes the one that its model takes.
using Mapping = std::variant<Dataflow, LoopMapping>;

// The alternatives, in their order.
enum class MappingForm : uint8_t {
  kDataflow,  // directives for a PE array
  kLoops,     // loops over the levels of a memory hierarchy
};

inline MappingForm FormOf(const Mapping& mapping) {
  return static_cast<MappingForm>(mapping.index());
}

// ---- Files of Timeloop -------------------------------------------------------------------------
//
// Problem, architecture and mapping, in files of their own or together in one (docs/formats.md).

// Whether a file is a YAML or JSON document with one of these keys: "problem", "mapping", ...
bool FileHasKey(const std::string& path, std::initializer_list<std::string_view> keys);

// The problem of a file, whatever its shape, as long as it is dense and fits into a LoopProblem.
Result<LoopProblem> LoadTimeloopProblem(const std::string& path);

// The mapping of a file. What is left out has Timeloop's defaults.
Result<LoopMapping> LoadTimeloopMapping(const std::string& path, const LoopProblem& problem,
                                        const Hierarchy& hierarchy);

// arch.yaml, ert.yaml if there is something for it, problem.yaml and mapping.yaml for a version of
// Timeloop. The error says what the version cannot express.
std::vector<std::string> TimeloopVersions();  // "0.3", "0.4"
Result<Export> ExportToTimeloop(const LoopProblem& problem, const Accelerator& accelerator,
                                const LoopMapping& mapping, std::string_view version);

}  // namespace tessera

#endif  // TESSERA_MAPPING_H_
