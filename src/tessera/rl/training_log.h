// The record of a training run, in the forms that people and tools read: progress.csv,
// progress.jsonl and TensorBoard event files.
#ifndef TESSERA_RL_TRAINING_LOG_H_
#define TESSERA_RL_TRAINING_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/rl/trainer.h"

namespace tessera {

struct TrainingRow {
  TrainProgress progress = {};
  double seconds = 0;  // of wall clock since the run began, pauses left out
};

// Columns of the CSV and keys of the JSON lines, in this order.
std::vector<std::string_view> TrainingColumns();
std::vector<double> TrainingValues(const TrainingRow& row);

// Files are replaced as a whole at every row: a reader or a crash never meets half a line.
class TrainingLog {
 public:
  // A log in an existing folder, without rows.
  explicit TrainingLog(std::string folder);
  // Goes on with a log: rows after `episodes` belong to a run that did not get to its checkpoint
  // and are forgotten.
  static Result<TrainingLog> Resume(const std::string& folder, int64_t episodes);

  Result<void> Add(const TrainingRow& row);
  const std::vector<TrainingRow>& rows() const { return rows_; }

 private:
  std::string folder_;
  std::vector<TrainingRow> rows_;
  std::string events_;
  std::string events_name_;
};

// One record of a TensorBoard event file: a scalar per tag, or the version if there are none.
std::string TensorBoardEvent(double wall_time, int64_t step,
                             const std::vector<std::pair<std::string, float>>& scalars);

}  // namespace tessera

#endif  // TESSERA_RL_TRAINING_LOG_H_
