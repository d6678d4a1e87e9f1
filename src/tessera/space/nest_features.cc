// Loop nests read out of points, and what they move.
#include "tessera/space/nest_features.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tessera {
namespace {

// The dimensions of each tensor by the names that spaces use.
struct TensorDims {
  std::string_view names;
};
constexpr TensorDims kConvTensors[] = {{"KCRSG"}, {"NCYXPQG"}, {"NKYXPQG"}};
constexpr size_t kInput = 1;  // whose windows overlap
constexpr TensorDims kGemmTensors[] = {{"MKH"}, {"KNH"}, {"MNH"}};

// Columns of a level: units at work, whether others are idle, whether loops run inside the one that
// is spread over units, padding of that loop and of the rest, words of tiles, fetched, streamed.
enum LevelColumn : size_t {
  kUnits,
  kIdle,
  kInside,
  kUneven,
  kPadding,
  kWords,
  kFetched,
  kStreamed,
  kPerLevel
};
constexpr size_t kPerTensor = 3;  // the last three again, for each tensor

}  // namespace

NestFeatures::NestFeatures(const DecisionSpace& space) : space_(space) {
  ReadDecisions();
  if (dims_.empty() || dims_.size() > kMaxDims || levels_.size() > kMaxLevels) {
    size_ = 0;
    return;
  }
  FindTensors();
  size_ = levels_.size() * (kPerLevel + kPerTensor * has_.size()) + 2;
}

size_t NestFeatures::DimOf(const std::string& label) {
  const auto found = std::find(dims_.begin(), dims_.end(), label);
  if (found != dims_.end()) return static_cast<size_t>(found - dims_.begin());
  dims_.push_back(label);
  bounds_.push_back(1);
  return dims_.size() - 1;
}

void NestFeatures::ReadDecisions() {
  const auto level_of = [&](const Decision& decision) -> Level& {
    const size_t at = static_cast<size_t>(std::max(0, decision.level()));
    if (levels_.size() <= at) levels_.resize(at + 1);
    return levels_[at];
  };
  const auto put = [](std::vector<size_t>& list, size_t dim, size_t decision) {
    if (list.size() <= dim) list.resize(dim + 1, kNone);
    list[dim] = decision;
  };
  for (size_t i = 0; i < space_.size(); ++i) {
    const Decision& decision = space_.decisions()[i];
    switch (decision.role()) {
      case DecisionRole::kTile:
      case DecisionRole::kFactor: {
        if (decision.kind() != DecisionKind::kOrdinal) break;
        const size_t dim = DimOf(decision.dimension());
        const double most = static_cast<double>(decision.value(decision.size() - 1));
        bounds_[dim] = std::max(bounds_[dim], most);
        tiles_ = tiles_ || decision.role() == DecisionRole::kTile;
        Level& level = level_of(decision);
        put(decision.name().ends_with("_par") ? level.spatial : level.temporal, dim, i);
        break;
      }
      case DecisionRole::kOrder:
        if (!decision.name().starts_with("par_")) level_of(decision).order = i;
        break;
      case DecisionRole::kParallel: level_of(decision).parallel = i; break;
      case DecisionRole::kCount:
        if (decision.level() != 1) break;
        cluster_ = i;
        units_ = static_cast<double>(decision.value(decision.size() - 1));
        break;
      case DecisionRole::kOther: break;
    }
  }
  for (Level& level : levels_) {
    level.temporal.resize(dims_.size(), kNone);
    level.spatial.resize(dims_.size(), kNone);
  }
}

void NestFeatures::FindTensors() {
  const auto find = [&](std::string_view name) {
    return static_cast<size_t>(std::find(dims_.begin(), dims_.end(), name) - dims_.begin());
  };
  const bool gemm = find("M") < dims_.size();
  const bool depthwise = !gemm && find("K") == dims_.size();
  for (const TensorDims& tensor : gemm ? kGemmTensors : kConvTensors) {
    std::vector<bool>& has = has_.emplace_back();
    for (const std::string& dim : dims_) {
      const bool named = dim.size() == 1 && tensor.names.find(dim) != tensor.names.npos;
      has.push_back(named || (depthwise && dim == "C") || dim.size() != 1);
    }
  }
  window_.assign(dims_.size(), kNone);
  for (const auto& [size, window] : {std::pair("Y", "R"), {"P", "R"}, {"X", "S"}, {"Q", "S"}}) {
    if (find(size) < dims_.size() && find(window) < dims_.size()) {
      window_[find(size)] = find(window);
    }
  }
}

