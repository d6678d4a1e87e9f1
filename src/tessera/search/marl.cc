// The agents of the mapping paper (Krishnan et al.): decentralised actor-critic agents with neural
// networks, one for every decision or for every group of decisions that Algorithm 1 finds. All see
// the cost of the last mapping, <latency, power, energy, area>, and all get the same reward; they
// know nothing of each other. IPPO, or MAPPO with a central critic; the learner is rl/on_policy.h.
// With a policy (policy/), its first proposals are the first samples, and each agent begins with
// how often the proposals have each of its values instead of knowing nothing; from there it learns.
// What a team agrees on none of its agents can improve alone, so others follow (span): first teams
// that know nothing, then ones that know the best mapping, but for some agents, who look together
// for better choices beside those of the rest.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "tessera/agents/assignment.h"
#include "tessera/policy/game.h"
#include "tessera/policy/networks.h"
#include "tessera/policy/play.h"
#include "tessera/result.h"
#include "tessera/rl/on_policy.h"
#include "tessera/search/elites.h"
#include "tessera/search/learner_lanes.h"
#include "tessera/search/log_cost.h"
#include "tessera/search/policy.h"

namespace tessera {
namespace {

struct MarlOptions {
  int64_t agents = 0;
  std::string assignment;
  double warmup = 0.1;
  std::string critic = "own";
  std::string reward = "log";
  int64_t lanes = 16;
  int64_t steps = 2;
  int64_t epochs = 4;
  int64_t minibatches = 1;
  int64_t hidden = 32;
  double rate = 2e-2;
  double entropy = 0.05;
  double entropy_left = 0.0;
  double entropy_later = 0.0;
  double clip = 0.2;
  double penalty = 1.0;
  double floor = 0.01;
  double top = 0.5;
  double smooth = 0.75;
  double imitate = 0;
  int64_t elites = 4;
  double explore = 0;
  double explore_last = 0.0;
  int64_t patience = 0;
  double repeats = 0;
  double span = 1000;
  double growth = 1.5;
  int64_t teams = 2;
  double turn = 400;
  double anew_least = 0.2;
  double anew = 0.8;
  double last = 0.2;
  double settled_first = 0;
  double settled = 0;
  int64_t proposals = 16;
  double unsure = 0.2;
};

UnitKind KindOf(const MarlOptions& options) {
  if (options.critic == "central") return UnitKind::kCentral;
  return options.critic == "shared" ? UnitKind::kShared : UnitKind::kIndependent;
}

class MarlSearcher final : public Searcher {
 public:
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const MarlOptions& options) {
    const int64_t choices = std::ssize(setup.space.open());
    if (options.agents > choices) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("method marl: {} agents for {} decisions with a choice",
                                          options.agents, choices)};
    }
    Assignment assignment = AgentPerDecision(setup.space);
    if (!options.assignment.empty()) {
      Result<Assignment> read = ReadAssignment(options.assignment);
      if (!read) return read.error();
      assignment = *std::move(read);
    }
    std::unique_ptr<MarlSearcher> made(new MarlSearcher(setup, options, assignment));
    if (Result<void> asked = made->AskPolicy(setup); !asked) return asked.error();
    if (!setup.space.open().empty() && !made->Collecting()) made->team_ = made->MakeAgents();
    return std::unique_ptr<Searcher>(std::move(made));
  }

  std::vector<Point> Propose(int64_t n) override {
    if (space_.open().empty()) return {Point(space_.size())};
    if (round_.done() && trying_) {
      round_.Begin(std::vector<Point>(proposed_.begin(), proposed_.begin() + First()));
    } else if (round_.done()) {
      const bool collecting = Collecting();
      if (!collecting) BeginRound();
      round_.Begin(collecting ? Sample() : Playing().lanes.Draw());
    }
    return round_.Take(n);
  }

  void Observe(std::span<const Trial> trials) override {
    if (space_.open().empty() || !round_.Add(trials)) return;
    scale_.Add(round_.trials());
    for (const Trial& trial : round_.trials()) found_.Add(trial.point, LogCost(trial.outcome));
    // Agents learn from their own draws only.
    if (std::exchange(trying_, false)) return;
    const bool collecting = Collecting();
    observed_ += std::ssize(round_.trials());
    if (collecting) {
      collected_.insert(collected_.end(), round_.trials().begin(), round_.trials().end());
      if (!Collecting()) Regroup();
      return;
    }
    Team& team = Playing();
    team.Note(round_.trials());
    if (options_.imitate > 0) team.lanes.Imitate(team.elites.entries(), options_.imitate);
    team.lanes.Learn(round_.trials(), scale_);
    const bool waited = options_.patience > 0 && team_->waited() >= options_.patience;
    const bool repeats = options_.repeats > 0 && team_->Repeats() >= options_.repeats;
    const bool over = team_->span > 0 && team_->Lived() >= 1;
    if ((waited || repeats || over) && observed_ < samples_) Settle();
  }

  std::vector<Note> Notes() const override {
    std::vector<Note> notes = {{"agents", std::ssize(agents_)},
                               {"warmup_samples", warmup_samples_},
                               {"assignment", Describe(space_, agents_)},
                               {"lives", lives_}};
    if (!proposed_.empty()) notes.push_back({"policy", std::string("first values of the agents")});
    return notes;
  }

  std::vector<std::vector<std::string>> Agents() const override { return NamesOf(space_, agents_); }

 private:
  // Agents from their first draw on, and how well they have done.
  struct Team {
    LearnerLanes lanes;
    double best = kInfeasibleCost;  // logarithm of the cost
    Elites elites;
    bool later = false;    // others began before them
    bool settles = false;  // the last: nothing rewards them for being unsure
    double span = 0;       // samples until entropy has fallen and others begin; 0: the budget
    int64_t samples = 0, improved = 0;
    std::unordered_set<size_t> known = {};  // hashes of their points
    std::deque<bool> repeated = {};         // of the last samples: whether they were known

    void Note(std::span<const Trial> trials) {
      constexpr double kGain = 1e-6;  // of the logarithm: what counts as better
      for (const Trial& trial : trials) {
        ++samples;
        repeated.push_back(!known.insert(PointHash{}(trial.point)).second);
        if (repeated.size() > kWindow) repeated.pop_front();
        const double cost = LogCost(trial.outcome);
        elites.Add(trial.point, cost);
        if (cost >= best - kGain) continue;
        best = cost;
        improved = samples;
      }
    }
    // Of its span.
    double Lived() const { return static_cast<double>(samples) / span; }
    int64_t waited() const { return samples - improved; }

    // Which part of the last samples brought nothing that was not known.
    double Repeats() const {
      if (repeated.size() < kWindow) return 0;
      return static_cast<double>(std::ranges::count(repeated, true)) / kWindow;
    }

   private:
    static constexpr size_t kWindow = 200;
  };

  MarlSearcher(const SearchSetup& setup, const MarlOptions& options, const Assignment& assignment)
      : space_(setup.space),
        options_(options),
        seed_(setup.seed),
        samples_(std::max<int64_t>(1, setup.samples)),
        agents_(Apply(assignment, setup.space).agents),
        scale_(options.penalty, options.reward == "log") {
    if (space_.open().empty()) return;
    const bool groups = options.agents > 0 && options.assignment.empty();
    if (groups) {
      warmup_samples_ = std::llround(options.warmup * static_cast<double>(setup.samples));
    }
  }

  // What a policy proposes for the problem, the best first.
  Result<void> AskPolicy(const SearchSetup& setup) {
    if (setup.policy == nullptr || setup.mapping == nullptr) return {};
    const std::unique_ptr<policy::Game> game = policy::MakeGame(*setup.mapping);
    if (game == nullptr) return {};
    if (game->features() != setup.policy->features()) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = "the policy was trained for another cost model",
                   .hint = "'tessera list policies' names those that ship with the program"};
    }
    proposed_ = policy::Actor(*game, *setup.policy, seed_).Propose(options_.proposals);
    trying_ = !proposed_.empty();
    return {};
  }

  // Of the proposals, those that are samples themselves.
  std::ptrdiff_t First() const {
    constexpr std::ptrdiff_t kMost = 4;
    return std::min(kMost, std::ssize(proposed_));
  }

  // Whether samples still go into the dataset of Algorithm 1. They count like all others.
  bool Collecting() const { return observed_ < warmup_samples_; }

  std::vector<Point> Sample() {
    std::vector<Point> points;
    const int64_t count = std::min(options_.lanes, warmup_samples_ - observed_);
    for (int64_t i = 0; i < count; ++i) {
      CounterRng rng(seed_, StreamId("search.marl"), static_cast<uint64_t>(observed_ + i));
      points.push_back(space_.Sample(rng, 0));
    }
    return points;
  }

  std::unique_ptr<Team> MakeAgents() {
    constexpr uint64_t kSeedStep = 0x9e3779b97f4a7c15;  // far from the seeds that users count up
    const bool heirs = Inherit();
    const double span = Span();
    const uint64_t seed = seed_ + kSeedStep * static_cast<uint64_t>(lives_++);
    std::unique_ptr<Team> team(
        new Team{.lanes = LearnerLanes(space_, agents_, ActionForm::kPicks, options_.lanes, seed,
                                       LearnerOptions(options_), KindOf(options_)),
                 .elites = Elites(static_cast<size_t>(options_.elites))});
    team->lanes.RankAdvantages(options_.top);
    team->lanes.Smooth(options_.smooth);
    team->span = span;
    // Those that come later look elsewhere.
    team->later = lives_ > 1;
    if (heirs) {
      team->settles = SettlingIsLeft();
      team->lanes.Prefer(std::span(&found_.entries()[0].point, 1), std::array{1.0}, Unsure(seed));
    } else if (lives_ == 1 && !proposed_.empty()) {
      std::vector<double> weights;
      for (size_t i = 0; i < proposed_.size(); ++i) {
        weights.push_back(1 / static_cast<double>(i + 1));
      }
      team->lanes.Prefer(proposed_, weights, std::vector(agents_.size(), options_.unsure));
    }
    return team;
  }

  // Whether the agents that begin now know the best mapping so far, but for some of them.
  bool Inherit() const {
    return options_.span > 0 && options_.teams > 0 && lives_ >= options_.teams &&
           !found_.entries().empty();
  }

  // Which part of what each heir does is anything at first: of those drawn to begin anew, all. In
  // the last team nobody is.
  std::vector<double> Unsure(uint64_t seed) const {
    CounterRng rng(seed, StreamId("search.marl.heirs"));
    const double drawn = std::lerp(options_.anew_least, options_.anew, rng.Uniform());
    const double anew = SettlingIsLeft() ? 0 : drawn;
    std::vector<double> unsure;
    for (size_t i = 0; i < agents_.size(); ++i) {
      unsure.push_back(rng.Uniform() < anew ? 1.0 : options_.unsure);
    }
    return unsure;
  }

  // Samples of the agents that begin now; 0: all that are left. The last ones have all that would
  // not do for others after them.
  double Span() const {
    if (options_.span <= 0) return 0;
    const double left = Left();
    if (Inherit()) return left < LastHeirs() ? left : options_.turn;
    const double span = options_.span * std::pow(options_.growth, static_cast<double>(lives_));
    const bool heirs_next = options_.teams > 0 && lives_ + 1 >= options_.teams;
    return left < span + (heirs_next ? options_.turn : span * options_.growth) ? left : span;
  }

  double Left() const { return static_cast<double>(std::max<int64_t>(1, samples_ - observed_)); }

  // Whether heirs that begin now have only to settle on the best mapping.
  bool SettlingIsLeft() const { return options_.last > 0 && Left() < LastHeirs(); }

  // With fewer samples left, heirs that begin are the last.
  double LastHeirs() const {
    return options_.turn + std::max(options_.turn, options_.last * static_cast<double>(samples_));
  }

  // Algorithm 1 on what was collected.
  void Regroup() {
    const Result<AssignmentStudy> study =
        AssignAgents(space_, collected_, {.agents = options_.agents});
    collected_.clear();
    if (study) agents_ = Apply(study->assignment, space_).agents;
    // Otherwise too few trials were feasible: every decision keeps its agent.
    team_ = MakeAgents();
  }

  // Agents that agree on something and find nothing better make room for new ones. The best of
  // those that did go on in a part of the rounds.
  void Settle() {
    if (settled_ == nullptr || team_->best < settled_->best) settled_ = std::move(team_);
    team_ = MakeAgents();
    owed_ = 0;
  }

  // Whether the next round belongs to the settled agents. Their part may grow while the budget is
  // spent: what there is to find elsewhere has ever fewer samples to be found in.
  bool SettledTurn() {
    if (settled_ == nullptr) return false;
    owed_ += std::lerp(options_.settled_first, options_.settled, Spent());
    if (owed_ < 1) return false;
    owed_ -= 1;
    return true;
  }

  double Spent() const {
    return std::min(1.0, static_cast<double>(observed_) / static_cast<double>(samples_));
  }

  // Who plays next, and how much of it is chance.
  void BeginRound() {
    settled_turn_ = SettledTurn();
    Team& team = Playing();
    const double later = team.later ? options_.entropy_later * (1 - Spent()) : 0;
    const double spent = team.span > 0 ? std::min(1.0, team.Lived()) : Spent();
    team.lanes.SetEntropy(team.settles ? 0 : EntropyAfter(options_, spent) + later);
    if (options_.explore <= 0 && options_.explore_last <= 0) return;
    LearnerLanes& lanes = team.lanes;
    const double choices = std::lerp(options_.explore, options_.explore_last, Spent());
    lanes.Explore(std::min(1.0, choices / static_cast<double>(lanes.choices())));
  }

  Team& Playing() { return settled_turn_ ? *settled_ : *team_; }

  const DecisionSpace& space_;
  const MarlOptions options_;
  const uint64_t seed_;
  const int64_t samples_;  // of the budget
  int64_t warmup_samples_ = 0;
  DecisionGroups agents_;
  CostScale scale_;
  std::vector<Point> proposed_;  // by the policy, the best first
  bool trying_ = false;          // the first of them
  std::unique_ptr<Team> team_, settled_;
  bool settled_turn_ = false;  // whose round it is
  Round round_;
  Elites found_{1};  // by anybody
  std::vector<Trial> collected_;
  int64_t observed_ = 0, lives_ = 0;
  double owed_ = 0;  // rounds of the settled agents, since agents settled last
};

