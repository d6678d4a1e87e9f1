// The numeric form of points.
#include "tessera/space/features.h"

#include <cmath>

#include "tessera/result.h"

namespace tessera {
namespace {

// Sizes act by their ratios, so equal ratios become equal distances. Numbers that have no logarithm
// are spread evenly.
std::vector<double> Scaled(const Decision& decision) {
  std::vector<double> scaled;
  const bool positive = decision.value(0) > 0;
  for (int32_t i = 0; i < decision.size(); ++i) {
    scaled.push_back(positive ? std::log(static_cast<double>(decision.value(i))) : i);
  }
  const double least = scaled.front(), width = scaled.back() - least;
  for (double& value : scaled) value = (value - least) / width;
  return scaled;
}

size_t ColumnsOf(const Decision& decision) {
  return decision.kind() == DecisionKind::kOrdinal ? 1 : decision.labels().size();
}

}  // namespace

Features::Features(const DecisionSpace& space) : space_(space), ordinals_(space.size()) {
  for (const size_t i : space.open()) {
    const Decision& decision = space.decisions()[i];
    columns_.insert(columns_.end(), ColumnsOf(decision), {.decision = i, .kind = decision.kind()});
    if (decision.kind() == DecisionKind::kOrdinal) ordinals_[i] = Scaled(decision);
  }
}

void Features::Encode(const Point& point, std::span<double> out) const {
  TESSERA_CHECK(out.size() == columns_.size());
  size_t column = 0;
  for (const size_t i : space_.open()) {
    const Decision& decision = space_.decisions()[i];
    if (decision.kind() == DecisionKind::kOrdinal) {
      out[column++] = ordinals_[i][static_cast<size_t>(point[i])];
      continue;
    }
    const size_t labels = decision.labels().size();
    if (decision.kind() == DecisionKind::kCategorical) {
      for (size_t label = 0; label < labels; ++label) out[column + label] = 0;
      out[column + static_cast<size_t>(decision.value(point[i]))] = 1;
    } else {
      const Permutation order = decision.OrderAt(point[i]);
      for (size_t place = 0; place < labels; ++place) {
        out[column + order.items[place]] =
            static_cast<double>(place) / static_cast<double>(labels - 1);
      }
    }
    column += labels;
  }
}

}  // namespace tessera
