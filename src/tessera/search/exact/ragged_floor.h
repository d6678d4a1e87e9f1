// With any factors: what everything inside a level costs at least, by the number of tiles of the
// level inside that each dimension has, and by the parallel factors; whatever the levels outside
// are like. docs/optimality.md, R5.
#ifndef TESSERA_SEARCH_EXACT_RAGGED_FLOOR_H_
#define TESSERA_SEARCH_EXACT_RAGGED_FLOOR_H_

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tessera/search/exact/frame.h"
#include "tessera/search/exact/model.h"
#include "tessera/search/exact/parallel.h"

namespace tessera::exact {

class RaggedFloor {
 public:
  // Of a tensor that both the level and the one inside it hold; all 0 of one that is not counted.
  struct Prices {
    double fill_pj = 0;    // per word that arrives at the level inside
    double ask_pj = 0;     // per word that the level hands out
    double elided_pj = 0;  // that the first sum of an element does not pay, in each instance
    double fixed_pj = 0;
  };

  // What a tile adds that does not depend on the parallel factors of the level.
  struct Inside {
    // With as many first sums as there can be.
    double fixed_pj = 0;
    // Of a tensor of sums: words that the MACs ask for, first ones of them in each instance of the
    // tile that works on an element, what reading them costs, and the instances of fixed_pj. B5.
    struct Sums {
      double asked = 0, first = 0, read_pj = 0, instances = 0;
    };
    Sums sums[kMaxTensors] = {};
    double at_once = 1;  // MACs below one child that can work at a time
  };

  struct Source {
    const Model& model;
    int level = 0;
    Prices prices[kMaxTensors] = {};
    // Whether tiles of these extents fit; and what the largest ones that are as many add.
    std::function<bool(const int32_t* extents)> fits;
    std::function<Inside(const int32_t* extents)> inside;
    double most_pairs = 0;               // of tiles and parallel factors, that are looked at
    std::function<bool()> stopped = {};  // asked after each tile; empty: never
  };

  // What is known of a tile with all factors of its level.
  struct Decided {
    int32_t spatial[kMaxDims] = {}, temporal[kMaxDims] = {};
    // The part of a dimension that its loop may pass in one iteration. R3.
    double once[kMaxDims] = {};
    // Words of each tensor that arrive at least, and that are handed out, by its elements.
    double arrive[kMaxTensors] = {}, handed_out[kMaxTensors] = {};
  };

  // False if there are too many tiles or too many choices of parallel factors to look at, or if it
  // was stopped.
  bool Build(const Source& source);

  // Energy and cycles of all mappings: none is better than all points in both.
  const OperandFront& front() const { return front_; }

  // The same of mappings with a tile; empty if nothing is known of it.
  std::span<const OperandPoint> PointsOf(const Tile& tile) const;

  // The same of a tile and its parallel factors; zeros if nothing is known.
  OperandPoint CostOf(const Tile& tile, const Decided& decided) const;

 private:
  // Extents of which a dimension has equally many tiles.
  struct Class {
    int32_t least = 1, most = 1;
    double tiles = 1;
  };
  // A dimension with a class of tiles and a parallel factor.
  struct Dealt {
    double rounds = 1;   // steps of the array
    double measure = 1;  // R5
    double first = 1;    // iterations of the first child
  };
  struct Counted {
    int v = 0;
    uint32_t dims = 0;
    bool read_write = false;
    double elements = 1;
    Prices prices = {};
  };
  struct TileEntry {
    Inside inside = {};
    int32_t begin = 0, count = 0;  // of points
  };
  // Products over the dimensions so far.
  struct Products {
    double tiles[kMaxTensors], rounds[kMaxTensors], copies[kMaxTensors];
    double measure = 1, first = 1;
  };
  // Parallel factors that fit the level, dimension by dimension.
  struct Factor {
    int32_t factor = 1, begin = 0, end = 0;  // those of the next dimension
  };

  void ListClasses();
  bool ListFactors();
  int32_t AddFactors(int dim, std::vector<int32_t>& chosen);
  bool FactorsFit(std::span<const int32_t> chosen) const;
  Dealt Deal(int dim, const Class& tiles, int32_t factor) const;
  const Dealt& DealtOf(int dim, int32_t index, int32_t factor) const;
  Products None() const;
  Products With(const Products& before, int dim, int32_t index, int32_t factor) const;
  // One tensor with some factors: what it costs if nothing stays, and as little as it can.
  struct Terms {
    double full = 0, least = 0;
  };
  struct AllTerms {
    Terms energy[kMaxTensors], reads[kMaxTensors], accesses[kMaxTensors];
    double pj = 0, read = 0, access = 0;  // sums of the full costs
  };
  AllTerms TermsOf(const Products& products, const Inside& inside, const Decided* decided) const;
  // `saved`: of some terms, what tensors that stay save at most.
  template <typename Saved>
  OperandPoint CostOf(const AllTerms& terms, const Products& products, const Inside& inside,
                      const Saved& saved) const;
  static double MostSaved(const Terms* terms, int count, double measure);
  void AddTile(const int32_t* classes);
  uint64_t KeyOf(const Tile& tile) const;

  const Model* model_ = nullptr;
  Source const* source_ = nullptr;  // while it is built
  int num_dims_ = 0;
  int64_t most_factor_ = 1;
  double fixed_pj_ = 0, read_bw_ = kInfinity, shared_bw_ = kInfinity;
  int num_counted_ = 0;
  Counted counted_[kMaxTensors] = {};
  std::vector<Class> classes_[kMaxDims];
  std::vector<int16_t> class_of_[kMaxDims];  // by extent
  std::vector<Dealt> dealt_[kMaxDims];       // by class and factor
  uint64_t strides_[kMaxDims] = {};
  std::vector<std::vector<Factor>> factors_;  // by dimension
  std::unordered_map<uint64_t, TileEntry> tiles_;
  std::vector<OperandPoint> points_;
  OperandFront front_ = {};
};

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_RAGGED_FLOOR_H_
