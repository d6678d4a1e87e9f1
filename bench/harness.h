// What every benchmark shares: timing of a body against a baseline in the same run, a table on
// stdout and JSON for --json FILE. A benchmark reports ratios; it asserts nothing.
#ifndef TESSERA_BENCH_HARNESS_H_
#define TESSERA_BENCH_HARNESS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/record/clock.h"

namespace tessera::bench {

class Harness {
 public:
  // Reads --json FILE, --seconds S (time per measurement, default 0.3), --only TEXT (measures the
  // rows whose name holds TEXT, for profilers) and --clock (processor: time of all threads, which
  // other programs on the machine do not lengthen; default wall); others end the program.
  Harness(int argc, char** argv);

  // Whether --only leaves a row in.
  bool Selected(const std::string& name) const { return name.find(only_) != std::string::npos; }

  // Measures `items` units of work per call of `body`, for about --seconds, and returns units per
  // second: the median of five parts of that time; 0 if --only leaves it out. The row compares with
  // `baseline`, the name of an earlier row; empty: this is one.
  double Measure(const std::string& name, const std::string& unit, double items,
                 const std::function<void()>& body, const std::string& baseline = "");

  // A row that another program or machine measured, for its ratio; `source` says which.
  void Quote(const std::string& name, const std::string& unit, double per_second,
             const std::string& source);

  // Prints the table and writes the JSON file; the exit code of main.
  int Finish() const;

 private:
  struct Row {
    std::string name, unit, baseline, source;
    double per_second;
  };
  const Row* Find(const std::string& name) const;
  std::optional<double> RatioOf(const Row& row) const;  // none without a baseline

  std::string json_path_;
  std::string only_;
  double seconds_ = 0.3;
  double (*now_)() = &SteadySeconds;
  std::vector<Row> rows_;
};

// Keeps the compiler from removing what computed `value`.
template <typename T>
inline void Keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace tessera::bench

#endif  // TESSERA_BENCH_HARNESS_H_
