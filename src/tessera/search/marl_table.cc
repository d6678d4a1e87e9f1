// Agents with tables instead of networks: one for every decision, or for every group of decisions
// that Algorithm 1 finds; closer to an estimation of distributions than to the agents of the
// mapping paper, which are those of marl.cc. Agents know nothing of each other; what they share is
// the reward, the rank of their common point among those of the batch. A mapping problem is a
// bandit (what follows an action does not depend on what came before), so a policy needs no
// observation.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_set>

#include "tessera/agents/assignment.h"
#include "tessera/base/rank_weights.h"
#include "tessera/search.h"
#include "tessera/search/elites.h"
#include "tessera/search/log_cost.h"
#include "tessera/search/policy.h"

namespace tessera {
namespace {

struct MarlTableOptions {
  int64_t agents = 0;
  std::string assignment;
  double warmup = 0.1;
  int64_t batch = 8;
  double rate = 2.5;
  double top = 0.3;
  int64_t elites = 16;
  double imitate = 0.8;
  double explore = 0.1;
  double explore_last = 0.03;
  double smooth = 0.6;
  int64_t settle = 250;
  int64_t patience = 100;
};

// The settings were tuned in spaces of up to 17 decisions, the paper's. Where more agents have to
// agree, a life needs longer: pairs of decisions, and what can be learned of them, grow with the
// square.
int64_t PatienceIn(const DecisionSpace& space, int64_t patience) {
  const double ratio = static_cast<double>(space.size()) / 17;
  return static_cast<int64_t>(static_cast<double>(patience) * std::max(1.0, ratio * ratio));
}

class MarlTableSearcher final : public Searcher {
 public:
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const MarlTableOptions& options) {
    const int64_t decisions = std::ssize(setup.space.open());
    if (options.agents > decisions) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = "method marl-table: " + std::to_string(options.agents) +
                              " agents for " + std::to_string(decisions) +
                              " decisions with a choice"};
    }
    Assignment assignment = AgentPerDecision(setup.space);
    if (!options.assignment.empty()) {
      Result<Assignment> read = ReadAssignment(options.assignment);
      if (!read) return read.error();
      assignment = *std::move(read);
    }
    return std::unique_ptr<Searcher>(new MarlTableSearcher(setup, options, assignment));
  }

  std::vector<Point> Propose(int64_t n) override {
    const int64_t count = std::min(n, options_.batch - std::ssize(points_));
    constexpr int kTries = 8;  // for a point that was not tried before
    std::vector<Point> proposals;
    for (int64_t i = 0; i < count; ++i) {
      CounterRng rng(seed_, StreamId("search.marl"), drawn_++);
      Point point;
      for (int attempt = 0; attempt < kTries; ++attempt) {
        point = Collecting() ? space_.Sample(rng, 0) : policy_->Draw(Explore(), rng);
        if (seen_.insert(PointHash()(point)).second) break;
      }
      proposals.push_back(point);
    }
    return proposals;
  }

  void Observe(std::span<const Trial> trials) override {
    for (const Trial& trial : trials) {
      points_.push_back(trial.point);
      // A life that has seen nothing feasible learns what comes closer.
      const bool lost =
          elites_.entries().empty() || elites_.entries().front().cost >= kInfeasibleCost;
      costs_.push_back(lost ? OrderedCost(trial.outcome) : LogCost(trial.outcome));
      if (elites_.entries().empty() || costs_.back() < elites_.entries().front().cost - kGain) {
        improved_ = observed_;
      }
      elites_.Add(trial.point, costs_.back());
      champions_.Add(trial.point, costs_.back());
      if (Collecting()) collected_.push_back(trial);
      ++observed_;
    }
    if (std::ssize(points_) < options_.batch) return;
    Learn();
    points_.clear();
    costs_.clear();
    if (!collected_.empty() && !Collecting()) Regroup();
    if (observed_ - improved_ >= patience_) StartLife();
  }

  std::vector<Note> Notes() const override {
    return {{"agents", std::ssize(agents_)},
            {"warmup_samples", warmup_samples_},
            {"assignment", Describe(space_, agents_)},
            {"lives", lives_},
            {"entropy", policy_->Entropy()}};
  }

  std::vector<std::vector<std::string>> Agents() const override { return NamesOf(space_, agents_); }

 private:
  static constexpr double kGain = 1e-6;  // of the logarithm of the cost: what counts as better

  MarlTableSearcher(const SearchSetup& setup, const MarlTableOptions& options,
                    const Assignment& assignment)
      : space_(setup.space),
        options_(options),
        patience_(PatienceIn(setup.space, options.patience)),
        seed_(setup.seed),
        samples_(setup.samples),
        agents_(Apply(assignment, setup.space).agents),
        policy_(std::make_unique<SoftmaxPolicy>(setup.space, agents_,
                                                PolicyOptions{.smooth = options.smooth})),
        elites_(static_cast<size_t>(options.elites)),
        champions_(static_cast<size_t>(options.elites)) {
    const bool groups = options.agents > 0 && options.assignment.empty();
    if (groups) {
      warmup_samples_ = std::llround(options.warmup * static_cast<double>(samples_));
    }
  }

  // Whether samples still go into the dataset of Algorithm 1.
  bool Collecting() const { return observed_ < warmup_samples_; }

  double Explore() const {
    // Falls over the first part of a life; the rest is spent close to what was learned.
    const double progress = std::min(
        1.0, static_cast<double>(observed_ - born_) / static_cast<double>(options_.settle));
    return options_.explore * std::pow(options_.explore_last / options_.explore, progress);
  }

  // Points in the best part of the batch become likelier, by rank, the others less likely; the best
  // points of all time are imitated.
  void Learn() {
    std::vector<Point> points = points_;
    std::vector<double> weights = RankWeights(costs_, options_.top);
    for (double& weight : weights) weight *= options_.rate;
    elites_.Append(options_.imitate, points, weights);
    policy_->Learn(points, weights);
  }

  // Agents that agree on something and find nothing better forget all and begin anew; every second
  // time they begin with the best points of all lives.
  void StartLife() {
    ++lives_;
    born_ = improved_ = observed_;
    elites_ = lives_ % 2 == 0 ? champions_ : Elites(static_cast<size_t>(options_.elites));
    policy_ =
        std::make_unique<SoftmaxPolicy>(space_, agents_, PolicyOptions{.smooth = options_.smooth});
  }

  // Algorithm 1 on what was collected. Agents start anew with their groups and learn first from the
  // best points known.
  void Regroup() {
    const Result<AssignmentStudy> study =
        AssignAgents(space_, collected_, {.agents = options_.agents});
    collected_.clear();
    if (!study) return;  // Too few feasible trials: every decision keeps its agent.
    agents_ = Apply(study->assignment, space_).agents;
    policy_ =
        std::make_unique<SoftmaxPolicy>(space_, agents_, PolicyOptions{.smooth = options_.smooth});
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<Point> points;
      std::vector<double> weights;
      elites_.Append(options_.rate, points, weights);
      policy_->Learn(points, weights);
    }
  }

  const DecisionSpace& space_;
  const MarlTableOptions options_;
  const int64_t patience_;  // options_.patience in this space
  const uint64_t seed_;
  const int64_t samples_;
  int64_t warmup_samples_ = 0;
  std::vector<std::vector<size_t>> agents_;
  std::unique_ptr<SoftmaxPolicy> policy_;
  Elites elites_;     // of this life
  Elites champions_;  // of all lives
  uint64_t drawn_ = 0;
  int64_t observed_ = 0, improved_ = 0, born_ = 0, lives_ = 1;
  std::vector<Point> points_;  // of the batch, with their costs
  std::vector<double> costs_;
  std::vector<Trial> collected_;
  std::unordered_set<size_t> seen_;
};

}  // namespace

