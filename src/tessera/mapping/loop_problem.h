// A layer as a perfect loop nest over affine tensors: what model `loopnest` maps. Dimensions have
// bounds; each rank of a tensor is a sum of dimensions with coefficients. Convolutions, matrix
// products and shapes that a user writes down are all this one type, so nothing further on knows
// them apart.
#ifndef TESSERA_MAPPING_LOOP_PROBLEM_H_
#define TESSERA_MAPPING_LOOP_PROBLEM_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/workload/layer.h"

namespace tessera {

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

}  // namespace tessera

#endif  // TESSERA_MAPPING_LOOP_PROBLEM_H_
