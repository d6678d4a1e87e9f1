// Enumerates how tiles of a level can be dealt out. docs/optimality.md, R5, proves the bound.
#include "tessera/search/exact/ragged_floor.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/search/exact/bound.h"

namespace tessera::exact {
namespace {

// Tiles and parallel factors that are looked at, at most.
constexpr size_t kMostTiles = 60'000, kMostFactors = 20'000;

}  // namespace

void RaggedFloor::ListClasses() {
  uint64_t stride = 1;
  for (int d = 0; d < num_dims_; ++d) {
    const int32_t bound = model_->bounds[d];
    classes_[d].clear();
    class_of_[d].assign(static_cast<size_t>(bound) + 1, 0);
    for (int32_t least = 1; least <= bound;) {
      const auto tiles = static_cast<int32_t>(CeilDiv(bound, least));
      const int32_t most = tiles == 1 ? bound : static_cast<int32_t>(CeilDiv(bound, tiles - 1)) - 1;
      for (int32_t e = least; e <= most; ++e) {
        class_of_[d][static_cast<size_t>(e)] = static_cast<int16_t>(classes_[d].size());
      }
      classes_[d].push_back({.least = least, .most = most, .tiles = static_cast<double>(tiles)});
      least = most + 1;
    }
    dealt_[d].clear();
    for (const Class& tiles : classes_[d]) {
      for (int32_t p = 1; p <= most_factor_; ++p) dealt_[d].push_back(Deal(d, tiles, p));
    }
    strides_[d] = stride;
    stride *= classes_[d].size();
  }
}

RaggedFloor::Dealt RaggedFloor::Deal(int dim, const Class& tiles, int32_t factor) const {
  const int64_t bound = model_->bounds[dim], p = factor;
  const auto count = static_cast<int64_t>(tiles.tiles);
  const auto size = static_cast<double>(bound), number = tiles.tiles;
  Dealt dealt;
  const int64_t rounds = CeilDiv(count, p);
  dealt.rounds = static_cast<double>(rounds);
  const auto first = [&](int64_t e) {
    return static_cast<double>((rounds - 1) * e + std::min(e, bound - (rounds - 1) * e * p));
  };
  // It rises up to some extent, and falls from there.
  dealt.first = std::min(first(tiles.least), first(tiles.most));
  // Each tile counts as much as for the tensor for which it counts most: by its extent, as one of
  // all tiles, or as one of those in its round.
  const int64_t in_last = count - (rounds - 1) * p;
  const double part = static_cast<double>(tiles.most) / size;
  const double left = static_cast<double>(bound - (count - 1) * tiles.least) / size;
  const double of_round = 1 / (dealt.rounds * static_cast<double>(in_last));
  dealt.measure = static_cast<double>((rounds - 1) * p) * part +
                  static_cast<double>(in_last - 1) * std::max(part, of_round) +
                  std::max({left, 1 / number, of_round});
  return dealt;
}

bool RaggedFloor::FactorsFit(std::span<const int32_t> chosen) const {
  const LevelFacts& facts = model_->levels[source_->level];
  const auto place = [&](const auto& self, size_t d, int64_t x, int64_t y) -> bool {
    while (d < chosen.size() && chosen[d] == 1) ++d;
    if (d == chosen.size()) return true;
    return (x * chosen[d] <= facts.fan_x && self(self, d + 1, x * chosen[d], y)) ||
           (y * chosen[d] <= facts.fan_y && self(self, d + 1, x, y * chosen[d]));
  };
  return place(place, 0, 1, 1);
}

// Lists the factors of a dimension after those of the dimensions before it; returns how many there
// are of all dimensions together.
int32_t RaggedFloor::AddFactors(int dim, std::vector<int32_t>& chosen) {
  if (dim == num_dims_) return 1;
  std::vector<Factor>& list = factors_[static_cast<size_t>(dim)];
  const size_t begin = list.size();
  const int64_t most = std::min<int64_t>(most_factor_, model_->bounds[dim]);
  for (int32_t p = 1; p <= most; ++p) {
    chosen.push_back(p);
    const bool fits = FactorsFit(chosen);
    chosen.pop_back();
    if (!fits) break;
    list.push_back({.factor = p});
  }
  const size_t end = list.size();
  int32_t leaves = 0;
  for (size_t k = begin; k < end; ++k) {
    const bool last = dim + 1 == num_dims_;
    const size_t inside = last ? 0 : factors_[static_cast<size_t>(dim) + 1].size();
    chosen.push_back(list[k].factor);
    leaves += AddFactors(dim + 1, chosen);
    chosen.pop_back();
    list[k].begin = static_cast<int32_t>(inside);
    list[k].end = last ? 0 : static_cast<int32_t>(factors_[static_cast<size_t>(dim) + 1].size());
    if (leaves > static_cast<int32_t>(kMostFactors)) return leaves;
  }
  return leaves;
}

bool RaggedFloor::ListFactors() {
  factors_.assign(static_cast<size_t>(num_dims_), {});
  std::vector<int32_t> chosen;
  return AddFactors(0, chosen) <= static_cast<int32_t>(kMostFactors);
}

const RaggedFloor::Dealt& RaggedFloor::DealtOf(int dim, int32_t index, int32_t factor) const {
  return dealt_[dim][static_cast<size_t>(index * most_factor_ + factor - 1)];
}

RaggedFloor::Products RaggedFloor::None() const {
  Products products;
  std::fill_n(products.tiles, num_counted_, 1.0);
  std::fill_n(products.rounds, num_counted_, 1.0);
  std::fill_n(products.copies, num_counted_, 1.0);
  return products;
}

RaggedFloor::Products RaggedFloor::With(const Products& before, int dim, int32_t index,
                                        int32_t factor) const {
  const Dealt& dealt = DealtOf(dim, index, factor);
  Products products = before;
  products.measure *= dealt.measure;
  products.first *= dealt.first;
  for (int k = 0; k < num_counted_; ++k) {
    if (Has(model_->tensors[counted_[k].v].dims, dim)) continue;
    products.tiles[k] *= classes_[dim][static_cast<size_t>(index)].tiles;
    products.rounds[k] *= dealt.rounds;
    products.copies[k] *= factor;
  }
  return products;
}

// At most one tensor stays at a visit. What they save together, if the parts of the visits at which
// they do add up to `measure`.
double RaggedFloor::MostSaved(const Terms* terms, int count, double measure) {
  double saved = 0;
  uint32_t left = (1u << count) - 1;
  while (left != 0 && measure > 0) {
    // Those that save most at a visit come first.
    int best = -1;
    for (int k = 0; k < count; ++k) {
      if (Has(left, k) && (best < 0 || terms[k].full > terms[best].full)) best = k;
    }
    left &= ~(1u << best);
    const Terms& next = terms[best];
    if (next.full <= next.least) continue;
    const double part = std::min(measure, 1 - next.least / next.full);
    saved += part * next.full;
    measure -= part;
  }
  return saved;
}

RaggedFloor::AllTerms RaggedFloor::TermsOf(const Products& products, const Inside& inside,
                                           const Decided* decided) const {
  AllTerms terms;
  terms.pj = fixed_pj_ + inside.fixed_pj;
  for (int k = 0; k < num_counted_; ++k) {
    const Counted& tensor = counted_[k];
    const double arrive = decided != nullptr ? decided->arrive[tensor.v] : products.copies[k];
    const double handed_out = decided != nullptr ? decided->handed_out[tensor.v] : 1;
    const double fill = tensor.elements * tensor.prices.fill_pj;
    const double ask = tensor.elements * tensor.prices.ask_pj;
    terms.energy[k] = {.full = products.tiles[k] * fill + products.rounds[k] * ask,
                       .least = arrive * fill + handed_out * ask};
    terms.pj +=
        terms.energy[k].full - tensor.elements * products.copies[k] * tensor.prices.elided_pj;
    const Inside::Sums& sums = inside.sums[tensor.v];
    terms.pj += sums.read_pj * (std::max(0.0, sums.asked - products.copies[k] * sums.first) -
                                std::max(0.0, sums.asked - sums.instances * sums.first));
    // Sums are read and written, but the first of each element is not read.
    const double asked = tensor.elements * products.rounds[k];
    const double times = tensor.read_write ? 2 : 1;
    terms.reads[k] = {.full = asked, .least = tensor.elements * handed_out};
    terms.accesses[k] = {.full = times * asked, .least = times * tensor.elements * handed_out};
    const double first = tensor.read_write ? tensor.elements : 0;
    terms.read += asked - first;
    terms.access += times * asked - first;
  }
  return terms;
}

template <typename Saved>
OperandPoint RaggedFloor::CostOf(const AllTerms& terms, const Products& products,
                                 const Inside& inside, const Saved& saved) const {
  double cycles = products.first / inside.at_once;
  if (read_bw_ < kInfinity) {
    cycles = std::max(cycles, (terms.read - saved(terms.reads)) / read_bw_);
  }
  if (shared_bw_ < kInfinity) {
    cycles = std::max(cycles, (terms.access - saved(terms.accesses)) / shared_bw_);
  }
  return {.more_pj = terms.pj - saved(terms.energy), .cycles = CeilCycles(cycles)};
}

void RaggedFloor::AddTile(const int32_t* classes) {
  int32_t most[kMaxDims];
  uint64_t key = 0;
  for (int d = 0; d < num_dims_; ++d) {
    most[d] = classes_[d][static_cast<size_t>(classes[d])].most;
    key += strides_[d] * static_cast<uint64_t>(classes[d]);
  }
  TileEntry entry{.inside = source_->inside(most)};
  OperandFront front;
  const auto deal = [&](const auto& self, int dim, int32_t begin, int32_t end,
                        const Products& before) -> void {
    const Class& tiles = classes_[dim][static_cast<size_t>(classes[dim])];
    for (int32_t k = begin; k < end; ++k) {
      const Factor& factor = factors_[static_cast<size_t>(dim)][static_cast<size_t>(k)];
      if (factor.factor > tiles.tiles) break;
      const Products products = With(before, dim, classes[dim], factor.factor);
      if (dim + 1 < num_dims_) {
        self(self, dim + 1, factor.begin, factor.end, products);
      } else {
        const AllTerms terms = TermsOf(products, entry.inside, nullptr);
        front.Add(CostOf(terms, products, entry.inside, [&](const Terms* of) {
          return MostSaved(of, num_counted_, products.measure);
        }));
      }
    }
  };
  deal(deal, 0, 0, static_cast<int32_t>(factors_[0].size()), None());
  entry.begin = static_cast<int32_t>(points_.size());
  entry.count = front.count;
  for (int k = 0; k < front.count; ++k) {
    points_.push_back(front.points[k]);
    front_.Add(front.points[k]);
  }
  tiles_.emplace(key, entry);
}

bool RaggedFloor::Build(const Source& source) {
  model_ = &source.model;
  source_ = &source;
  num_dims_ = model_->num_dims;
  const LevelFacts& facts = model_->levels[source.level];
  most_factor_ = std::max(facts.fan_x, facts.fan_y);
  read_bw_ = facts.read_bw;
  shared_bw_ = facts.shared_bw;
  for (int v = 0; v < model_->num_tensors; ++v) {
    const Prices& prices = source.prices[v];
    fixed_pj_ += prices.fixed_pj;
    if (prices.ask_pj == 0 && prices.fill_pj == 0) continue;
    // Bandwidth is in units, and so are prices per element only where all are as wide.
    if (facts.of[v].units != 1) read_bw_ = shared_bw_ = kInfinity;
    counted_[num_counted_++] = {.v = v,
                                .dims = model_->tensors[v].dims,
                                .read_write = model_->tensors[v].read_write,
                                .elements = model_->tensors[v].elements,
                                .prices = prices};
  }
  if (!ListFactors()) return false;
  ListClasses();
  // All tiles first: whether there are too many is to be known before any is looked at.
  std::vector<std::vector<int32_t>> tiles;
  std::vector<int32_t> chosen(static_cast<size_t>(num_dims_), 0);
  int32_t extents[kMaxDims];
  std::fill_n(extents, kMaxDims, 1);
  const auto choose = [&](const auto& self, int d) -> void {
    if (d == num_dims_) return tiles.push_back(chosen);
    const std::vector<Class>& classes = classes_[d];
    for (size_t k = 0; k < classes.size() && tiles.size() <= kMostTiles; ++k) {
      extents[d] = classes[k].least;
      if (k > 0 && !source.fits(extents)) break;
      chosen[static_cast<size_t>(d)] = static_cast<int32_t>(k);
      self(self, d + 1);
    }
    extents[d] = 1;
    chosen[static_cast<size_t>(d)] = 0;
  };
  choose(choose, 0);
  const double pairs =
      static_cast<double>(tiles.size()) * static_cast<double>(factors_.back().size());
  if (tiles.size() > kMostTiles || pairs > source.most_pairs) return false;
  for (const std::vector<int32_t>& tile : tiles) {
    if (source.stopped && source.stopped()) return false;
    AddTile(tile.data());
  }
  source_ = nullptr;
  return true;
}

uint64_t RaggedFloor::KeyOf(const Tile& tile) const {
  uint64_t key = 0;
  for (int d = 0; d < num_dims_; ++d) {
    key += strides_[d] * static_cast<uint64_t>(class_of_[d][static_cast<size_t>(tile.extents[d])]);
  }
  return key;
}

std::span<const OperandPoint> RaggedFloor::PointsOf(const Tile& tile) const {
  const auto found = tiles_.find(KeyOf(tile));
  if (found == tiles_.end()) return {};
  return std::span(points_).subspan(static_cast<size_t>(found->second.begin),
                                    static_cast<size_t>(found->second.count));
}

// The innermost loop of the level, if it has one, moves all tensors but that which it leaves alone,
// except where it has one iteration only.
OperandPoint RaggedFloor::CostOf(const Tile& tile, const Decided& decided) const {
  const auto found = tiles_.find(KeyOf(tile));
  if (found == tiles_.end()) return {};
  const Inside& inside = found->second.inside;
  Products products = None();
  uint32_t loops = 0;
  for (int d = 0; d < num_dims_; ++d) {
    const int32_t index = class_of_[d][static_cast<size_t>(tile.extents[d])];
    products = With(products, d, index, decided.spatial[d]);
    if (decided.temporal[d] > 1) loops |= 1u << d;
  }
  const AllTerms terms = TermsOf(products, inside, &decided);
  return CostOf(terms, products, inside, [&](const Terms* of) {
    const double saved = MostSaved(of, num_counted_, products.measure);
    double most = loops == 0 ? saved : 0;
    for (int d = 0; d < num_dims_; ++d) {
      if (!Has(loops, d)) continue;
      double sum = 0;
      for (int k = 0; k < num_counted_; ++k) {
        const double part = Has(counted_[k].dims, d) ? decided.once[d] : 1;
        sum += std::max(0.0, std::min(part * of[k].full, of[k].full - of[k].least));
      }
      most = std::max(most, std::min(sum, saved));
    }
    return most;
  });
}

}  // namespace tessera::exact
