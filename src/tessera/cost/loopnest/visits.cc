// The loop nest as it is, one visit after another.
#include "tessera/cost/loopnest/visits.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tessera::loopnest {
namespace {

constexpr int64_t kMostVisits = 4'000'000;

// Timeloop's walk takes two iterations of each loop: a million visits of so many loops.
constexpr int kMostExtrapolatedLoops = 20;

class Classifier {
 public:
  Classifier(const Setup& setup, const Nest& nest, int tensor, int child)
      : setup_(setup),
        nest_(nest),
        data_(setup.data.tensors[tensor]),
        num_ranks_(setup.data.problem.tensors[static_cast<size_t>(tensor)].num_ranks),
        tensor_(setup.data.problem.tensors[static_cast<size_t>(tensor)]),
        first_(nest.first_temporal[child + 1]),
        num_loops_(nest.num_temporal() - nest.first_temporal[child + 1]),
        extent_(nest.extent[child]) {}

  std::optional<std::vector<VisitClass>> Run() {
    if (setup_.semantics != Semantics::kExact) return Timeloop();
    if (data_.shares) return std::nullopt;
    return nest_.perfect ? Perfect() : Walk();
  }

 private:
  const Loop& LoopAt(int j) const { return nest_.temporal[first_ + j]; }

  void Add(int loop, int64_t times, int64_t words, int64_t new_words, bool forgotten = false) {
    for (VisitClass& known : classes_) {
      if (known.loop == loop && known.words == words && known.new_words == new_words &&
          known.forgotten == forgotten) {
        known.times += times;
        return;
      }
    }
    classes_.push_back({loop, times, words, new_words, forgotten});
  }

  std::vector<VisitClass> Sorted() {
    std::ranges::stable_sort(classes_, {}, &VisitClass::loop);
    return std::move(classes_);
  }

  // --- exact --------------------------------------------------------------------------------

  struct Tile {
    int64_t start[kMaxDims] = {};
    int64_t width[kMaxDims] = {};
  };

  TouchedBox BoxOf(const RankShape& shape, const Tile& tile) const {
    TouchedBox box;
    for (int k = 0; k < shape.num_terms; ++k) box.widths[k] = tile.width[shape.dims[k]];
    return box;
  }

  int64_t Words(const Tile& tile) {
    int64_t words = 1;
    for (int r = 0; r < num_ranks_; ++r) {
      words *= CountTouched(data_.ranks[r], BoxOf(data_.ranks[r], tile), scratch_);
    }
    return words;
  }

  int64_t Common(const Tile& tile, const Tile& before) {
    int64_t words = 1;
    for (int r = 0; r < num_ranks_; ++r) {
      const RankShape& shape = data_.ranks[r];
      int64_t shift = 0;
      for (int k = 0; k < shape.num_terms; ++k) {
        const int d = shape.dims[k];
        shift += shape.coefficients[k] * (before.start[d] - tile.start[d]);
      }
      words *= CountCommon(shape, BoxOf(shape, tile), BoxOf(shape, before), shift, scratch_);
    }
    return words;
  }

  // All tiles have one size, so what is new depends on the loop that advances alone.
  std::vector<VisitClass> Perfect() {
    Tile tile, before;
    for (int d = 0; d < nest_.num_dims; ++d) tile.width[d] = before.width[d] = extent_[d];
    const int64_t words = Words(tile);
    Add(-1, 1, words, words);
    int64_t outside = 1;
    for (int j = 0; j < num_loops_; ++j) outside *= LoopAt(j).count;
    for (int j = 0; j < num_loops_; ++j) {
      outside /= LoopAt(j).count;
      // Inner loops go back from their last iteration.
      for (int d = 0; d < nest_.num_dims; ++d) tile.start[d] = before.start[d] = 0;
      tile.start[LoopAt(j).dim] += LoopAt(j).step;
      for (int k = 0; k < j; ++k)
        before.start[LoopAt(k).dim] += (LoopAt(k).count - 1) * LoopAt(k).step;
      Add(first_ + j, (LoopAt(j).count - 1) * outside, words, words - Common(tile, before));
    }
    return Sorted();
  }

