#include "tessera/coopt/performance_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/part.h"

namespace tessera::coopt {
namespace {

// Points of either kind that the validity model needs, and where it draws the line.
constexpr int64_t kLeastRefusals = 8;
constexpr double kRefused = 0.25;

// A model is trained again once its data have grown by one part in this many.
constexpr size_t kGrowth = 12;

}  // namespace

PerformanceModel::PerformanceModel(const CooptProblem& problem,
                                   const PerformanceModelOptions& options)
    : problem_(problem), options_(options), data_(options.transfer ? 1 : problem.layers().size()) {
  FeatureRow row;
  width_ = Fill({}, row);
}

double PerformanceModel::Base(const Request& request) const {
  const Task& task = problem_.task(request.hardware, request.layer);
  const CooptOptions& options = problem_.options();
  const double cycles =
      options_.roofline ? task.space.EstimateCycles(request.point) : task.space.FloorCycles();
  const double images = static_cast<double>(problem_.images(request.hardware));
  const double count = static_cast<double>(problem_.layers()[request.layer].count);
  return std::log(count *
                  (options.objective == CooptObjective::kLatency ? cycles : cycles / images));
}

size_t PerformanceModel::Fill(const Request& request, FeatureRow& row) const {
  const ScheduleSpace& space = problem_.task(request.hardware, request.layer).space;
  size_t size = space.FillFeatures(FeatureKind::kLoop, request.point, row);
  for (const float feature : space.Workload()) row[size++] = feature;
  return options_.roofline ? space.AddShares(request.point, row, size) : size;
}

void PerformanceModel::Add(const Measured& measured) {
  FeatureRow row;
  TESSERA_CHECK(Fill(measured.request, row) == width_);
  const auto end = row.begin() + static_cast<ptrdiff_t>(width_);
  validity_.rows.insert(validity_.rows.end(), row.begin(), end);
  validity_.labels.push_back(measured.outcome.valid ? 1.0f : 0.0f);
  if (!measured.outcome.valid) {
    ++refusals_;
    return;
  }
  Data& data = DataOf(measured.request);
  data.rows.insert(data.rows.end(), row.begin(), end);
  data.labels.push_back(
      static_cast<float>(std::log(measured.outcome.value) - Base(measured.request)));
}

// By what was measured here: a few points of this network say more about it than many of others.
bool PerformanceModel::Grown(const Data& data) {
  if (data.fitted < data.loaded) return true;
  const size_t known = data.fitted - data.loaded;
  return data.labels.size() - data.loaded > known + known / kGrowth;
}

void PerformanceModel::Save(TensorWriter& writer) const {
  writer.AddInt("model.width", static_cast<int64_t>(width_));
  const auto save = [&](const std::string& name, const Data& data) {
    writer.Add(name + ".rows", std::span<const float>(data.rows));
    writer.Add(name + ".labels", std::span<const float>(data.labels));
  };
  for (size_t i = 0; i < data_.size(); ++i) save("model." + std::to_string(i), data_[i]);
  save("model.validity", validity_);
}

Result<void> PerformanceModel::LoadOne(const TensorReader& reader, const std::string& name,
                                       Data& data) {
  const Result<int64_t> count = reader.Count(name + ".labels");
  if (!count) return count.error();
  std::vector<float> labels(static_cast<size_t>(*count));
  std::vector<float> rows(labels.size() * width_);
  constexpr float kMost = 1e30f;
  if (Result<void> r = reader.ReadWithin(name + ".labels", std::span(labels), -kMost, kMost); !r) {
    return r;
  }
  if (Result<void> r = reader.ReadWithin(name + ".rows", std::span(rows), -kMost, kMost); !r) {
    return r;
  }
  data.rows.insert(data.rows.end(), rows.begin(), rows.end());
  data.labels.insert(data.labels.end(), labels.begin(), labels.end());
  data.loaded = data.labels.size();
  return {};
}

Result<void> PerformanceModel::Load(const TensorReader& reader) {
  const auto other = [](std::string message) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = std::move(message),
                 .hint = "take the policies of a run with the same target and generator"};
  };
  const Result<int64_t> width = reader.ReadInt("model.width");
  if (!width) return width.error();
  if (*width != static_cast<int64_t>(width_)) {
    return other("the cost model that was saved sees other numbers of a schedule");
  }
  for (size_t i = 0; reader.Has("model." + std::to_string(i) + ".labels"); ++i) {
    Data& data = data_[options_.transfer ? 0 : std::min(i, data_.size() - 1)];
    if (Result<void> r = LoadOne(reader, "model." + std::to_string(i), data); !r) return r;
  }
  if (Result<void> r = LoadOne(reader, "model.validity", validity_); !r) return r;
  for (const float label : validity_.labels) refusals_ += label < 0.5f ? 1 : 0;
  Fit();
  return {};
}

void PerformanceModel::FitOne(Data& data, bool spread) const {
  data.ensemble.clear();
  data.fitted = data.labels.size();
  const BoostOptions boost = {.max_depth = 4, .learning_rate = 0.2, .max_rounds = 60};
  const auto count = static_cast<int64_t>(data.labels.size());
  const int64_t members = spread ? std::max<int64_t>(1, options_.ensemble) : 1;
  for (int64_t member = 0; member < members; ++member) {
    std::vector<float> rows, labels;
    CounterRng rng(options_.seed, StreamId("coopt.ensemble", static_cast<uint64_t>(member)),
                   static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      // The first member sees everything, the others a resample.
      const auto at = static_cast<size_t>(member == 0 ? i : rng.UniformInt(count));
      const auto first = data.rows.begin() + static_cast<ptrdiff_t>(at * width_);
      rows.insert(rows.end(), first, first + static_cast<ptrdiff_t>(width_));
      labels.push_back(data.labels[at]);
    }
    // A model that cannot be trained is left out: the base alone still ranks.
    Result<BoostedTrees> trees =
        BoostedTrees::Fit(rows, static_cast<int64_t>(width_), labels, boost);
    if (trees) data.ensemble.push_back(*std::move(trees));
  }
}

void PerformanceModel::Fit() {
  for (Data& data : data_) {
    if (Grown(data)) FitOne(data, /*spread=*/true);
  }
  // It needs to have seen both kinds, or it would refuse everything.
  const int64_t accepted = std::ssize(validity_.labels) - refusals_;
  const bool both = std::min(refusals_, accepted) >= kLeastRefusals;
  if (options_.validity && both && Grown(validity_)) {
    FitOne(validity_, /*spread=*/false);
  }
}

PerformanceModel::Prediction PerformanceModel::Predict(const Request& request) const {
  const Data& data = data_[options_.transfer ? 0 : request.layer];
  Prediction prediction = {.log_value = Base(request)};
  if (data.ensemble.empty()) return prediction;
  FeatureRow row;
  const size_t width = Fill(request, row);
  double sum = 0, squares = 0;
  for (const BoostedTrees& trees : data.ensemble) {
    const double correction = trees.Predict({row.data(), width});
    sum += correction;
    squares += correction * correction;
  }
  const double count = static_cast<double>(data.ensemble.size()), mean = sum / count;
  prediction.log_value += mean;
  prediction.deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  return prediction;
}

bool PerformanceModel::Refused(const Request& request) const {
  if (validity_.ensemble.empty()) return false;
  FeatureRow row;
  const size_t width = Fill(request, row);
  return validity_.ensemble.front().Predict({row.data(), width}) < kRefused;
}

}  // namespace tessera::coopt
