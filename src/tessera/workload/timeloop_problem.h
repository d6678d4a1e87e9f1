// Timeloop's problem files as they are written: dimensions with sizes, and tensors whose ranks are
// sums of dimensions, before anybody asks which layer that is.
#ifndef TESSERA_WORKLOAD_TIMELOOP_PROBLEM_H_
#define TESSERA_WORKLOAD_TIMELOOP_PROBLEM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

struct TimeloopProblem {
  struct Dimension {
    std::string name = {};
    int64_t size = 1;  // 1 to 2^31 - 1
  };
  struct Coefficient {
    std::string name = {};
    int64_t value = 1;  // 1 to 2^31 - 1
  };
  // A summand coefficient * dimension of a rank.
  struct Term {
    size_t dimension = 0;                        // index in `dimensions`
    int64_t coefficient = 1;                     // 1 to 2^31 - 1, resolved
    std::optional<size_t> named = std::nullopt;  // index in `coefficients`; none: a number, or 1
  };
  struct Tensor {
    std::string name = {};
    bool read_write = false;
    std::vector<std::vector<Term>> ranks = {};  // each with at least one term
  };

  std::string shape = {};  // its name; may be empty
  Where where = {};        // of the problem
  std::vector<Dimension> dimensions = {};
  std::vector<Coefficient> coefficients = {};
  std::vector<Tensor> tensors = {};
  TensorBits bits = {};  // a key of Tessera's, beside `shape`
};

// Reads the key `problem` of a document: versions 0.1 to 0.4, keys with dashes or underscores, the
// shape written out or one of Timeloop's own by name ("cnn-layer", the default; "gemm"; ...), sizes
// under `instance` or beside `shape`, projections as lists ([[R, Wdilation], [P, Wstride]]) or as
// text ("[C, R*Wdilation + P*Wstride]"). Other keys of the document belong to other readers.
// Densities are refused: problems are dense here.
Result<TimeloopProblem> ParseTimeloopProblem(const Node& document);

// The same for a shape that is written out, with sizes of its dimensions and coefficients that come
// from elsewhere; those not given are 1 (coefficients: their default).
Result<TimeloopProblem> ParseTimeloopShape(
    const Node& shape, const std::vector<std::pair<std::string, int64_t>>& sizes);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_TIMELOOP_PROBLEM_H_
