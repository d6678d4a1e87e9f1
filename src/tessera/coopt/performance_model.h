// What DCOC believes a measurement would give: a base that is known beforehand, times a correction
// that boosted trees learn from measurements. One model serves all layers and accelerators, so that
// what was learned on one helps on the others.
#ifndef TESSERA_COOPT_PERFORMANCE_MODEL_H_
#define TESSERA_COOPT_PERFORMANCE_MODEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/coopt/boosted_trees.h"
#include "tessera/coopt/simulator.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera::coopt {

struct PerformanceModelOptions {
  // The base is coopt/roofline.h; off, it is the matrix unit's floor. Default: true.
  bool roofline = true;

  // One model for all layers; off, one for each. Default: true.
  bool transfer = true;

  // Models on resampled data; their spread is the uncertainty. Default: 3.
  int64_t ensemble = 3;

  // Learns which points the generator refuses. Default: true.
  bool validity = true;

  uint64_t seed = 1;
};

class PerformanceModel {
 public:
  // The problem outlives the model.
  PerformanceModel(const CooptProblem& problem, const PerformanceModelOptions& options);

  void Add(const Measured& measured);
  // Trains, if there is enough new.
  void Fit();

  // What was measured, as the model sees it, and what another model of the same target has saved:
  // from then on this one has learned from it, too. Errors: another target's features.
  void Save(TensorWriter& writer) const;
  Result<void> Load(const TensorReader& reader);

  // Natural logarithm of the objective's part, and how unsure that is.
  struct Prediction {
    double log_value = 0;
    double deviation = 0;
  };
  Prediction Predict(const Request& request) const;

  // Whether the generator probably refuses the point.
  bool Refused(const Request& request) const;

 private:
  struct Data {
    std::vector<float> rows;
    std::vector<float> labels;
    std::vector<BoostedTrees> ensemble;
    size_t fitted = 0;  // rows at the last training
    size_t loaded = 0;  // rows of earlier runs, which come first
  };

  double Base(const Request& request) const;
  size_t Fill(const Request& request, FeatureRow& row) const;
  Result<void> LoadOne(const TensorReader& reader, const std::string& name, Data& data);
  Data& DataOf(const Request& request) { return data_[options_.transfer ? 0 : request.layer]; }
  static bool Grown(const Data& data);
  void FitOne(Data& data, bool spread) const;

  const CooptProblem& problem_;
  const PerformanceModelOptions options_;
  size_t width_ = 0;  // features of a point
  std::vector<Data> data_;
  Data validity_;
  int64_t refusals_ = 0;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_PERFORMANCE_MODEL_H_
