#include "tessera/report/search_data.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "tessera/agents/clustering.h"
#include "tessera/agents/correlation.h"

namespace tessera {
namespace {

constexpr size_t kMostReasons = 12;
constexpr size_t kMostWindows = 16;
constexpr int64_t kFewestKept = 12;  // below, correlations are noise
constexpr size_t kMostCurve = 500;   // points of the best value so far

// Entropy as a part of what it can be, with two digits.
double Evenness(const std::map<int32_t, int64_t>& chosen, int64_t all, int32_t values) {
  const double most = std::log(static_cast<double>(std::min<int64_t>(values, all)));
  if (most <= 0) return 0;
  double entropy = 0;
  for (const auto& [value, times] : chosen) {
    const double part = static_cast<double>(times) / static_cast<double>(all);
    entropy -= part * std::log(part);
  }
  return std::round(entropy / most * 100) / 100;
}

// "L1: 726 elements required > 512" and the like are one reason, whatever their numbers.
std::string WithoutNumbers(std::string_view why) {
  std::string text;
  for (const char c : why) {
    const bool digit = (c >= '0' && c <= '9') || ((c == '.' || c == ',') && text.ends_with('N'));
    if (!digit) {
      text += c;
    } else if (!text.ends_with('N')) {
      text += 'N';
    }
  }
  return text;
}

// How decisions settled: in equal parts of the search, how evenly values were chosen (1: all alike
// often, 0: always the same one), and the one that was chosen most.
Json DecisionsJson(const DecisionSpace& space, const std::vector<Trial>& trials) {
  const size_t windows = std::min(kMostWindows, trials.size());
  Json decisions = Json::array();
  for (const size_t d : space.open()) {
    const Decision& decision = space.decisions()[d];
    Json evenness = Json::array(), favourites = Json::array();
    for (size_t w = 0; w < windows; ++w) {
      std::map<int32_t, int64_t> chosen;
      int64_t all = 0;
      for (size_t i = w * trials.size() / windows; i < (w + 1) * trials.size() / windows; ++i) {
        const Point& point = trials[i].point;
        if (point.size() != space.size()) continue;
        const auto value = static_cast<int32_t>(point[d]);
        if (value < 0 || value >= decision.size()) continue;
        ++chosen[value];
        ++all;
      }
      evenness.push_back(Evenness(chosen, all, decision.size()));
      const auto most =
          std::ranges::max_element(chosen, {}, &std::pair<const int32_t, int64_t>::second);
      favourites.push_back(most == chosen.end() ? Json() : Json(decision.Label(most->first)));
    }
    decisions.push_back({{"name", decision.name()},
                         {"values", decision.size()},
                         {"evenness", std::move(evenness)},
                         {"favourites", std::move(favourites)}});
  }
  return decisions;
}

// What the best samples have in common: the matrix in hundredths, and the tree of its decisions.
// Null where too few samples are feasible to say anything.
Json CorrelationJson(const DecisionSpace& space, const std::vector<Trial>& trials) {
  const Result<CorrelationMatrix> matrix = Correlate(space, trials);
  if (!matrix || matrix->trials < kFewestKept || matrix->decisions() < 2) return nullptr;
  Json rows = Json::array();
  for (size_t i = 0; i < matrix->width(); ++i) {
    Json row = Json::array();
    for (size_t j = 0; j <= i; ++j) row.push_back(std::lround(100 * matrix->at(i, j)));
    rows.push_back(std::move(row));
  }
  const Dendrogram tree =
      Cluster(Distances(*matrix, CorrelationDistance::kRows), matrix->decisions(), Linkage::kWard);
  Json merges = Json::array();
  for (const Merge& merge : tree.merges) {
    merges.push_back({merge.left, merge.right, std::round(merge.height * 1e4) / 1e4});
  }
  return {{"names", matrix->names},
          {"kept", matrix->trials},
          {"rows", std::move(rows)},
          {"merges", std::move(merges)},
          {"order", tree.DrawingOrder()}};
}

}  // namespace

Json SearchJson(const std::string& layer, const DecisionSpace& space,
                const std::vector<Trial>& trials) {
  Json curve = Json::array();
  std::map<std::string, int64_t> reasons;
  int64_t feasible = 0, failed = 0;
  double best = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < trials.size(); ++i) {
    const Outcome& outcome = trials[i].outcome;
    if (!outcome.feasible()) {
      failed += outcome.kind == OutcomeKind::kFailed ? 1 : 0;
      ++reasons[WithoutNumbers(outcome.why)];
      continue;
    }
    ++feasible;
    if (outcome.value >= best) continue;
    best = outcome.value;
    curve.push_back(Json::array({i + 1, best}));
  }
  std::vector<std::pair<std::string, int64_t>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, int64_t>::second);
  Json listed = Json::array();
  int64_t others = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i < kMostReasons) {
      listed.push_back(Json::array({sorted[i].first, sorted[i].second}));
    } else {
      others += sorted[i].second;
    }
  }
  if (others > 0) listed.push_back(Json::array({"others", others}));
  // Of a long curve every n-th improvement, the first and the last: values only go down.
  if (const size_t every = (curve.size() + kMostCurve - 1) / kMostCurve; every > 1) {
    Json thinned = Json::array();
    for (size_t i = 0; i < curve.size(); ++i) {
      if (i % every == 0 || i + 1 == curve.size()) thinned.push_back(std::move(curve[i]));
    }
    curve = std::move(thinned);
  }
  const auto samples = std::ssize(trials);
  return {
      {"layer", layer},
      {"samples", samples},
      {"curve", std::move(curve)},
      {"outcomes",
       {{"feasible", feasible}, {"infeasible", samples - feasible - failed}, {"failed", failed}}},
      {"reasons", std::move(listed)},
      {"decisions", DecisionsJson(space, trials)},
      {"correlation", CorrelationJson(space, trials)}};
}

}  // namespace tessera