// The paper's agents do neither: what helps them stands beside them, under a name of its own.
struct ElitesOptions : MarlOptions {
  ElitesOptions() {
    lanes = 8;
    steps = 1;
    epochs = 8;
    hidden = 32;
    rate = 3e-3;
    entropy = 0.0;
    entropy_left = 1.0;
    top = 0;
    smooth = 0;
    imitate = 0.3;
    explore = 1.0;
    patience = 3000;
    span = 0;
    settled_first = 0.75;
    settled = 0.75;
  }
};

template <typename O>
MethodInfo Declare(std::string_view name, std::string_view summary) {
  return DeclareMethod<MarlSearcher, O>(
      {.name = name, .summary = summary, .file_parameters = {"assignment"}},
      {{"agents", &O::agents, Range{0, 96}, "agents; 0: one per decision with a choice"},
       {"assignment", &O::assignment, Choices{}, "file that says which agent decides what"},
       {"warmup", &O::warmup, Range{0, 0.9},
        "part of the budget that finds the groups, if agents > 0 and no file is given"},
       {"critic", &O::critic, Choices{"own", "central", "shared"},
        "a critic per agent (IPPO), critics that see all observations (MAPPO), or one for all"},
       {"reward", &O::reward, Choices{"log", "inverse"}, "-log objective, or 1 / objective"},
       {"lanes", &O::lanes, Range{1, 4096}, "points drawn with one set of policies"},
       {"steps", &O::steps, Range{1, 4096}, "rounds of lanes per update"},
       {"epochs", &O::epochs, Range{1, 100}, "passes over the samples of an update"},
       {"minibatches", &O::minibatches, Range{1, 64}, "parts of a pass"},
       {"hidden", &O::hidden, Range{1, 1024}, "width of the two hidden layers"},
       {"rate", &O::rate, Range{1e-7, 1}, "learning rate of policies and critics"},
       {"entropy", &O::entropy, Range{0, 10}, "weight of a policy's entropy, at first"},
       {"entropy_left", &O::entropy_left, Range{0, 1},
        "part of that weight that is left when the budget is spent"},
       {"entropy_later", &O::entropy_later, Range{0, 10},
        "what new agents that follow settled ones get on top, falling to 0 with the budget"},
       {"clip", &O::clip, Range{0.01, 1}, "largest change of a probability ratio"},
       {"penalty", &O::penalty, Range{0, 100}, "reward of an infeasible point, negated"},
       {"floor", &O::floor, Range{0, 10},
        "deviation of the advantages of an update below which they count less"},
       {"top", &O::top, Range{0, 1},
        "part of an update's mappings that become likelier, by their order; 0: by their cost"},
       {"smooth", &O::smooth, Range{0, 0.99},
        "part of what an agent learns of a number that it learns of the next one, too"},
       {"imitate", &O::imitate, Range{0, 100},
        "weight with which agents learn what each chose in their best mappings so far"},
       {"elites", &O::elites, Range{1, 1000}, "those best mappings"},
       {"explore", &O::explore, Range{0, 1000},
        "choices of a mapping, on average, that are drawn uniformly, at first"},
       {"explore_last", &O::explore_last, Range{0, 1000}, "the same when the budget is spent"},
       {"patience", &O::patience, Range{0, 1e9},
        "samples without a better point of their own after which new agents begin; 0: never"},
       {"repeats", &O::repeats, Range{0, 1},
        "part of the last 200 samples that repeat earlier ones from which on new agents begin, "
        "too; "
        "0: never"},
       {"span", &O::span, Range{0, 1e9},
        "samples in which the entropy of the first agents falls, after which new ones begin; 0: "
        "the budget"},
       {"growth", &O::growth, Range{1, 100}, "how many times as long those that follow take"},
       {"teams", &O::teams, Range{0, 1e9},
        "teams that begin with nothing; those that follow inherit the best mapping so far, but for "
        "agents that are drawn to begin anew; 0: all begin with nothing"},
       {"turn", &O::turn, Range{1, 1e9}, "samples of a team that inherits"},
       {"anew_least", &O::anew_least, Range{0, 1},
        "part of its agents that begin anew: at least, a draw for each team"},
       {"anew", &O::anew, Range{0, 1}, "and at most"},
       {"last", &O::last, Range{0, 1},
        "part of the budget of the last team, of which all inherit; 0: it is like the others"},
       {"settled_first", &O::settled_first, Range{0, 1},
        "part of the rounds in which the best agents that found nothing better go on, at first"},
       {"settled", &O::settled, Range{0, 1}, "the same when the budget is spent"},
       {"proposals", &O::proposals, Range{1, 4096},
        "with a policy: its proposals that the agents begin with; the first 4 are samples"},
       {"unsure", &O::unsure, Range{0.001, 1},
        "chance that an agent begins with for values that no proposal of a policy has, or, if it "
        "inherits, not the best mapping"}});
}

}  // namespace

MethodInfo MarlMethod() {
  return Declare<MarlOptions>(
      "marl", "the paper's agents: actor and critic networks, one pair per decision or group");
}

MethodInfo MarlElitesMethod() {
  return Declare<ElitesOptions>(
      "marl-elites", "agents of marl that also imitate their best mappings and explore evenly");
}

}  // namespace tessera
