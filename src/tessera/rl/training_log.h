// The record of a training run, in the forms that people and tools read: progress.csv,
// progress.jsonl and TensorBoard event files.
#ifndef TESSERA_RL_TRAINING_LOG_H_
#define TESSERA_RL_TRAINING_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/rl/trainer.h"

namespace tessera {

struct TrainingRow {
  TrainProgress progress = {};
  double seconds = 0;  // of wall clock since the run began, pauses left out
};

// Columns of the CSV and keys of the JSON lines, in this order.
std::vector<std::string_view> TrainingColumns();
std::vector<double> TrainingValues(const TrainingRow& row);

// Files are replaced as a whole: a reader or a crash never meets half a line. That is slow beside a
// short episode, so rows reach the files at most once a second, and when Flush is called.
class TrainingLog {
 public:
  // A log in an existing folder, without rows.
  explicit TrainingLog(std::string folder);
  // Goes on with a log: rows after `episodes` belong to a run that did not get to its checkpoint
  // and are forgotten.
  static Result<TrainingLog> Resume(const std::string& folder, int64_t episodes);

  Result<void> Add(const TrainingRow& row);
  // Writes what was added since the last time.
  Result<void> Flush();
  const std::vector<TrainingRow>& rows() const { return rows_; }

 private:
  void AppendText(const TrainingRow& row);

  std::string folder_;
  std::vector<TrainingRow> rows_;
  std::string csv_, lines_, events_;  // the contents of the files
  std::string events_name_;
  double written_ = 0;  // when the files were last written, as a wall clock
  bool changed_ = false;
};

// One record of a TensorBoard event file: a scalar per tag, or the version if there are none.
std::string TensorBoardEvent(double wall_time, int64_t step,
                             const std::vector<std::pair<std::string, float>>& scalars);

}  // namespace tessera

#endif  // TESSERA_RL_TRAINING_LOG_H_
