// A mapping as a game of agents: one decision after another, each with the values that are still
// legal and what each of them would mean. Agents of a kind share a network that scores a value from
// its meaning, so any number of values, levels and dimensions fits one network.
#ifndef TESSERA_POLICY_GAME_H_
#define TESSERA_POLICY_GAME_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "tessera/space.h"

namespace tessera::policy {

// Who decides. The last kind chooses between whole mappings that the others have made.
enum class AgentKind : uint8_t { kKeep, kSpread, kTile, kOrder, kChoice };
inline constexpr size_t kAgentKinds = 5;
inline constexpr std::array<std::string_view, kAgentKinds> kAgentNames = {"keep", "spread", "tile",
                                                                          "order", "choice"};

// Numbers that describe one value to an agent of a kind; the same for every problem of a model.
using FeatureCounts = std::array<size_t, kAgentKinds>;

// The values that an agent may choose from.
struct Turn {
  AgentKind kind = AgentKind::kTile;
  size_t values = 0;               // more than one: what is forced is not asked
  std::vector<float> rows = {};    // their features, value after value
  std::vector<float> priors = {};  // added to their scores; empty: zeros
};

// One mapping in the making. Contract:
//   Legality     every value that a turn offers leads to a legal point, whatever follows; values
//                that do not are left out. Where constraints relate decisions, so may be some that
//                would.
//   Determinism  turns are a function of the game and the values taken.
class Episode {
 public:
  virtual ~Episode() = default;

  // Finds the next turn: who decides, and between how many values. False once everything is
  // decided.
  virtual bool Find(Turn& turn) = 0;
  // Fills in what the values of the turn that was found mean.
  virtual void Describe(Turn& turn) = 0;
  bool Next(Turn& turn) {
    if (!Find(turn)) return false;
    Describe(turn);
    return true;
  }
  // Takes a value of the turn.
  virtual void Take(size_t value) = 0;
  // The value of the turn that `target` has; turn.values if it is not among them.
  virtual size_t Match(const Point& target) const = 0;

  // At the end: the point, and what the mapping amounts to, for the agent that chooses.
  virtual const Point& point() const = 0;
  virtual void Outline(std::vector<float>& row) const = 0;
};

// A problem as such a game. Const; any number of threads may play it.
class Game {
 public:
  virtual ~Game() = default;
  virtual std::unique_ptr<Episode> Begin() const = 0;
  virtual const FeatureCounts& features() const = 0;
  // How much less likely the agent that chooses takes a mapping of twice the estimated cost before
  // anything is learned, as a natural logarithm.
  virtual float trust() const = 0;
  // Whether the estimate is so near the cost that it pays to look for mappings of a low one.
  virtual bool near() const = 0;
};

// The game of a mapping problem; null where the form of its mappings has none, or its machine is
// larger than a game can be.
std::unique_ptr<Game> MakeGame(const MappingProblem& problem);

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_GAME_H_
