// The record of a training run: its journal, and the forms that people and tools read, progress.csv
// and TensorBoard event files.
#ifndef TESSERA_TRAINING_TRAINING_LOG_H_
#define TESSERA_TRAINING_TRAINING_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/record/line_journal.h"
#include "tessera/result.h"
#include "tessera/run.h"
#include "tessera/train.h"

namespace tessera {

// progress.csv of these rows.
std::string TrainingCsv(const std::vector<TrainingRow>& rows);

// A row as an object of the journal.
std::string TrainingLine(const TrainingRow& row);

// The rows of a run's journal, without times, which are no part of it.
Result<std::vector<TrainingRow>> ReadTrainingRows(const RunDirectory& directory);

// Rows are in the journal as soon as they are added. The other files are replaced as a whole, so
// that a reader never meets half a line; that is slow beside a short episode, so rows reach them at
// most once a second, and when Flush is called.
class TrainingLog {
 public:
  // Goes on with the log of a run, which outlives it: rows after `episodes` belong to a part that
  // did not get to its checkpoint and are forgotten.
  static Result<TrainingLog> Open(const RunDirectory& directory, int64_t episodes);

  Result<void> Add(const TrainingRow& row);
  // Writes what was added since the last time, and puts the journal on the disk.
  Result<void> Flush();
  const std::vector<TrainingRow>& rows() const { return rows_; }

 private:
  TrainingLog(const RunDirectory& directory, std::unique_ptr<LineJournal> journal);

  const RunDirectory* directory_;
  std::unique_ptr<LineJournal> journal_;
  std::vector<TrainingRow> rows_;
  std::string events_, events_name_;
  double written_ = 0;  // when the files were last written, as a wall clock
  bool changed_ = false;
};

// One record of a TensorBoard event file: a scalar per tag, or the version if there are none.
std::string TensorBoardEvent(double wall_time, int64_t step,
                             const std::vector<std::pair<std::string, float>>& scalars);

}  // namespace tessera

#endif  // TESSERA_TRAINING_TRAINING_LOG_H_
