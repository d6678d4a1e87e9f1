// The exact mapper on one layer: rounds, what they have shown so far, and the journal of both. Once
// the first objective is as small as its limits allow, a few rounds for each of the next ones
// choose between the mappings that are as good (or, with --within, nearly as good).
#ifndef TESSERA_MAPPER_LAYER_PROVER_H_
#define TESSERA_MAPPER_LAYER_PROVER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/part.h"
#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/search/exact/mapper.h"

namespace tessera {

class LayerProver {
 public:
  // Job and layer outlive it. `stopped` may be empty; it ends rounds where they are.
  LayerProver(const MapJob& job, LayerMapping& layer, std::function<bool()> stopped)
      : job_(job), layer_(layer), stopped_(std::move(stopped)) {}

  // Prepares the search with at most so many open nodes. `known`: as of exact::MapperOptions; the
  // best mapping of what is known is then offered.
  Result<void> Make(int64_t max_nodes, std::vector<std::optional<int64_t>> known = {});

  // Writes every round to this file. With `restore`, what the file holds counts as known;
  // otherwise the rounds start again, and so does the file.
  Result<void> OpenJournal(const JournalFile& file, bool restore);

  // Rounds until `seconds` have passed, at least one; the last one ends at `deadline` where it is,
  // and those for the first objective at `first_deadline`. What they show is kept apart until
  // Publish.
  Result<void> Run(double seconds, double first_deadline, double deadline, ThreadPool& pool);

  // Takes over the layer's mapping, if it is better than what is known here.
  void Offer();

  // Writes the last line of the journal, unless it is there.
  Result<void> Close();

  // Brings the layer up to date.
  void Publish();

  bool done() const { return done_; }
  bool first_done() const { return first_done_; }  // nothing is left to do for the first objective
  // What ended it; none while it is not done.
  std::optional<MapStop> stop() const { return stop_; }
  // How much of the network's gap is this layer's, by the time already spent on it.
  double Urgency() const;

  // Memory of its searches, as of the last Publish; and what can be made again is given up, if the
  // layer has been worked on for twice as long as when that happened last: then making it again
  // takes less than everything else.
  int64_t bytes() const { return bytes_; }
  void Trim();

  const LayerMapping& layer() const { return layer_; }
  bool improved() const { return improved_; }  // a better mapping since the last Publish but one

  bool busy = false;  // some thread works on it

 private:
  Result<void> Audit();
  Result<void> StartInside(const MappingProblem& problem);
  void StartHeld();
  Result<void> Round(ThreadPool& pool);
  Result<void> PerfectRound(ThreadPool& pool);
  Result<void> Take(const exact::Progress& progress);
  std::optional<MapStop> StopAfter(bool more, const exact::Progress& progress) const;
  Result<void> NextRound(ThreadPool& pool);
  Result<void> StartNext();
  void FinishFirst(MapStop stop);
  void CountBytes();
  Result<void> TakeMapping(const LoopMapping& mapping);
  Result<void> Write(bool new_mapping);
  double Gap() const;

  const MapJob& job_;
  LayerMapping& layer_;
  const std::function<bool()> stopped_;
  std::unique_ptr<exact::Mapper> mapper_;
  std::unique_ptr<CostModel> model_;
  std::unique_ptr<LineJournal> journal_;

  // What is known; the layer has it after Publish.
  std::optional<LoopMapping> mapping_;
  std::optional<Cost> cost_;
  double value_ = std::numeric_limits<double>::infinity();
  double bound_ = 0;
  LayerProof proof_;
  LayerProof written_;  // last line of the journal
  LayerProof before_;   // of an earlier run, which the mapper does not count

  exact::MapperOptions options_;      // of the first objective
  std::vector<Objective> next_ = {};  // objectives after it, as far as they can be proved
  size_t at_ = 0;                     // of those
  bool first_done_ = false;
  std::unique_ptr<exact::Mapper> chooser_;  // for next_[at_]
  int64_t chooser_rounds_ = 0;
  std::optional<MapStop> stop_;
  std::optional<SubspaceResult> without_bypass_, held_before_;  // the latter of an earlier run
  // With any factors: those that divide come first, so that both can be compared.
  std::unique_ptr<exact::Mapper> perfect_;
  std::optional<SubspaceResult> perfect_factors_;
  int64_t perfect_rounds_ = 0, perfect_evaluations_ = 0;
  double perfect_until_ = 0;  // seconds of the clock
  std::vector<NextObjective> then_;
  std::string defect_;  // what an audit of the proof found
  double choices_left_out_ = 0;
  int64_t choices_unseen_ = 0;

  bool done_ = false, improved_ = false, better_ = false;
  int64_t rounds_here_ = 0;
  double stop_at_ = std::numeric_limits<double>::infinity();
  double spent_seconds_ = 0, spent_at_trim_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_MAPPER_LAYER_PROVER_H_
