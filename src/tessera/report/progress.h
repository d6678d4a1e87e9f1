// Progress of long work. The library tells an observer what happened; the reporter shows it: on a
// terminal one table that is redrawn in place, elsewhere one line per event.
//
//   name            best      bound     gap   trend       samples       samples/s  ETA
//   layer1.0.conv1  1.23e+06  1.19e+06  3.2%  █▆▃▃▂▂▁▁▁▁  12,000/20,000    48,100  0:02
#ifndef TESSERA_REPORT_PROGRESS_H_
#define TESSERA_REPORT_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/report/terminal.h"
#include "tessera/run.h"

namespace tessera {

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
    std::string best_printed = {}, bound_printed = {};  // in the last line about it
    std::vector<double> trend = {};                     // best values, oldest first
    double trend_noted = 0;                             // when the last of them was
  };

  Entry& EntryOf(const ProgressRow& row, double now);
  void Draw(double now);
  void PrintLine(ProgressEvent event, Entry& entry, double now);
  std::vector<std::string> TableLines(const Terminal& terminal, double now) const;

  std::ostream& stream_;
  const ProgressOptions options_;
  const Clock clock_;
  const TerminalNow terminal_;
  const double begin_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> places_;   // of names in entries_
  std::optional<double> last_drawn_ = std::nullopt;  // none: draw at the next event
  bool stale_ = false;                               // events since the last drawing
  size_t lines_on_screen_ = 0;
};

// "48,100", "3.52", or "-" for no samples yet.
std::string RateText(int64_t samples, double seconds);

// Values from left to right as blocks between the lowest and the highest, by their logarithms where
// all are positive; at most `columns`, of each group the last. Empty for fewer than two values.
std::string Sparkline(const std::vector<double>& values, size_t columns);

// "0:02", "12:05", "1:02:03".
std::string DurationText(double seconds);

}  // namespace tessera

#endif  // TESSERA_REPORT_PROGRESS_H_