// Tiles of two levels: the loops of a level step through the enclosing tile, and one dimension per
// level is spread over the units.
void NestFeatures::FromTiles(const Point& point, Nest& nest) const {
  const double cluster =
      cluster_ == kNone ? 1.0
                        : static_cast<double>(space_.decisions()[cluster_].value(point[cluster_]));
  double enclosing[kMaxDims];
  for (size_t d = 0; d < dims_.size(); ++d) enclosing[d] = bounds_[d];
  for (size_t l = 0; l < levels_.size(); ++l) {
    const Level& level = levels_[l];
    Loops& loops = nest.levels[l];
    const double units = l == 0 ? std::floor(units_ / cluster) : cluster;
    nest.uneven[l] = nest.padding[l] = 0;
    nest.idle[l] = std::log2(units);
    std::string_view parallel;
    if (level.parallel != kNone) {
      const Decision& decision = space_.decisions()[level.parallel];
      parallel = decision.labels()[static_cast<size_t>(decision.value(point[level.parallel]))];
    }
    for (size_t d = 0; d < dims_.size(); ++d) {
      const size_t decision = level.temporal[d];
      const double tile =
          decision == kNone
              ? enclosing[d]
              : static_cast<double>(space_.decisions()[decision].value(point[decision]));
      const double trips = std::ceil(enclosing[d] / tile);
      const bool spread = dims_[d] == parallel;
      loops.spatial[d] = spread ? std::min(trips, units) : 1;
      nest.idle[l] -= std::log2(loops.spatial[d]);
      loops.temporal[d] = std::ceil(trips / loops.spatial[d]);
      loops.filled[d] = enclosing[d] / (loops.temporal[d] * loops.spatial[d] * tile);
      (spread ? nest.uneven : nest.padding)[l] -= std::log2(loops.filled[d]);
      enclosing[d] = nest.tiles[l][d] = tile;
    }
  }
}

// Factors of dimensions; the outermost level takes what the others leave over.
void NestFeatures::FromFactors(const Point& point, Nest& nest) const {
  for (size_t d = 0; d < dims_.size(); ++d) {
    double rest = bounds_[d];
    for (size_t l = 0; l < levels_.size(); ++l) {
      const auto factor = [&](size_t decision) {
        return decision == kNone
                   ? 1.0
                   : static_cast<double>(space_.decisions()[decision].value(point[decision]));
      };
      nest.levels[l].temporal[d] = factor(levels_[l].temporal[d]);
      nest.levels[l].spatial[d] = factor(levels_[l].spatial[d]);
      nest.levels[l].filled[d] = 1;
      rest /= nest.levels[l].temporal[d] * nest.levels[l].spatial[d];
    }
    if (levels_[0].temporal[d] == kNone) nest.levels[0].temporal[d] = std::max(1.0, rest);
  }
}

double NestFeatures::Volume(const double* tile, size_t tensor) const {
  double volume = 1;
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (!has_[tensor][d]) continue;
    // Inputs overlap: a tile of outputs needs the window around it.
    const bool widened = tensor == kInput && window_[d] != kNone;
    volume *= widened ? tile[d] + tile[window_[d]] - 1 : tile[d];
  }
  return volume;
}

