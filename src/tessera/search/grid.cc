// A pruned grid: a few values of every decision in all combinations, visited in an order that
// covers the grid evenly from the first sample on. Illegal cells and repetitions are left out.
// Where hardly a cell is legal, as with factors that must multiply to a size, the nearest legal
// points stand for them.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "tessera/search.h"

namespace tessera {
namespace {

struct GridOptions {
  int64_t values = 10;
  int64_t orders = 24;
};

__extension__ using Wide = unsigned __int128;

class GridSearcher final : public Searcher {
 public:
  GridSearcher(const SearchSetup& setup, const GridOptions& options) : space_(setup.space) {
    for (const size_t i : space_.open()) AddAxis(i, options);
    stride_ = Stride(cells_);
  }

  std::vector<Point> Propose(int64_t n) override {
    std::vector<Point> points;
    Visit(n, points);
    if (points.empty() && visited_ < cells_ && !repairs_) {
      repairs_ = true;
      Visit(n, points);
    }
    return points;
  }

  void Observe(std::span<const Trial> /*trials*/) override {}  // A grid ignores costs.

  std::vector<Note> Notes() const override {
    return {{"grid_cells", static_cast<double>(cells_)},
            {"decisions_left_out", static_cast<int64_t>(left_out_)}};
  }

 private:
  struct Axis {
    size_t decision;
    std::vector<int32_t> indices = {};
  };

  // Goes on through the grid until there are n points.
  void Visit(int64_t n, std::vector<Point>& points) {
    // Most of the grid can be illegal, so looking for the next cell ends after a while; repairs
    // are slower, and after so many repetitions nothing new is to be expected.
    const int64_t most_skipped = repairs_ ? 1'000 : 100'000;
    for (int64_t skipped = 0; std::ssize(points) < n && visited_ < cells_ && skipped < most_skipped;
         ++visited_, ++skipped) {
      Point point = Cell(static_cast<uint64_t>(static_cast<Wide>(visited_) * stride_ % cells_));
      if (repairs_) {
        space_.Repair(point);
      } else if (!space_.Check(point)) {
        continue;
      }
      if (!seen_.insert(PointHash()(point)).second) continue;
      points.push_back(point);
      skipped = 0;
    }
  }

  void AddAxis(size_t decision, const GridOptions& options) {
    const Decision& axis = space_.decisions()[decision];
    const int64_t wanted = axis.kind() == DecisionKind::kOrdinal       ? options.values
                           : axis.kind() == DecisionKind::kPermutation ? options.orders
                                                                       : axis.size();
    const int64_t count = std::min<int64_t>(wanted, axis.size());
    constexpr uint64_t kMostCells = uint64_t{1} << 62;
    if (cells_ > kMostCells / static_cast<uint64_t>(count)) {
      ++left_out_;  // It keeps its first value.
      return;
    }
    cells_ *= static_cast<uint64_t>(count);
    Axis values{.decision = decision};
    for (int64_t i = 0; i < count; ++i) {
      const double place =
          count == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(count - 1);
      values.indices.push_back(static_cast<int32_t>(std::lround(place * (axis.size() - 1))));
    }
    axes_.push_back(std::move(values));
  }

  // A step near the golden section of the grid, without common factor: visits every cell once.
  static uint64_t Stride(uint64_t cells) {
    uint64_t stride = static_cast<uint64_t>(static_cast<double>(cells) * 0.6180339887498949);
    stride = std::max<uint64_t>(stride, 1);
    while (std::gcd(stride, cells) != 1) ++stride;
    return stride;
  }

  Point Cell(uint64_t number) const {
    Point point(space_.size());
    for (const Axis& axis : axes_) {
      point[axis.decision] = axis.indices[number % axis.indices.size()];
      number /= axis.indices.size();
    }
    return point;
  }

  const DecisionSpace& space_;
  std::vector<Axis> axes_;
  uint64_t cells_ = 1, stride_ = 1, visited_ = 0;
  int64_t left_out_ = 0;
  bool repairs_ = false;  // legal cells are too rare
  std::unordered_set<size_t> seen_;
};

}  // namespace

MethodInfo GridMethod() {
  return DeclareMethod<GridSearcher, GridOptions>(
      {.name = "grid",
       .summary = "a pruned grid, visited evenly; deterministic, ends when the grid is done"},
      {{"values", &GridOptions::values, Range{1, 1000}, "values per size"},
       {"orders", &GridOptions::orders, Range{1, 5040}, "loop orders per level"}});
}

}  // namespace tessera