  bool Place(const std::vector<int64_t>& index, Tile& tile) const {
    for (int d = 0; d < nest_.num_dims; ++d) tile.start[d] = 0;
    for (int j = 0; j < num_loops_; ++j) {
      tile.start[LoopAt(j).dim] += index[static_cast<size_t>(j)] * LoopAt(j).step;
    }
    for (int d = 0; d < nest_.num_dims; ++d) {
      const int64_t bound = setup_.data.problem.dimensions[static_cast<size_t>(d)].bound;
      tile.width[d] = std::min(extent_[d], bound - tile.start[d]);
      if (tile.width[d] <= 0) return false;
    }
    return true;
  }

  std::optional<std::vector<VisitClass>> Walk() {
    int64_t visits = 1;
    for (int j = 0; j < num_loops_; ++j) {
      visits *= LoopAt(j).count;
      if (visits > kMostVisits) return std::nullopt;
    }
    std::vector<int64_t> index(static_cast<size_t>(num_loops_), 0);
    Tile before, tile;
    Place(index, before);
    const int64_t words = Words(before);
    Add(-1, 1, words, words);
    int most = -1;  // the outermost loop that advanced since the last visit
    for (;;) {
      int j = 0;
      while (j < num_loops_ && ++index[static_cast<size_t>(j)] == LoopAt(j).count) {
        index[static_cast<size_t>(j++)] = 0;
      }
      if (j == num_loops_) return Sorted();
      most = std::max(most, j);
      if (!Place(index, tile)) continue;  // cut off at the bound
      const int64_t here = Words(tile);
      Add(first_ + most, 1, here, here - Common(tile, before));
      before = tile;
      most = -1;
    }
  }

  // --- Timeloop: two iterations of each loop, the second for all further ones -----------------

  struct Stride {
    bool known = false;
    std::array<int64_t, kMaxRanks> by = {};
  };

  // Words of the box that the displaced box before it does not have.
  int64_t NewWords(const std::array<int64_t, kMaxRanks>& by, int64_t words) const {
    int64_t common = 1;
    for (int r = 0; r < num_ranks_; ++r) {
      const int64_t size = BoxExtent(tensor_.ranks[static_cast<size_t>(r)], extent_);
      common *= std::max<int64_t>(0, size - std::abs(by[static_cast<size_t>(r)]));
    }
    return words - common;
  }

  std::optional<std::vector<VisitClass>> Timeloop() {
    if (!setup_.extrapolate || num_loops_ > kMostExtrapolatedLoops) return std::nullopt;
    const int64_t words = BoxWords(tensor_, extent_);
    Add(-1, 1, words, words);
    Stride stride;
    const bool v4 = setup_.semantics == Semantics::kTimeloop4;
    for (int64_t visit = 1; visit < int64_t{1} << num_loops_; ++visit) {
      int advanced = 0;
      while ((visit >> advanced & 1) == 0) ++advanced;
      int64_t weight = 1;
      std::array<int64_t, kMaxRanks> by = {};
      for (int j = 0; j < num_loops_; ++j) {
        if ((visit >> j & 1) != 0) weight *= LoopAt(j).count - 1;
        for (int r = 0; r < num_ranks_ && j <= advanced; ++r) {
          const int64_t step = LoopAt(j).step * data_.coefficients[LoopAt(j).dim][r];
          by[static_cast<size_t>(r)] += j == advanced ? step : -step;
        }
      }
      const bool still = by == std::array<int64_t, kMaxRanks>{};
      const bool forgotten = stride.known && by != stride.by && !(v4 && still);
      const int64_t fresh = NewWords(by, words);
      Add(first_ + advanced, weight, words, forgotten ? words : fresh, forgotten && fresh < words);
      if (v4 && still) continue;
      stride = forgotten ? Stride{} : Stride{true, by};
    }
    return Sorted();
  }

  const Setup& setup_;
  const Nest& nest_;
  const TensorData& data_;
  const int num_ranks_;
  const LoopTensor& tensor_;
  const int first_, num_loops_;
  const int64_t* extent_;
  TouchedScratch scratch_ = {};
  std::vector<VisitClass> classes_ = {};
};

}  // namespace

std::optional<std::vector<VisitClass>> ClassifyVisits(const Setup& setup, const Nest& nest,
                                                      int tensor, int child) {
  return Classifier(setup, nest, tensor, child).Run();
}

}  // namespace tessera::loopnest
