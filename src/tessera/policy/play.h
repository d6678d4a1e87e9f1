// Agents that play a game: whole mappings from a policy's networks, and the choice between them.
#ifndef TESSERA_POLICY_PLAY_H_
#define TESSERA_POLICY_PLAY_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "tessera/policy/game.h"
#include "tessera/policy/networks.h"
#include "tessera/space.h"

namespace tessera::policy {

// What agents of a kind are to learn: turns, with what each value's probability should move to.
struct Lessons {
  struct Turns {
    std::vector<float> rows = {};
    std::vector<float> targets = {}, priors = {};  // by row
    struct Group {
      uint32_t first = 0, values = 0;  // rows
      float weight = 1;                // negative: away from the target
    };
    std::vector<Group> groups = {};
  };
  std::array<Turns, kAgentKinds> kinds = {};

  void Append(const Lessons& other);
  // A turn of which `chosen` was taken, or should be.
  void Add(const Turn& turn, size_t chosen, float weight);
};

// A mapping that was played.
struct Draft {
  Point point = {};
  double log_probability = 0;  // of the agents' choices
  std::vector<float> outline = {};
  int64_t turns = 0;
  size_t shape = 0;  // a hash of what is kept and spread where

  // What it costs by estimate, as a logarithm to base 2.
  float cost() const { return outline.front(); }
};

struct PlayOptions {
  int64_t count = 1;
  uint64_t seed = 0, stream = 0;  // equal ones give equal drafts

  // The first draft takes the most probable value at every turn. Default: false.
  bool greedy_first = false;

  // Divides scores: below 1, probable values become more probable. Default: 1.
  double temperature = 1;

  // What drafts follow, one each, where agents think again about something that is already there: a
  // few turns, which are drawn, are decided in another way, and so is what is no longer legal
  // after that. All other values stay. Empty: drafts begin with nothing.
  std::span<const Draft* const> follow = {};

  // Asked before every turn: then there are no drafts. May be empty.
  std::function<bool()> stopped = {};
};

// Plays a game several times, all drafts side by side. With `lessons`, one per draft, the turns are
// recorded with weight 1.
std::vector<Draft> Play(const Game& game, const Networks& networks, const PlayOptions& options,
                        std::vector<Lessons>* lessons = nullptr);

// The turns of a game that lead to a point, with a weight. A turn that does not have the point's
// value ends it: false.
bool Imitate(const Game& game, const Point& target, float weight, Lessons& lessons);

// The turn of the agent that chooses between drafts of a game.
Turn ChoiceOf(const Game& game, const std::vector<Draft>& drafts);

struct ActorOptions {
  // Drafts from which the first proposal is chosen. Default: 128.
  int64_t first = 128;

  // Drafts for each of the next ones. Default: 16.
  int64_t each = 16;

  // How often agents think again about the best drafts before one is chosen, in games whose
  // estimate is near the cost. Default: 64.
  int64_t rethink = 64;
};

// Proposals without repetition. The first one is the most probable of the drafts that are played
// first, whatever the seed; the next ones are draws. Drafts are made in stages, each of them for as
// many proposals, whoever asks for how many: the first k proposals are the same whatever follows.
class Actor {
 public:
  // Game and networks outlive it.
  Actor(const Game& game, const Networks& networks, uint64_t seed,
        const ActorOptions& options = {});

  // At most `count` points; fewer once the policy has no others.
  std::vector<Point> Propose(int64_t count);

 private:
  struct Candidate {
    Draft draft = {};
    double key = 0;
    int64_t number = 0;  // of equal ones the first

    friend bool operator<(const Candidate& a, const Candidate& b) {
      return a.key != b.key ? a.key < b.key : a.number > b.number;
    }
  };
  bool NextStage();
  void Refill(int64_t count);
  void Rethink(std::vector<Draft>& drafts, uint64_t seed) const;

  const Game& game_;
  const Networks& networks_;
  const uint64_t seed_;
  const ActorOptions options_;
  uint64_t rounds_ = 0;
  float least_ = 0;                          // estimated cost of the first drafts
  std::vector<Candidate> pool_;              // a heap
  int64_t pooled_ = 0;                       // candidates that there ever were
  std::unordered_set<size_t> seen_, nests_;  // points, and what they amount to
  int64_t staged_ = 0, left_ = 0;            // proposals of all stages so far, and not yet made
  bool exhausted_ = false;
};

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_PLAY_H_
