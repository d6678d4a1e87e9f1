#include "tessera/coopt/tuner_model.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera::coopt {
namespace {

constexpr int64_t kMaxRounds = 8'000;

// Mean over n = 1 .. top of the share of the n best rows that is among the n best predicted ones.
class AverageRecall {
 public:
  AverageRecall(std::span<const float> labels, int64_t top)
      : rank_(labels.size()),
        order_(labels.size()),
        top_(std::min<size_t>(static_cast<size_t>(top), labels.size())) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return labels[a] > labels[b]; });
    for (size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = i;
  }

  double operator()(std::span<const float> predictions) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(top_), order_.end(),
                      [&](size_t a, size_t b) {
                        return predictions[a] != predictions[b] ? predictions[a] > predictions[b]
                                                                : a < b;
                      });
    double sum = 0;
    for (size_t n = 1; n <= top_; ++n) {
      size_t hits = 0;
      for (size_t i = 0; i < n; ++i) hits += rank_[order_[i]] < n ? 1 : 0;
      sum += static_cast<double>(hits) / static_cast<double>(n);
    }
    return sum / static_cast<double>(top_);
  }

 private:
  std::vector<size_t> rank_, order_;
  size_t top_;
};

}  // namespace

TunerModel::TunerModel(const Group& group, FeatureKind features, int64_t plan)
    : group_(group), kind_(features), plan_(plan), layers_(group.layers().size()) {}

void TunerModel::Add(const ConfigurationOutcome& outcome) {
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    LayerData& data = layers_[layer];
    FeatureRow row;
    width_ = group_.task(outcome.configuration.hardware, layer)
                 .space.FillFeatures(kind_, outcome.configuration.points[layer], row);
    data.rows.insert(data.rows.end(), row.begin(), row.begin() + static_cast<ptrdiff_t>(width_));
    const MeasuredOutcome& own = outcome.outcomes[layer];
    data.values.push_back(own.valid ? own.value : std::numeric_limits<double>::infinity());
    if (own.valid && (data.best == 0 || own.value < data.best)) data.best = own.value;
  }
}

void TunerModel::Fit() {
  for (LayerData& data : layers_) {
    std::vector<float> labels;
    for (const double value : data.values) labels.push_back(static_cast<float>(data.best / value));
    BoostOptions options = {.max_rounds = kMaxRounds};
    AverageRecall recall(labels, plan_);
    options.score = [&recall](std::span<const float> predictions) { return recall(predictions); };
    // A model that cannot be trained predicts nothing, and the search goes on at random.
    Result<BoostedTrees> trees =
        BoostedTrees::Fit(data.rows, static_cast<int64_t>(width_), labels, options);
    data.trees = trees ? *std::move(trees) : BoostedTrees();
  }
  fitted_ = true;
}

double TunerModel::PredictLayer(uint32_t hardware, size_t layer_of_group,
                                const SchedulePoint& point) const {
  FeatureRow row;
  const size_t width = group_.task(hardware, layer_of_group).space.FillFeatures(kind_, point, row);
  return layers_[layer_of_group].trees.Predict({row.data(), width});
}

double TunerModel::Combine(std::span<const double> layers) const {
  if (layers.size() == 1) return layers.front();
  double best = 0, predicted = 0;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    best += layers_[layer].best;
    predicted += layers_[layer].best / std::max(layers[layer], 0.01);
  }
  // Without any measurement that ran there is nothing to be relative to.
  return predicted > 0 ? best / predicted : 0;
}

}  // namespace tessera::coopt
