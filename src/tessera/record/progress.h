// Progress of long work. The library tells an observer what happened; the reporter shows it: on a
// terminal one table that is redrawn in place, elsewhere one line per event.
//
//   name            best      bound     gap   samples       samples/s  ETA
//   layer1.0.conv1  1.23e+06  1.19e+06  3.2%  12,000/20,000    48,100  0:02
#ifndef TESSERA_RECORD_PROGRESS_H_
#define TESSERA_RECORD_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/record/terminal.h"

namespace tessera {

enum class ProgressEvent {
  kStarted,    // work on something began
  kAdvanced,   // more samples, nothing better
  kImproved,   // a better result
  kMilestone,  // a mark on a long way: worth a line where there is no table
  kDone,       // finished; the row will not change any more
};

// The state of one piece of work: a layer, a file, a training run.
struct ProgressRow {
  std::string name;                            // unique among the rows of one reporter
  std::optional<double> best = std::nullopt;   // best value so far
  std::optional<double> bound = std::nullopt;  // no value can be below it
  std::optional<double> gap = std::nullopt;    // best / bound - 1
  int64_t samples = 0;                         // done
  int64_t budget = 0;                          // to do; 0: not known
};

// Contract: called by one thread at a time; must not fail or throw.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;
  virtual void OnProgress(ProgressEvent event, const ProgressRow& row) = 0;
};

struct ProgressOptions {
  // Heading of the first column: "layer". Default: "name".
  std::string name_heading = "name";

  // Heading of the samples: "files". Default: "samples".
  std::string samples_heading = "samples";

  // Heading of the results: "team_return". Default: "best".
  std::string best_heading = "best";

  // Nothing is shown before the work has taken this long; what is short needs no progress.
  // Default: 0.5.
  double quiet_seconds = 0.5;

  // Least time between two drawings of the table. Default: 0.1.
  double redraw_seconds = 0.1;
};

class ProgressReporter final : public ProgressObserver {
 public:
  using Clock = std::function<double()>;  // seconds
  using TerminalNow = std::function<Terminal()>;

  // The stream must outlive the reporter. Clock and terminal are asked at every event.
  ProgressReporter(std::ostream& stream, ProgressOptions options, Clock clock,
                   TerminalNow terminal);

  // Draws the last state, which then stays on the screen.
  ~ProgressReporter() override;
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  void OnProgress(ProgressEvent event, const ProgressRow& row) override;

  // Draws the last state now. Later events start a new table.
  void Finish();

  // Takes the table off the screen, so that other text can be written; the next event draws it
  // again below that text.
  void MakeRoom();

 private:
  struct Entry {
    ProgressRow row;
    double started, ended;
    bool done = false;
  };

  Entry& EntryOf(const ProgressRow& row, double now);
  void Draw(double now);
  void PrintLine(ProgressEvent event, const Entry& entry, double now);
  std::vector<std::string> TableLines(const Terminal& terminal, double now) const;

  std::ostream& stream_;
  const ProgressOptions options_;
  const Clock clock_;
  const TerminalNow terminal_;
  const double begin_;
  std::vector<Entry> entries_;
  std::optional<double> last_drawn_ = std::nullopt;  // none: draw at the next event
  bool stale_ = false;                               // events since the last drawing
  size_t lines_on_screen_ = 0;
};

// "48,100", "3.52", or "-" for no samples yet.
std::string RateText(int64_t samples, double seconds);

// "0:02", "12:05", "1:02:03".
std::string DurationText(double seconds);

}  // namespace tessera

#endif  // TESSERA_RECORD_PROGRESS_H_
