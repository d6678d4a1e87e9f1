#include "tessera/coopt/boosted_trees.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include "tessera/base/stop.h"
#include "tessera/base/text.h"
#include "tessera/result.h"

namespace tessera::coopt {
namespace {

Error LibraryError(std::string_view call) {
  return {.kind = ErrorKind::kInternal,
          .message = fmt::format("xgboost: {}: {}", call, XGBGetLastError())};
}

// The library's handles with an end.
class Matrix {
 public:
  ~Matrix() {
    if (handle_ != nullptr) XGDMatrixFree(handle_);
  }
  DMatrixHandle* get() { return &handle_; }
  DMatrixHandle handle() const { return handle_; }

 private:
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  ~Booster() {
    if (handle_ != nullptr) XGBoosterFree(handle_);
  }
  BoosterHandle* get() { return &handle_; }
  BoosterHandle handle() const { return handle_; }

 private:
  BoosterHandle handle_ = nullptr;
};

// Rows from which on splits are looked for among binned values.
constexpr size_t kManyRows = 1'000;

// As std::to_string writes it where no locale has another decimal point.
std::string FixedText(double value) { return fmt::format("{:f}", value); }

Result<void> SetParameters(BoosterHandle booster, size_t rows, const BoostOptions& options) {
  const std::vector<std::pair<std::string, std::string>> parameters = {
      {"booster", "gbtree"},
      {"objective", "reg:squarederror"},
      {"tree_method", rows > kManyRows ? "hist" : "exact"},
      {"nthread", "1"},
      {"seed", "0"},
      {"verbosity", "0"},
      {"subsample", "1"},
      {"alpha", "0"},
      {"max_depth", std::to_string(options.max_depth)},
      {"eta", FixedText(options.learning_rate)},
      {"gamma", FixedText(options.gamma)},
      {"min_child_weight", FixedText(options.min_child_weight)},
      {"lambda", FixedText(options.lambda)},
      {"base_score", FixedText(options.base)}};
  for (const auto& [name, value] : parameters) {
    if (XGBoosterSetParam(booster, name.c_str(), value.c_str()) != 0) return LibraryError(name);
  }
  return {};
}

// Adds rounds until the limit or until the score stops rising; returns the rounds to keep.
Result<int64_t> Train(BoosterHandle booster, DMatrixHandle matrix, const BoostOptions& options) {
  double best = -std::numeric_limits<double>::infinity();
  int64_t best_rounds = 0;
  for (int64_t round = 0; round < options.max_rounds && !Abandoned(); ++round) {
    if (XGBoosterUpdateOneIter(booster, static_cast<int>(round), matrix) != 0) {
      return LibraryError("update");
    }
    if (!options.score) {
      best_rounds = round + 1;
      continue;
    }
    bst_ulong count = 0;
    const float* predictions = nullptr;
    if (XGBoosterPredict(booster, matrix, 0, 0, 1, &count, &predictions) != 0) {
      return LibraryError("predict");
    }
    const double score = options.score({predictions, count});
    if (score > best) {
      best = score;
      best_rounds = round + 1;
    } else if (round + 1 - best_rounds >= options.patience) {
      break;
    }
  }
  return best_rounds;
}

// The number that follows `key` in a line of a dump.
template <typename Number>
bool NumberAfter(std::string_view line, std::string_view key, Number& number) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return false;
  const char* const begin = line.data() + at + key.size();
  return std::from_chars(begin, line.data() + line.size(), number).ec == std::errc{};
}

}  // namespace

Result<void> BoostedTrees::AddTree(std::string_view dump) {
  const auto first = static_cast<int32_t>(nodes_.size());
  roots_.push_back(first);
  const Error unreadable = {.kind = ErrorKind::kInternal,
                            .message = "xgboost: a dump that cannot be read"};
  for (const std::string_view raw : Split(dump, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.empty()) continue;
    int32_t id = 0;
    if (!NumberAfter(line, "", id) || id < 0) return unreadable;
    if (nodes_.size() <= static_cast<size_t>(first + id)) {
      nodes_.resize(static_cast<size_t>(first + id) + 1);
    }
    Node& node = nodes_[static_cast<size_t>(first + id)];
    if (NumberAfter(line, "leaf=", node.threshold)) continue;
    if (!NumberAfter(line, "[f", node.feature) || !NumberAfter(line, "<", node.threshold) ||
        !NumberAfter(line, "yes=", node.yes) || !NumberAfter(line, "no=", node.no)) {
      return unreadable;
    }
    node.yes += first;
    node.no += first;
  }
  return {};
}

Result<BoostedTrees> BoostedTrees::Fit(std::span<const float> rows, int64_t width,
                                       std::span<const float> labels, const BoostOptions& options) {
  TESSERA_CHECK(std::ssize(rows) == width * std::ssize(labels));
  BoostedTrees trees;
  trees.base_ = options.base;
  if (labels.empty()) return trees;
  Matrix matrix;
  if (XGDMatrixCreateFromMat(rows.data(), labels.size(), static_cast<bst_ulong>(width),
                             std::numeric_limits<float>::quiet_NaN(), matrix.get()) != 0 ||
      XGDMatrixSetFloatInfo(matrix.handle(), "label", labels.data(), labels.size()) != 0) {
    return LibraryError("matrix");
  }
  Booster booster;
  const DMatrixHandle matrices[] = {matrix.handle()};
  if (XGBoosterCreate(matrices, 1, booster.get()) != 0) return LibraryError("create");
  if (Result<void> set = SetParameters(booster.handle(), labels.size(), options); !set)
    return set.error();
  const Result<int64_t> rounds = Train(booster.handle(), matrix.handle(), options);
  if (!rounds) return rounds.error();
  bst_ulong count = 0;
  const char** dumps = nullptr;
  if (XGBoosterDumpModelEx(booster.handle(), "", 0, "text", &count, &dumps) != 0) {
    return LibraryError("dump");
  }
  for (int64_t i = 0; i < std::min(*rounds, static_cast<int64_t>(count)); ++i) {
    if (Result<void> added = trees.AddTree(dumps[i]); !added) return added.error();
  }
  return trees;
}

double BoostedTrees::Predict(std::span<const float> row) const {
  double sum = base_;
  for (const int32_t root : roots_) {
    const Node* node = &nodes_[static_cast<size_t>(root)];
    while (node->feature >= 0) {
      const bool below = row[static_cast<size_t>(node->feature)] < node->threshold;
      node = &nodes_[static_cast<size_t>(below ? node->yes : node->no)];
    }
    sum += node->threshold;
  }
  return sum;
}

}  // namespace tessera::coopt
