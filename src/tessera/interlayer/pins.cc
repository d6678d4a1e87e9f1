// Depth first, one item after the other, the better of both ways first: those come first for which
// it matters most.
#include "tessera/interlayer/pins.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera::interlayer {
namespace {

class PinSearch {
 public:
  PinSearch(std::span<const PinItem> items, const std::function<double(uint64_t)>& price,
            int64_t most_prices)
      : items_(items.begin(), items.end()), price_(price), prices_left_(most_prices) {
    std::ranges::stable_sort(items_, [](const PinItem& a, const PinItem& b) {
      return std::abs(a.loose - a.pinned) > std::abs(b.loose - b.pinned);
    });
    // What the items from each one on cost at least.
    least_.assign(items_.size() + 1, 0);
    for (size_t k = items_.size(); k-- > 0;) {
      least_[k] = least_[k + 1] + std::min(items_[k].loose, items_[k].pinned);
    }
  }

  PinChoice Run(int64_t room, double rest) {
    Visit(0, room, rest, 0);
    return best_;
  }

 private:
  void Visit(size_t k, int64_t room, double spent, uint64_t pinned) {
    if (!best_.complete || spent + least_[k] >= best_.value) return;
    if (k == items_.size()) {
      if (prices_left_-- <= 0) {
        best_.complete = false;
        return;
      }
      const double value = price_(pinned);
      if (value < best_.value) best_ = {.pinned = pinned, .value = value};
      return;
    }
    const PinItem& item = items_[k];
    const auto pin = [&] {
      if (item.words > room) return;
      Visit(k + 1, room - item.words, spent + item.pinned, pinned | uint64_t{1} << item.place);
    };
    if (item.pinned < item.loose) pin();
    Visit(k + 1, room, spent + item.loose, pinned);
    if (item.pinned >= item.loose) pin();
  }

  std::vector<PinItem> items_;
  std::vector<double> least_;
  const std::function<double(uint64_t)>& price_;
  int64_t prices_left_;
  PinChoice best_;
};

}  // namespace

PinChoice ChoosePins(std::span<const PinItem> items, int64_t room, double rest,
                     const std::function<double(uint64_t)>& price, int64_t most_prices) {
  return PinSearch(items, price, most_prices).Run(room, rest);
}

}  // namespace tessera::interlayer
