// Drafts, lessons and proposals.
#include "tessera/policy/play.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "tessera/part.h"

namespace tessera::policy {
namespace {

// Log-probabilities of the values of a turn; returns the most probable one.
size_t LogSoftmax(const float* scores, size_t values, double temperature,
                  std::vector<double>& logs) {
  logs.assign(scores, scores + values);
  const size_t best =
      static_cast<size_t>(std::max_element(logs.begin(), logs.end()) - logs.begin());
  const double most = logs[best];
  double sum = 0;
  for (double& value : logs) {
    value = (value - most) / temperature;
    sum += std::exp(value);
  }
  for (double& value : logs) value -= std::log(sum);
  return best;
}

size_t DrawFrom(const std::vector<double>& logs, CounterRng& rng) {
  double left = rng.Uniform();
  for (size_t k = 0; k + 1 < logs.size(); ++k) {
    left -= std::exp(logs[k]);
    if (left < 0) return k;
  }
  return logs.size() - 1;
}

// Any value but one, which may be none of them.
size_t DrawOther(const std::vector<double>& logs, size_t barred, CounterRng& rng) {
  double all = 0;
  for (size_t k = 0; k < logs.size(); ++k) all += k == barred ? 0 : std::exp(logs[k]);
  double left = rng.Uniform() * all;
  size_t last = barred;
  for (size_t k = 0; k < logs.size(); ++k) {
    if (k == barred) continue;
    last = k;
    left -= std::exp(logs[k]);
    if (left < 0) break;
  }
  return last;
}

size_t HashOf(const std::vector<float>& outline) {
  size_t hash = 0xcbf29ce484222325u;
  for (const float value : outline) {
    hash = (hash ^ static_cast<size_t>(static_cast<int64_t>(value * 65536.0f))) * 0x100000001b3u;
    hash ^= hash >> 29;
  }
  return hash;
}

// The first numbers of an outline are logarithms of what the mapping costs by estimate.
constexpr size_t kCompared = 3;

// One of the drafts in the making.
struct Player {
  std::unique_ptr<Episode> episode;
  CounterRng rng;
  const Draft* follow = nullptr;
  std::vector<int64_t> again = {};  // turns of it to decide in another way
  Turn turn = {};
  size_t barred = 0;  // the value it has there
  size_t first = 0;   // of its rows among those of its kind
  int64_t turns = 0;
  size_t shape = 0xcbf29ce484222325u;
  bool active = true;

  void DrawTurns() {
    constexpr int64_t kMost = 2;
    if (follow == nullptr || follow->turns == 0) return;
    for (int64_t more = 1 + rng.UniformInt(kMost); more > 0; --more) {
      again.push_back(rng.UniformInt(follow->turns));
    }
  }

  // The next turn that somebody has to decide; false: none.
  bool Seek() {
    while (episode->Find(turn)) {
      barred = turn.values;
      if (follow != nullptr) {
        const size_t kept = episode->Match(follow->point);
        if (kept < turn.values && std::ranges::find(again, turns) == again.end()) {
          Take(kept);
          continue;
        }
        barred = kept;
      }
      episode->Describe(turn);
      return true;
    }
    return false;
  }