// How often the tile below a level is replaced by the loops of that level: loops inside the
// innermost one that matters to the tensor leave it in place.
double NestFeatures::Fetches(const Level& level, const Loops& loops, const Point& point,
                             size_t tensor) const {
  double fetches = 1;
  const auto matters = [&](size_t d) {
    if (has_[tensor][d]) return true;
    if (tensor != kInput) return false;
    return std::find(window_.begin(), window_.end(), d) != window_.end();
  };
  for (size_t d = 0; d < dims_.size(); ++d) {
    if (matters(d)) fetches *= loops.spatial[d];
  }
  if (level.order == kNone) {
    for (size_t d = 0; d < dims_.size(); ++d) fetches *= loops.temporal[d];
    return fetches;
  }
  const Decision& decision = space_.decisions()[level.order];
  const Permutation order = decision.OrderAt(point[level.order]);
  bool replaced = false;
  for (size_t place = order.size; place-- > 0;) {
    const std::string& label = decision.labels()[order.items[place]];
    const size_t d =
        static_cast<size_t>(std::find(dims_.begin(), dims_.end(), label) - dims_.begin());
    if (d == dims_.size()) continue;
    replaced = replaced || (matters(d) && loops.temporal[d] > 1);
    if (replaced) fetches *= loops.temporal[d];
  }
  return fetches;
}

// Whether loops run inside the one that is spread over units. Its place matters even where it has a
// single step: cost models may count transfers of units at the edge once per step outside.
bool NestFeatures::RunsInside(const Level& level, const Loops& loops, const Point& point) const {
  if (level.order == kNone || level.parallel == kNone) return false;
  const Decision& parallel = space_.decisions()[level.parallel];
  const std::string& spread =
      parallel.labels()[static_cast<size_t>(parallel.value(point[level.parallel]))];
  const Decision& decision = space_.decisions()[level.order];
  const Permutation order = decision.OrderAt(point[level.order]);
  for (size_t place = order.size; place-- > 0;) {
    const std::string& label = decision.labels()[order.items[place]];
    if (label == spread) return false;
    const size_t d =
        static_cast<size_t>(std::find(dims_.begin(), dims_.end(), label) - dims_.begin());
    if (d < dims_.size() && loops.temporal[d] > 1) return true;
  }
  return false;
}

// Words that stream into the tile while the loops of a level run, if a step brings what is new to
// the tile and nothing else: steps of loops that a tensor does not have bring nothing, and windows
// that overlap bring what they do not share. Results leave at every step.
double NestFeatures::Streamed(const Level& level, const Loops& loops, const Point& point,
                              size_t tensor, const double* tile) const {
  double wide[kMaxDims];  // the tiles of all units together, without padding
  for (size_t d = 0; d < dims_.size(); ++d) wide[d] = tile[d] * loops.spatial[d] * loops.filled[d];
  double all = Volume(wide, tensor);
  const bool results = tensor + 1 == has_.size();
  if (results || level.order == kNone) {
    for (size_t d = 0; d < dims_.size(); ++d) all *= loops.temporal[d];
    return all;
  }
  const Decision& decision = space_.decisions()[level.order];
  const Permutation order = decision.OrderAt(point[level.order]);
  size_t nest[kMaxDims], depth = 0;
  double steps[kMaxDims + 1] = {1};
  size_t innermost = 0;  // loop of the tensor, one more than its place
  for (size_t place = 0; place < order.size; ++place) {
    const std::string& label = decision.labels()[order.items[place]];
    const size_t d =
        static_cast<size_t>(std::find(dims_.begin(), dims_.end(), label) - dims_.begin());
    if (d == dims_.size()) continue;
    nest[depth] = d;
    steps[depth + 1] = steps[depth] * loops.temporal[d];
    ++depth;
    if (has_[tensor][d] && loops.temporal[d] > 1) innermost = depth;
  }
  double words = all;
  for (size_t place = 0; place < depth; ++place) {
    const size_t d = nest[place];
    if (!has_[tensor][d]) continue;
    double share = 1;
    if (tensor == kInput && window_[d] != kNone && place + 1 == innermost) {
      share = wide[d] / (wide[d] + wide[window_[d]] - 1);
    }
    words += steps[place] * (loops.temporal[d] - 1) * all * share;
  }
  return words;
}

