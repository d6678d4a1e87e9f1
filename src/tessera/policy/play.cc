// Drafts, lessons and proposals.
#include "tessera/policy/play.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
  Turn turn = {};
  size_t first = 0;  // of its rows among those of its kind
  bool active = true;
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
  std::vector<Player> players;
  for (size_t i = 0; i < count; ++i) {
    players.push_back(
        {.episode = game.Begin(),
         .rng = CounterRng(options.seed, StreamId("policy.play"), options.stream * 4096 + i)});
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
      if (!player.episode->Next(player.turn)) {
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
      if (!options.greedy_first || i > 0) value = DrawFrom(logs, player.rng);
      drafts[i].log_probability += logs[value];
      if (lessons != nullptr) (*lessons)[i].Add(player.turn, value, 1);
      player.episode->Take(value);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    drafts[i].point = players[i].episode->point();
    players[i].episode->Outline(drafts[i].outline);
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

void Actor::Refill(int64_t count, bool first) {
  std::vector<Draft> drafts =
      Play(game_, networks_,
           {.count = count, .seed = first ? 0 : seed_, .stream = rounds_++, .greedy_first = first});
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
    pool_.push_back({.draft = std::move(drafts[i]), .key = key});
  }
  std::stable_sort(pool_.begin(), pool_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.key > b.key; });
}

std::vector<Point> Actor::Propose(int64_t count) {
  constexpr int64_t kMost = 1024, kTries = 4;
  std::vector<Point> points;
  const auto take = [&] {
    points.push_back(pool_.front().draft.point);
    pool_.erase(pool_.begin());
  };
  if (!begun_) {
    begun_ = true;
    Refill(options_.first, /*first=*/true);
    take();
  }
  const int64_t more = count - std::ssize(points);
  if (more <= 0) return points;
  const int64_t wanted = std::min(kMost, options_.each * more);
  for (int64_t i = 0; i < kTries && (i == 0 || std::ssize(pool_) < more); ++i) {
    Refill(wanted, /*first=*/false);
  }
  while (std::ssize(points) < count && !pool_.empty()) take();
  return points;
}

}  // namespace tessera::policy
