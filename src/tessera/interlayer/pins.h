// Which weights of a group stay on chip for all of its slices: every one that does takes room from
// all of its nodes, so what a choice costs is known only once all of it is made.
#ifndef TESSERA_INTERLAYER_PINS_H_
#define TESSERA_INTERLAYER_PINS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

namespace tessera::interlayer {

// A node whose weights can be pinned.
struct PinItem {
  int place = 0;      // its bit in a choice
  int64_t words = 0;  // of its weights
  // What the node costs at least, whatever else is pinned: with its weights fetched by every slice,
  // and with its weights pinned, bringing them in included.
  double loose = 0, pinned = 0;
};

struct PinChoice {
  uint64_t pinned = 0;
  double value = std::numeric_limits<double>::infinity();  // infinite: no choice has a price
  bool complete = true;  // no choice is better; otherwise the search gave up before it knew
};

// The choice with the lowest price among those whose words fit the room: a search with bounds.
// `rest` is what the other nodes of the group cost at least; `price` says what a choice costs,
// which is never less than the sum of its parts above. Gives up after so many prices.
PinChoice ChoosePins(std::span<const PinItem> items, int64_t room, double rest,
                     const std::function<double(uint64_t pinned)>& price, int64_t most_prices);

}  // namespace tessera::interlayer

#endif  // TESSERA_INTERLAYER_PINS_H_