MethodInfo MarlTableMethod() {
  using Options = MarlTableOptions;
  return DeclareMethod<MarlTableSearcher, Options>(
      {.name = "marl-table",
       .summary =
           "agents with tables, without network, critic or observation: one per decision or group",
       .file_parameters = {"assignment"}},
      {{"agents", &Options::agents, Range{0, 96}, "agents; 0: one per decision"},
       {"assignment", &Options::assignment, Choices{}, "file that says which agent decides what"},
       {"warmup", &Options::warmup, Range{0, 0.9},
        "part of the budget that finds the groups, if agents > 0 and no file is given"},
       {"batch", &Options::batch, Range{2, 10'000}, "samples per lesson"},
       {"rate", &Options::rate, Range{0, 100}, "size of a lesson's step"},
       {"top", &Options::top, Range{0.01, 1}, "part of a batch that becomes likelier"},
       {"elites", &Options::elites, Range{0, 10'000}, "best points kept for imitation"},
       {"imitate", &Options::imitate, Range{0, 100}, "size of the step towards the elites"},
       {"explore", &Options::explore, Range{1e-6, 1}, "first chance of a random change"},
       {"explore_last", &Options::explore_last, Range{1e-6, 1}, "the same once settled"},
       {"settle", &Options::settle, Range{1, 1e9}, "samples over which exploration falls"},
       {"patience", &Options::patience, Range{1, 1e9},
        "samples without a better point after which agents begin anew; in spaces of more than 17 "
        "decisions it grows with the square of their number"},
       {"smooth", &Options::smooth, Range{0, 1}, "part of a lesson for neighbouring numbers"}});
}

}  // namespace tessera