  void Take(size_t value) {
    if (turn.kind == AgentKind::kKeep || turn.kind == AgentKind::kSpread) {
      shape = (shape ^ (static_cast<size_t>(turns) * 4096 + value)) * 0x100000001b3u;
    }
    ++turns;
    episode->Take(value);
  }
};

}  // namespace

void Lessons::Append(const Lessons& other) {
  for (size_t k = 0; k < kAgentKinds; ++k) {
    Turns& to = kinds[k];
    const Turns& from = other.kinds[k];
    const auto shift = static_cast<uint32_t>(to.targets.size());
    to.rows.insert(to.rows.end(), from.rows.begin(), from.rows.end());
    to.targets.insert(to.targets.end(), from.targets.begin(), from.targets.end());
    to.priors.insert(to.priors.end(), from.priors.begin(), from.priors.end());
    for (Turns::Group group : from.groups) {
      group.first += shift;
      to.groups.push_back(group);
    }
  }
}

void Lessons::Add(const Turn& turn, size_t chosen, float weight) {
  Turns& turns = kinds[static_cast<size_t>(turn.kind)];
  turns.groups.push_back({.first = static_cast<uint32_t>(turns.targets.size()),
                          .values = static_cast<uint32_t>(turn.values),
                          .weight = weight});
  turns.rows.insert(turns.rows.end(), turn.rows.begin(), turn.rows.end());
  for (size_t k = 0; k < turn.values; ++k) {
    turns.targets.push_back(k == chosen ? 1.0f : 0.0f);
    turns.priors.push_back(turn.priors.empty() ? 0.0f : turn.priors[k]);
  }
}

std::vector<Draft> Play(const Game& game, const Networks& networks, const PlayOptions& options,
                        std::vector<Lessons>* lessons) {
  const auto count = static_cast<size_t>(options.count);
  const bool follows = !options.follow.empty();
  const auto stream = StreamId(follows ? "policy.rethink" : "policy.play");
  std::vector<Player> players;
  for (size_t i = 0; i < count; ++i) {
    players.push_back({.episode = game.Begin(),
                       .rng = CounterRng(options.seed, stream, options.stream * 4096 + i),
                       .follow = follows ? options.follow[i] : nullptr});
    players.back().DrawTurns();
  }
  std::vector<Draft> drafts(count);
  if (lessons != nullptr) lessons->assign(count, {});
  std::array<std::vector<float>, kAgentKinds> rows, scores;
  std::vector<float> scratch;
  std::vector<double> logs;
  for (size_t active = count; active > 0;) {
    if (options.stopped && options.stopped()) return {};
    for (std::vector<float>& kind : rows) kind.clear();
    for (Player& player : players) {
      if (!player.active) continue;
      if (!player.Seek()) {
        player.active = false;
        --active;
        continue;
      }
      const auto kind = static_cast<size_t>(player.turn.kind);
      player.first = rows[kind].size() / networks.features()[kind];
      rows[kind].insert(rows[kind].end(), player.turn.rows.begin(), player.turn.rows.end());
    }
    for (size_t k = 0; k < kAgentKinds; ++k) {
      if (rows[k].empty()) continue;
      networks.Score(static_cast<AgentKind>(k), rows[k].size() / networks.features()[k],
                     rows[k].data(), scratch, scores[k]);
    }
    for (size_t i = 0; i < count; ++i) {
      Player& player = players[i];
      if (!player.active) continue;
      const float* own = scores[static_cast<size_t>(player.turn.kind)].data() + player.first;
      size_t value = LogSoftmax(own, player.turn.values, options.temperature, logs);
      if (follows) {
        value = DrawOther(logs, player.barred, player.rng);
      } else if (!options.greedy_first || i > 0) {
        value = DrawFrom(logs, player.rng);
      }
      drafts[i].log_probability += logs[value];
      if (lessons != nullptr) (*lessons)[i].Add(player.turn, value, 1);
      player.Take(value);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    drafts[i].point = players[i].episode->point();
    players[i].episode->Outline(drafts[i].outline);
    drafts[i].turns = players[i].turns;
    drafts[i].shape = players[i].shape;
  }
  return drafts;
}

bool Imitate(const Game& game, const Point& target, float weight, Lessons& lessons) {
  const std::unique_ptr<Episode> episode = game.Begin();
  Turn turn;
  while (episode->Next(turn)) {
    const size_t value = episode->Match(target);
    if (value == turn.values) return false;
    lessons.Add(turn, value, weight);
    episode->Take(value);
  }
  return true;
}

// What counts is how drafts compare. The agent corrects what the estimate alone would choose, and
// only between drafts that it knows such cases of: far worse ones look all the same to it.
Turn ChoiceOf(const Game& game, const std::vector<Draft>& drafts) {
  Turn turn{.kind = AgentKind::kChoice, .values = drafts.size()};
  std::array<float, kCompared> least;
  least.fill(std::numeric_limits<float>::max());
  for (const Draft& draft : drafts) {
    for (size_t f = 0; f < kCompared; ++f) least[f] = std::min(least[f], draft.outline[f]);
  }
  for (const Draft& draft : drafts) {
    const size_t first = turn.rows.size();
    turn.rows.insert(turn.rows.end(), draft.outline.begin(), draft.outline.end());
    for (size_t f = 0; f < kCompared; ++f) {
      turn.rows[first + f] = std::min(1.0f, draft.outline[f] - least[f]);
    }
    turn.priors.push_back(-game.trust() * (draft.outline.front() - least.front()));
  }
  return turn;
}

Actor::Actor(const Game& game, const Networks& networks, uint64_t seed, const ActorOptions& options)
    : game_(game), networks_(networks), seed_(seed), options_(options) {}

// The best drafts are thought about again, round after round, but only a few of each shape: with
// one way to spread loops alone, what is better spread in another way is never found.
void Actor::Rethink(std::vector<Draft>& drafts, uint64_t seed) const {
  constexpr int64_t kOfShape = 8;
  constexpr size_t kFollowed = 24;
  if (!game_.near()) return;
  const auto cost = [&](size_t i) { return drafts[i].cost(); };
  std::vector<size_t> order;  // of drafts, cheapest first
  for (int64_t round = 0; round < options_.rethink; ++round) {
    const auto known = std::ssize(order);
    for (size_t i = order.size(); i < drafts.size(); ++i) order.push_back(i);
    std::ranges::stable_sort(order.begin() + known, order.end(), {}, cost);
    std::ranges::inplace_merge(order, order.begin() + known, {}, cost);
    std::unordered_map<size_t, int64_t> shapes;
    std::unordered_set<size_t> nests;
    std::vector<const Draft*> follow;
    for (const size_t i : order) {
      if (follow.size() == kFollowed) break;
      if (!nests.insert(HashOf(drafts[i].outline)).second) continue;
      if (++shapes[drafts[i].shape] <= kOfShape) follow.push_back(&drafts[i]);
    }
    const uint64_t stream = rounds_ * static_cast<uint64_t>(options_.rethink);
    std::vector<Draft> made = Play(game_, networks_,
                                   {.count = std::ssize(follow),
                                    .seed = seed,
                                    .stream = stream + static_cast<uint64_t>(round),
                                    .follow = follow});
    std::ranges::move(made, std::back_inserter(drafts));
  }
}

void Actor::Refill(int64_t count) {
  const bool first = rounds_ == 0;
  const uint64_t seed = first ? 0 : seed_;
  std::vector<Draft> drafts = Play(
      game_, networks_, {.count = count, .seed = seed, .stream = rounds_, .greedy_first = first});
  Rethink(drafts, seed);
  ++rounds_;
  const Turn choice = ChoiceOf(game_, drafts);
  // Priors compare the drafts of a turn; what is left of other turns has to compare with them.
  float least = drafts.empty() ? least_ : drafts.front().outline.front();
  for (const Draft& draft : drafts) least = std::min(least, draft.outline.front());
  if (first) least_ = least;
  const float shift = game_.trust() * (least - least_);
  std::vector<float> scratch, scores;
  networks_.Score(AgentKind::kChoice, choice.values, choice.rows.data(), scratch, scores);
  CounterRng rng(seed_, StreamId("policy.choose"), rounds_);
  for (size_t i = 0; i < drafts.size(); ++i) {
    const double noise = -std::log(-std::log(rng.Uniform() + 1e-12) + 1e-12);
    if (!seen_.insert(PointHash()(drafts[i].point)).second) continue;
    // What amounts to the same as an earlier draft is tried last.
    constexpr double kAgain = 8;
    const bool again = !nests_.insert(HashOf(drafts[i].outline)).second;
    const double key =
        scores[i] + choice.priors[i] - shift + (first ? 0 : noise) - (again ? kAgain : 0);
    pool_.push_back({.draft = std::move(drafts[i]), .key = key, .number = pooled_++});
    std::push_heap(pool_.begin(), pool_.end());
  }
}

// Drafts for three times as many proposals as there were so far, until that is many. False: the
// policy has no others.
bool Actor::NextStage() {
  constexpr int64_t kGrowth = 3, kMostOfStage = 64, kTogether = 256, kMost = 1024, kTries = 4;
  if (exhausted_) return false;
  const int64_t size = std::clamp(kGrowth * staged_, int64_t{1}, kMostOfStage);
  if (staged_ == 0) {
    Refill(options_.first);
  } else {
    // Drafts that are thought about together end up alike.
    const int64_t together = game_.near() && options_.rethink > 0 ? kTogether : kMost;
    const int64_t wanted = std::min(kMost, options_.each * size);
    for (int64_t i = 0; i < kTries && (i == 0 || std::ssize(pool_) < size); ++i) {
      for (int64_t left = wanted; left > 0; left -= together) Refill(std::min(together, left));
    }
  }
  left_ = std::min(size, std::ssize(pool_));
  staged_ += left_;
  exhausted_ = left_ == 0;
  return !exhausted_;
}

std::vector<Point> Actor::Propose(int64_t count) {
  std::vector<Point> points;
  while (std::ssize(points) < count && (left_ > 0 || NextStage())) {
    std::pop_heap(pool_.begin(), pool_.end());
    points.push_back(pool_.back().draft.point);
    pool_.pop_back();
    --left_;
  }
  return points;
}

}  // namespace tessera::policy
