// A run that goes on, followed by its journals: how far every part of it is, and its best values so
// far. Only what was written since the last look is read, and nothing of the run is touched.
#ifndef TESSERA_SERVE_RUN_TAIL_H_
#define TESSERA_SERVE_RUN_TAIL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/report/json.h"
#include "tessera/run.h"

namespace tessera {

class RunTail {
 public:
  // `run` was opened to look at it. Names of parts and budgets come from its settings.
  explicit RunTail(const RunDirectory& run);

  // Reads what is new, at most kMostBytes. True if there was something.
  bool Read();

  int64_t lines() const;

  // {"x", "y", "log", "parts": [{"name", "samples", "budget", "best", "refused",
  //   "curve": [[x, y], ...]}]}: values go down, but for returns of training.
  Json ToJson() const;

 private:
  static constexpr int64_t kMostBytes = 8 << 20;  // of one look
  static constexpr size_t kMostPoints = 1'000;    // of a curve

  struct Part {
    int64_t read_bytes = 0;
    int64_t lines = 0, refused = 0;
    std::optional<double> best = {};
    std::vector<std::pair<double, double>> curve = {};
  };

  bool ReadPart(const std::string& file, Part& part, int64_t& budget_bytes);
  void Take(const Json& line, Part& part) const;

  const std::string folder_, kind_;
  std::vector<std::string> names_;     // of journals 001, 002, ...
  int64_t budget_ = 0;                 // of every part; 0: not known
  std::map<std::string, Part> parts_;  // by journal
};

}  // namespace tessera

#endif  // TESSERA_SERVE_RUN_TAIL_H_