void NestFeatures::Encode(const Point& point, std::span<double> out) const {
  Nest nest = {};
  tiles_ ? FromTiles(point, nest) : FromFactors(point, nest);
  double tile[kMaxDims];
  std::fill(tile, tile + dims_.size(), 1.0);
  // Inner levels first, because tiles grow outward; words fetched are completed from outside in.
  const size_t tensors = has_.size(), width = kPerLevel + kPerTensor * tensors;
  double busy_units = 0;
  for (size_t l = levels_.size(); l-- > 0;) {
    double* const row = out.data() + l * width;
    const Loops& loops = nest.levels[l];
    if (tiles_) std::copy(nest.tiles[l], nest.tiles[l] + dims_.size(), tile);
    double units = 0, words = 0, held = 0, wide[kMaxDims];
    for (size_t d = 0; d < dims_.size(); ++d) {
      units += std::log2(loops.spatial[d]);
      wide[d] = tile[d] * loops.spatial[d];
    }
    for (size_t t = 0; t < tensors; ++t) {
      double* const numbers = row + kPerLevel + kPerTensor * t;
      const double volume = Volume(tile, t);
      held += volume;
      words += tiles_ ? Volume(wide, t) : volume;
      numbers[0] = std::log2(volume);
      numbers[1] = std::log2(volume) + std::log2(Fetches(levels_[l], loops, point, t));
      numbers[2] = std::log2(Streamed(levels_[l], loops, point, t, tile));
    }
    row[kUnits] = units;
    row[kIdle] = nest.idle[l] > 0 ? 1 : 0;
    row[kInside] = RunsInside(levels_[l], loops, point) ? 1 : 0;
    row[kUneven] = nest.uneven[l];
    row[kPadding] = nest.padding[l];
    row[kWords] = std::log2(words);
    busy_units += units - nest.uneven[l];
    if (l + 1 == levels_.size()) out[size_ - 2] = std::log2(held);
    for (size_t d = 0; d < dims_.size(); ++d) tile[d] *= loops.temporal[d] * loops.spatial[d];
  }
  double rounds[kMaxTensors] = {0, 0, 0};  // of all levels outside, by tensor
  for (size_t l = 0; l < levels_.size(); ++l) {
    double* const row = out.data() + l * width;
    // The outermost memory is filled with all that is not a result, once.
    double fetched = 0, streamed = 0;
    for (size_t t = 0; l == 0 && t + 1 < tensors; ++t) streamed += Volume(bounds_.data(), t);
    for (size_t t = 0; t < tensors; ++t) {
      double* const numbers = row + kPerLevel + kPerTensor * t;
      numbers[1] += rounds[t];
      numbers[2] += rounds[t];
      fetched += std::exp2(numbers[1]);
      streamed += std::exp2(numbers[2]);
      for (size_t d = 0; d < dims_.size(); ++d) {
        const Loops& loops = nest.levels[l];
        rounds[t] += std::log2(loops.temporal[d]);
        if (has_[t][d]) rounds[t] += std::log2(loops.spatial[d]);
      }
    }
    row[kFetched] = std::log2(fetched);
    row[kStreamed] = std::log2(streamed);
  }
  out[size_ - 1] = busy_units;
}

size_t NestFeatures::Group(size_t column) const {
  // How units are used; of a tile its words, fetched and streamed ones; sums and what they lead to.
  enum Kind : size_t { kUse, kTileWords, kTileFetched, kTileStreamed, kSums };
  constexpr Kind kTensorKinds[kPerTensor] = {kTileWords, kTileFetched, kTileStreamed};
  if (column + 1 == size_) return kSums;
  if (column + 2 == size_) return kTileWords;
  const size_t place = column % (kPerLevel + kPerTensor * has_.size());
  const bool of_level = place < kPerLevel;
  if (!of_level) return kTensorKinds[(place - kPerLevel) % kPerTensor];
  if (place < kWords) return kUse;
  return place == kWords ? kTileWords : kSums;
}

std::vector<size_t> NestFeatures::WordsColumns() const {
  std::vector<size_t> columns;
  const size_t width = kPerLevel + kPerTensor * has_.size();
  for (size_t l = 0; size_ > 0 && l < levels_.size(); ++l) columns.push_back(l * width + kWords);
  if (size_ > 0 && tiles_) columns.push_back(size_ - 2);
  return columns;
}

double NestFeatures::Guess(std::span<const double> row) const {
  const size_t width = kPerLevel + kPerTensor * has_.size();
  double guess = -row[size_ - 1];
  for (size_t l = 0; l < levels_.size(); ++l) guess += 0.25 * row[l * width + kStreamed];
  return guess;
}

}  // namespace tessera
