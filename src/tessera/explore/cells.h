// Cells of the table of machines and layers: what is known of one layer on one machine, as far as
// somebody had to know. Equal cells of different machines are one, and what a journal holds is not
// computed again.
#ifndef TESSERA_EXPLORE_CELLS_H_
#define TESSERA_EXPLORE_CELLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/map.h"
#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// What a cell knows after some rounds of the exact mapper.
struct CellFacts {
  int64_t rounds = 0;
  double bound = 0;       // no mapping has a lower value
  bool complete = false;  // more rounds change nothing about the bound
  bool settled = false;   // nor about the mapping
  bool possible = true;   // some mapping may exist
  std::string why = {};   // if not
  // Of the best mapping; value cells only.
  bool mapped = false;
  double value = 0, cycles = 0, energy_pj = 0;
  std::string mapping = {};  // as JSON

  friend bool operator==(const CellFacts&, const CellFacts&) = default;
};

// A question to the exact mapper about one layer and one machine.
struct CellQuestion {
  Layer layer = {};
  std::string name = {};  // of the layer, where constraints look at it; otherwise empty
  Accelerator accelerator = {};
  Objective objective = Objective::kLatency;
  // Bounds only: is there a mapping below this value? What is above it does not matter. None: the
  // best mapping is asked for, as `map --method exact` would find it.
  std::optional<double> threshold = {};

  std::string Key() const;  // equal questions have equal keys
};

// What is known of a cell before it is worked on: the best mapping of machines that differ from its
// own only in having fewer entries at one level each. Whatever fits one of those need not be looked
// at again (docs/explore.md).
struct CellStart {
  std::vector<std::optional<int64_t>> entries = {};  // of those machines, by that level
  double value = 0;
  std::string mapping = {};  // as JSON; empty: nothing is known
};

// Contract: members are called by one thread at a time; different cells by different threads.
class MapCell {
 public:
  // The job outlives the cell.
  MapCell(const MapJob& base, CellQuestion question);
  ~MapCell();

  const MapJob& base() const { return base_; }
  const CellQuestion& question() const { return question_; }
  const std::string& key() const { return key_; }
  const CellFacts& facts() const { return facts_; }
  void Take(CellFacts facts) { facts_ = std::move(facts); }
  const CellStart& start() const { return start_; }
  void StartFrom(CellStart start) { start_ = std::move(start); }
  bool done() const { return facts_.settled || !facts_.possible; }

  // Rounds until there were `rounds` of them, or nothing is left to do; `settle`: also what decides
  // between equal mappings. False if `stopped` ended it: the facts are then as before.
  Result<bool> Advance(int64_t rounds, bool settle, const std::function<bool()>& stopped);

  // Forgets what it would go on with; the next Advance starts again.
  bool working() const { return work_ != nullptr; }
  void Rest();

 private:
  struct Work;
  Result<void> Start();
  Result<void> StartProof(Work& work);
  void Look(CellFacts& facts) const;

  const MapJob& base_;
  const CellQuestion question_;
  const std::string key_;
  CellStart start_;
  CellFacts facts_;
  std::unique_ptr<Work> work_;
};

// All cells, and their journal.
class CellTable {
 public:
  // Everything that the journal of a run holds, if there is one; what is done from now on is added
  // to it.
  Result<void> Open(const RunDirectory* directory);

  // Only what the journal holds: tasks that it does not have are not done. As many as fit into so
  // many seconds are done once more, and have to come to the same.
  Result<void> Replay(const RunDirectory& directory, double seconds);

  // The cell of a question.
  MapCell& At(const MapJob& base, CellQuestion question);

  // Something to do for a cell.
  struct Task {
    MapCell* cell = nullptr;
    int64_t rounds = 1;
    bool settle = false;
  };
  // Does all of it on the pool's threads; each cell is named once. What was done is journalled,
  // once, in the order of the tasks. False if it was stopped: then some tasks may have been done.
  Result<bool> Do(const std::vector<Task>& tasks, ThreadPool& pool,
                  const std::function<bool()>& stopped);

  int64_t computed() const { return computed_; }  // tasks that no journal had
  int64_t recorded() const { return recorded_; }  // and those that one had
  int64_t repeated() const { return repeated_; }  // of those, done once more
  const std::vector<Discrepancy>& discrepancies() const { return discrepancies_; }

 private:
  static std::string KeyOf(const Task& task);
  Result<void> ReadKnown(const JournalFile& file);
  Result<void> Write(const std::vector<Task>& tasks);
  Result<void> Repeat(const Task& task, const CellFacts& known);
  void RestOthers(const std::vector<Task>& tasks);

  std::map<std::string, std::unique_ptr<MapCell>> cells_;
  std::map<std::string, CellFacts> known_;  // by KeyOf: of the journal, and what was done since
  std::set<std::string> asked_;             // in this sitting
  // What the journal held at first, and how many of its lines were asked for in their order. After
  // a stop some of the others may be earlier than a run without it would have them: they are
  // written again when their turn comes, so that both runs leave the same bytes.
  JournalFile file_;
  JournalText read_;
  std::vector<std::string> read_keys_;
  size_t confirmed_ = 0;
  std::unique_ptr<LineJournal> journal_;
  std::vector<MapCell*> working_;  // the last ones that were worked on, the latest last
  bool replays_ = false;
  double repeat_until_ = 0;
  int64_t computed_ = 0, recorded_ = 0, repeated_ = 0;
  std::vector<Discrepancy> discrepancies_;
};

// What a replayed table says about its journal.
void AddVerification(const CellTable& table, Verification& found);

}  // namespace tessera

#endif  // TESSERA_EXPLORE_CELLS_H_
