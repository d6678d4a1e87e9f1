// Checks of pruning by example: below parts of the tree that a search left out, mappings are drawn
// at random and evaluated. None may cost less than the bound for which its part was left out.
#ifndef TESSERA_SEARCH_EXACT_AUDIT_H_
#define TESSERA_SEARCH_EXACT_AUDIT_H_

#include <array>
#include <cstdint>
#include <string>

#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/tree.h"

namespace tessera::exact {

struct RuleAudit {
  int64_t audited = 0;     // mappings that the model accepts
  int64_t violations = 0;  // of them, those that cost less than the bound
  double tightest = 0;     // largest bound / cost
};

// Gives each part that is left out `per_part` draws, and 64 times as many where one mapping stands
// for others, until every rule has had `most` mappings.
// A draw is uniform at each decision: factors that fit, axes, orders. Used by one thread.
class Auditor final : public PruneObserver {
 public:
  Auditor(Goal goal, uint64_t seed, int64_t per_part, int64_t most);

  void OnPruned(const Model& model, Rule rule, double bound, std::span<const Frame> frames,
                int level, const Tile* tile, const Chain* chain,
                const LoopMapping* mapping) override;

  // Draws no more for a rule that others have checked enough.
  void Skip(Rule rule) { skipped_[static_cast<size_t>(rule)] = true; }

  const std::array<RuleAudit, kRules>& rules() const { return rules_; }
  // The first violation in words; empty if there is none.
  const std::string& first_violation() const { return first_violation_; }

 private:
  void Draw(const Model& model, std::span<const Frame> frames, int level, const Tile* tile);
  void DrawAny(const Model& model, std::span<const Frame> frames, int level, const Tile* tile);
  void Complete(const Model& model, int level, int32_t* left);
  void Shuffle(const Model& model, int level, const Chain* chain);
  bool Place(const Model& model, int level);
  void Check(const Model& model, Rule rule, double bound);

  const Goal goal_;
  const int64_t per_part_, most_;
  CounterRng rng_;
  const loopnest::Setup* setup_ = nullptr;  // that the workspace was used with
  loopnest::Workspace workspace_;
  LoopMapping mapping_;
  std::array<RuleAudit, kRules> rules_ = {};
  std::array<bool, kRules> skipped_ = {};
  std::string first_violation_;
};

// A short look at a proof: the first parts that a search for something better than `best` leaves
// out, and some mappings below each. Returns the first violation in words, or nothing. Takes some
// hundredths of a second, or until options.stopped.
Result<std::string> AuditSample(const LoopProblem& problem, const Hierarchy& hierarchy,
                                MapperOptions options, const LoopMapping& best, uint64_t seed);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_AUDIT_H_
