// A policy that was trained before (policy/): agents that look at layer, machine and objective, and
// act without learning. The first point is the most probable mapping, the next ones are draws.
#include <array>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/policy/game.h"
#include "tessera/policy/play.h"
#include "tessera/policy/shipped.h"
#include "tessera/search.h"

namespace tessera {
namespace {

struct PretrainedOptions {
  int64_t first = 128;
  int64_t each = 16;
  int64_t rethink = 64;
};

class PretrainedSearcher final : public Searcher {
 public:
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const PretrainedOptions& options) {
    std::unique_ptr<PretrainedSearcher> made(new PretrainedSearcher(setup));
    if (setup.mapping == nullptr) return std::unique_ptr<Searcher>(std::move(made));
    made->game_ = policy::MakeGame(*setup.mapping);
    if (made->game_ == nullptr) return std::unique_ptr<Searcher>(std::move(made));
    made->networks_ = setup.policy;
    if (made->networks_ == nullptr) {
      auto loaded = policy::LoadPolicy("default", setup.mapping->model().info().name);
      if (!loaded) return loaded.error();
      made->networks_ = *std::move(loaded);
    }
    if (made->networks_->features() != made->game_->features()) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = "the policy was trained for another cost model",
                   .hint = "'tessera list policies' names those that ship with the program"};
    }
    made->actor_ = std::make_unique<policy::Actor>(
        *made->game_, *made->networks_, setup.seed,
        policy::ActorOptions{
            .first = options.first, .each = options.each, .rethink = options.rethink});
    return std::unique_ptr<Searcher>(std::move(made));
  }

  std::vector<Point> Propose(int64_t n) override {
    if (actor_ != nullptr) return actor_->Propose(n);
    // A space of something that is no mapping: nobody has learned anything about it.
    constexpr int64_t kTries = 100;
    std::vector<Point> points;
    for (int64_t i = 0; i < kTries * n && std::ssize(points) < n; ++i) {
      CounterRng rng(seed_, StreamId("search.policy"), draws_++);
      const Point point = space_.Sample(rng, /*redraws=*/0);
      if (seen_.insert(PointHash()(point)).second) points.push_back(point);
    }
    return points;
  }

  void Observe(std::span<const Trial> /*trials*/) override {}  // It acts; it does not learn.

  std::vector<Note> Notes() const override {
    return {{"policy", std::string(actor_ != nullptr ? "trained" : "none: uniform draws")}};
  }

  std::vector<std::vector<std::string>> Agents() const override {
    std::array<std::vector<std::string>, 4> kinds;
    for (const Decision& decision : space_.decisions()) {
      const bool parallel = decision.role() == DecisionRole::kParallel ||
                            decision.name().ends_with("_par") || decision.name().ends_with("_axis");
      const size_t kind = decision.role() == DecisionRole::kOrder   ? 3
                          : parallel                                ? 1
                          : decision.role() == DecisionRole::kOther ? 0
                                                                    : 2;
      kinds[kind].push_back(decision.name());
    }
    std::vector<std::vector<std::string>> agents;
    for (std::vector<std::string>& kind : kinds) {
      if (!kind.empty()) agents.push_back(std::move(kind));
    }
    return agents;
  }

 private:
  explicit PretrainedSearcher(const SearchSetup& setup) : space_(setup.space), seed_(setup.seed) {}

  const DecisionSpace& space_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  std::unordered_set<size_t> seen_;
  std::unique_ptr<policy::Game> game_;
  std::shared_ptr<const policy::Networks> networks_;
  std::unique_ptr<policy::Actor> actor_;
};

}  // namespace

MethodInfo PolicyMethod() {
  using O = PretrainedOptions;
  return DeclareMethod<PretrainedSearcher, O>(
      {.name = "policy",
       .summary = "agents trained before: the most probable mapping, then draws; learns nothing"},
      {{"first", &O::first, Range{1, 512}, "mappings that agents make before the first is chosen"},
       {"each", &O::each, Range{1, 64}, "mappings that agents make for each of the next ones"},
       {"rethink", &O::rethink, Range{0, 256},
        "how often agents think again about the best of these"}});
}

std::vector<PolicyInfo> Policies() {
  std::vector<PolicyInfo> list;
  for (const policy::ShippedPolicy& policy : policy::ShippedPolicies()) {
    list.push_back({.name = policy.name,
                    .model = policy.model,
                    .summary = policy.summary,
                    .command = policy.command,
                    .seed = policy.seed,
                    .data_hash = policy.data_hash,
                    .sha256 = policy.sha256,
                    .bytes = std::ssize(policy.bytes)});
  }
  return list;
}

}  // namespace tessera
