// Lines of journals, without their checksums: what is shown of a run before it ends proves nothing.
#include "tessera/serve/run_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/map.h"
#include "tessera/runs.h"
#include "tessera/train.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The bytes of a file from a place on, up to a limit.
std::string BytesFrom(const std::string& file, int64_t start, int64_t most) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return "";
  std::string bytes(static_cast<size_t>(most), '\0');
  const ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), start);
  ::close(descriptor);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

// Half of the points: of every two neighbours the better one, so that no best value is lost.
void Thin(std::vector<std::pair<double, double>>& curve) {
  std::vector<std::pair<double, double>> kept;
  for (size_t i = 0; i < curve.size(); ++i) {
    if (i % 2 == 1 || i + 1 == curve.size()) kept.push_back(curve[i]);
  }
  curve = std::move(kept);
}

std::optional<double> NumberOf(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

RunTail::RunTail(const RunDirectory& run) : folder_(run.path()), kind_(run.header().kind) {
  if (kind_ == kMapRun) {
    if (const Result<MapJob> job = LoadMapJob(run)) {
      for (const NetworkLayer& layer : job->network.layers) names_.push_back(layer.name);
      budget_ = job->settings.budget.samples;
    }
  } else if (kind_ == kCompareRun) {
    if (const Result<CompareJob> job = LoadCompareJob(run)) {
      for (const auto& method : job->options.methods) {
        for (int64_t seed = 0; seed < job->options.seeds; ++seed) {
          names_.push_back(
              fmt::format("{}, seed {}", method.ToString(), job->problem.settings.seed + seed));
        }
      }
      budget_ = job->problem.settings.budget.samples;
    }
  } else if (kind_ == kTrainRun) {
    if (const Result<TrainSettings> settings = LoadTrainSettings(run)) {
      budget_ = settings->episodes;
    }
  }
}

bool RunTail::Read() {
  bool news = false;
  int64_t budget_bytes = kMostBytes;
  std::error_code code;
  fs::directory_iterator at(folder_ + "/journal", code);
  for (; !code && at != fs::directory_iterator(); at.increment(code)) {
    if (at->path().extension() != ".jsonl") continue;
    news |= ReadPart(at->path().string(), parts_[at->path().stem().string()], budget_bytes);
  }
  return news;
}

bool RunTail::ReadPart(const std::string& file, Part& part, int64_t& budget_bytes) {
  std::error_code code;
  const auto size = static_cast<int64_t>(fs::file_size(file, code));
  if (code) return false;
  if (size < part.read_bytes) part = Part();  // a run that started again
  const int64_t most = std::min(size - part.read_bytes, budget_bytes);
  if (most <= 0) return false;
  const std::string bytes = BytesFrom(file, part.read_bytes, most);
  size_t start = 0;
  for (size_t end = bytes.find('\n'); end != std::string::npos; end = bytes.find('\n', start)) {
    const Json line = FromText(std::string_view(bytes).substr(start, end - start));
    ++part.lines;
    if (line.is_object()) Take(line, part);
    start = end + 1;
  }
  part.read_bytes += static_cast<int64_t>(start);
  budget_bytes -= static_cast<int64_t>(bytes.size());
  return start > 0;
}

void RunTail::Take(const Json& line, Part& part) const {
  const auto add = [&](double x, double y) {
    part.best = y;
    part.curve.emplace_back(x, y);
    if (part.curve.size() > kMostPoints) Thin(part.curve);
  };
  if (kind_ == kTrainRun) {
    const std::optional<double> episodes = NumberOf(line, "episodes");
    const std::optional<double> reward = NumberOf(line, "team_return");
    // Lines are shown before anybody has checked them.
    constexpr double kMost = 0x1p53;
    if (!episodes || *episodes < 0 || *episodes > kMost) return;
    part.lines = static_cast<int64_t>(*episodes);
    if (reward) add(*episodes, *reward);
    return;
  }
  std::optional<double> value = NumberOf(line, "value");
  if (!value) value = NumberOf(line, "cycles");
  if (!value) {
    part.refused +=
        line.contains("infeasible") || line.contains("failed") || line.contains("refused");
    return;
  }
  if (!part.best || *value < *part.best) add(static_cast<double>(part.lines), *value);
}

int64_t RunTail::lines() const {
  int64_t lines = 0;
  for (const auto& [name, part] : parts_) lines += part.lines;
  return lines;
}

Json RunTail::ToJson() const {
  const bool train = kind_ == kTrainRun;
  Json json = {{"x", train ? "episodes" : "samples"},
               {"y", train ? "team return" : "best so far"},
               {"log", !train},
               {"parts", Json::array()}};
  for (const auto& [journal, part] : parts_) {
    // "007" and what is derived from it, "007.proof", are the seventh.
    const size_t number = std::strtoul(journal.c_str(), nullptr, 10);
    std::string name = journal;
    if (number >= 1 && number <= names_.size()) {
      name = names_[number - 1] + (journal.size() > 3 ? " (" + journal.substr(4) + ")" : "");
    }
    json["parts"].push_back({{"name", name},
                             {"samples", part.lines},
                             {"budget", journal.find('.') == std::string::npos ? budget_ : 0},
                             {"best", part.best ? Json(*part.best) : Json(nullptr)},
                             {"refused", part.refused},
                             {"curve", part.curve}});
  }
  return json;
}

}  // namespace tessera
