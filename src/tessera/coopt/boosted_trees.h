// Gradient-boosted regression trees: XGBoost trains them, and this class evaluates them, because a
// search asks for millions of single predictions and a call into the library costs more than one.
#ifndef TESSERA_COOPT_BOOSTED_TREES_H_
#define TESSERA_COOPT_BOOSTED_TREES_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/result.h"

namespace tessera::coopt {

struct BoostOptions {
  int64_t max_depth = 3;        // Default: 3.
  double learning_rate = 0.3;   // Default: 0.3.
  double gamma = 1e-4;          // least gain of a split. Default: 1e-4.
  double min_child_weight = 1;  // Default: 1.
  double lambda = 1;            // L2 on leaves. Default: 1.
  double base = 0;              // prediction without trees. Default: 0.
  int64_t max_rounds = 100;     // trees. Default: 100.

  // After each round: given the predictions of the training rows, a score to maximise. Training
  // ends after `patience` rounds without a better one. May be empty. Default: empty.
  std::function<double(std::span<const float>)> score = {};
  int64_t patience = 20;  // Default: 20.
};

class BoostedTrees {
 public:
  // Rows of `width` features each. Deterministic: one thread; exact splits up to 1,000 rows. The
  // error is for failures inside the library; without rows the model predicts `base`.
  static Result<BoostedTrees> Fit(std::span<const float> rows, int64_t width,
                                  std::span<const float> labels, const BoostOptions& options = {});

  BoostedTrees() = default;
  double Predict(std::span<const float> row) const;
  int64_t size() const { return std::ssize(roots_); }

 private:
  struct Node {
    int32_t feature = -1;  // -1: a leaf
    float threshold = 0;   // below: `yes`; of a leaf its value
    int32_t yes = 0, no = 0;
  };

  Result<void> AddTree(std::string_view dump);

  double base_ = 0;
  std::vector<int32_t> roots_;
  std::vector<Node> nodes_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_BOOSTED_TREES_H_
