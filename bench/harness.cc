// Timing, the table and the JSON of benchmarks.
#include "harness.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera::bench {
namespace {

// Calls per second of a clock, over about `seconds` of it.
double CallsPerSecond(const std::function<void()>& body, double seconds, double (*now)()) {
  const double begin = now();
  int64_t calls = 0;
  double elapsed = 0;
  do {
    body();
    ++calls;
    elapsed = now() - begin;
  } while (elapsed < seconds);
  return static_cast<double>(calls) / elapsed;
}

[[noreturn]] void Usage(std::string_view problem) {
  fmt::print(stderr,
             "{}\nusage: BENCHMARK [--json FILE] [--seconds S] [--only TEXT] "
             "[--clock wall|processor]\n",
             problem);
  std::exit(2);
}

}  // namespace

Harness::Harness(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (i + 1 == argc) Usage(fmt::format("{} needs a value", flag));
    const std::string_view value = argv[++i];
    if (flag == "--json") {
      json_path_ = value;
    } else if (flag == "--only") {
      only_ = value;
    } else if (flag == "--clock" && (value == "wall" || value == "processor")) {
      now_ = value == "wall" ? &SteadySeconds : &ProcessorSeconds;
    } else if (const Result<double> seconds = ParseDouble(value); flag == "--seconds" && seconds) {
      seconds_ = *seconds;
    } else {
      Usage(fmt::format("cannot use {} {}", flag, value));
    }
  }
}

double Harness::Measure(const std::string& name, const std::string& unit, double items,
                        const std::function<void()>& body, const std::string& baseline) {
  constexpr size_t kParts = 5;
  if (name.find(only_) == std::string::npos) return 0;
  body();  // warm-up: caches, first allocations
  std::array<double, kParts> parts{};
  for (double& part : parts) part = items * CallsPerSecond(body, seconds_ / kParts, now_);
  std::sort(parts.begin(), parts.end());
  rows_.push_back({name, unit, baseline, "", parts[kParts / 2]});
  return rows_.back().per_second;
}

void Harness::Quote(const std::string& name, const std::string& unit, double per_second,
                    const std::string& source) {
  rows_.push_back({name, unit, "", source, per_second});
}

const Harness::Row* Harness::Find(const std::string& name) const {
  for (const Row& row : rows_) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::optional<double> Harness::RatioOf(const Row& row) const {
  const Row* baseline = Find(row.baseline);
  if (baseline == nullptr) return std::nullopt;
  return row.per_second / baseline->per_second;
}

int Harness::Finish() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows_) {
    fmt::print("{:<44} {:>16.6g} {}/s", row.name, row.per_second, row.unit);
    const std::optional<double> ratio = RatioOf(row);
    if (ratio) fmt::print("  {:>8.2f} x {}", *ratio, row.baseline);
    if (!row.source.empty()) fmt::print("  ({})", row.source);
    fmt::print("\n");
    list.push_back({{"name", row.name}, {"unit", row.unit}, {"per_second", row.per_second}});
    if (ratio) {
      list.back()["baseline"] = row.baseline;
      list.back()["ratio"] = *ratio;
    }
    if (!row.source.empty()) list.back()["source"] = row.source;
  }
  if (json_path_.empty()) return 0;
  const Result<void> written = WriteFileAtomically(json_path_, list.dump(2) + "\n");
  if (written) return 0;
  fmt::print(stderr, "{}\n", ToString(written.error()));
  return 3;
}

}  // namespace tessera::bench
