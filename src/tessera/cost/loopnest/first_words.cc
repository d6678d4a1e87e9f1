// Walks the iterations of one rank's dimensions, which are few; the tensor's other ranks and all
// other dimensions only multiply.
#include "tessera/cost/loopnest/first_words.h"

#include <algorithm>

namespace tessera::loopnest {
namespace {

class RankWalk {
 public:
  RankWalk(const Nest& nest, const RankShape& rank, const int64_t* bounds, const int64_t* base,
           int child, FirstWordsScratch& scratch)
      : nest_(nest), rank_(rank), bounds_(bounds), base_(base), child_(child), scratch_(scratch) {
    int64_t size = 1;
    for (int t = 0; t < rank.num_terms; ++t) {
      size += rank.coefficients[t] * (bounds[rank.dims[t]] - 1);
    }
    scratch.seen.assign(static_cast<size_t>(size), 0);
    scratch.fresh.clear();
  }

  int64_t Run(int level, int parent) {
    level_ = level;
    parent_ = parent;
    Steps(nest_.num_temporal() - 1);
    return words_;
  }

 private:
  bool Has(int dim) const { return rank_.CoefficientOf(dim) != 0; }

  // All iterations of the temporal loops up to j, outermost first.
  void Steps(int j) {
    while (j >= nest_.first_temporal[child_ + 1] && !Has(nest_.temporal[j].dim)) --j;
    if (j < nest_.first_temporal[child_ + 1]) {
      Instances(nest_.first_spatial[parent_ + 1] - 1);
      words_ += std::ssize(scratch_.fresh);
      for (const int64_t element : scratch_.fresh) scratch_.seen[static_cast<size_t>(element)] = 1;
      scratch_.fresh.clear();
      return;
    }
    const Loop& loop = nest_.temporal[j];
    for (int64_t n = 0; n < loop.count; ++n) {
      shift_[loop.dim] += n * loop.step;
      Steps(j - 1);
      shift_[loop.dim] -= n * loop.step;
    }
  }

  // All instances of level_ below the parent.
  void Instances(int s) {
    while (s >= nest_.first_spatial[level_ + 1] && !Has(nest_.spatial[s].dim)) --s;
    if (s < nest_.first_spatial[level_ + 1]) {
      num_tiles_ = 0;
      Children(s);
      return;
    }
    const Loop& loop = nest_.spatial[s];
    for (int64_t n = 0; n < loop.count; ++n) {
      shift_[loop.dim] += n * loop.step;
      Instances(s - 1);
      shift_[loop.dim] -= n * loop.step;
    }
  }

  void Children(int s) {
    while (s >= nest_.first_spatial[child_ + 1] && !Has(nest_.spatial[s].dim)) --s;
    if (s < nest_.first_spatial[child_ + 1]) {
      AddTile();
      return;
    }
    const Loop& loop = nest_.spatial[s];
    for (int64_t n = 0; n < loop.count; ++n) {
      shift_[loop.dim] += n * loop.step;
      Children(s - 1);
      shift_[loop.dim] -= n * loop.step;
    }
  }

  // The tile of one child, unless another child of the same instance has the same.
  void AddTile() {
    TouchedBox box;
    int64_t start = 0;
    for (int t = 0; t < rank_.num_terms; ++t) {
      const int dim = rank_.dims[t];
      const int64_t first = base_[dim] + shift_[dim];
      const int64_t extent = child_ < 0 ? 1 : nest_.extent[child_][dim];
      if (first >= bounds_[dim]) return;
      box.widths[t] = std::min(extent, bounds_[dim] - first);
      start += rank_.coefficients[t] * first;
    }
    std::vector<int64_t>& tile = scratch_.tile;
    ListTouched(rank_, box, tile);
    for (int64_t& element : tile) element += start;
    for (size_t k = 0; k < num_tiles_; ++k) {
      if (scratch_.tiles[k] == tile) return;
    }
    if (scratch_.tiles.size() == num_tiles_) scratch_.tiles.emplace_back();
    scratch_.tiles[num_tiles_++] = tile;
    for (const int64_t element : tile) {
      if (scratch_.seen[static_cast<size_t>(element)] == 0) scratch_.fresh.push_back(element);
    }
  }

  const Nest& nest_;
  const RankShape& rank_;
  const int64_t* bounds_;
  const int64_t* base_;
  const int child_;
  FirstWordsScratch& scratch_;
  int level_ = 0, parent_ = 0;
  int64_t shift_[kMaxDims] = {};
  size_t num_tiles_ = 0;
  int64_t words_ = 0;
};

}  // namespace

int64_t CountFirstCoordinates(const Nest& nest, const RankShape& rank, const int64_t* bounds,
                              const int64_t* base, int child, int i, int parent,
                              FirstWordsScratch& scratch) {
  return RankWalk(nest, rank, bounds, base, child, scratch).Run(i, parent);
}

}  // namespace tessera::loopnest
