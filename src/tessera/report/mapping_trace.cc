// Steps of outer loops, and what changes from one to the next.
#include "tessera/report/mapping_trace.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/mapping.h"
#include "tessera/report/json.h"

namespace tessera {
namespace {

constexpr int kLayerTrack = 1, kMacTrack = 2, kFirstLevelTrack = 3;

// A loop over time, and where it stands.
struct OuterLoop {
  size_t level, dimension;
  int64_t count;
};

// Outermost first; loops of one iteration are none.
std::vector<OuterLoop> LoopsOf(const LoopMapping& mapping, const LoopProblem& problem) {
  std::vector<OuterLoop> loops;
  for (size_t level = static_cast<size_t>(mapping.num_levels); level-- > 0;) {
    const LoopLevel& at = mapping.levels[level];
    for (size_t place = problem.dims().size(); place-- > 0;) {
      const size_t dimension = at.temporal_order[place];
      const int64_t factor = at.temporal[dimension];
      const int64_t count = factor == 0 ? problem.dimensions[dimension].bound : factor;
      if (count > 1) loops.push_back({level, dimension, count});
    }
  }
  return loops;
}

bool Uses(const LoopTensor& tensor, size_t dimension) {
  return std::ranges::any_of(tensor.view(), [&](const TensorRank& rank) {
    return std::ranges::any_of(rank.view(), [&](const RankTerm& term) {
      return static_cast<size_t>(term.dimension) == dimension;
    });
  });
}

// The steps of a layer: iterations of its first `depth` loops.
class Steps {
 public:
  Steps(const LayerExplanation& layer, int64_t most) {
    const LoopMapping* const mapping = std::get_if<LoopMapping>(&*layer.mapping);
    if (mapping == nullptr) return;
    problem_ = *MakeLoopProblem(layer.layer);
    loops_ = LoopsOf(*mapping, problem_);
    while (depth_ < loops_.size() && count_ * loops_[depth_].count <= most) {
      count_ *= loops_[depth_++].count;
    }
  }

  int64_t count() const { return count_; }

  // The steps in which the tile of a tensor below a level is another one than in the step before.
  std::vector<int64_t> Moves(size_t level, size_t tensor) const {
    std::vector<int64_t> moves;
    for (int64_t step = 0; step < count_; ++step) {
      if (step == 0 || Changes(level, tensor, step)) moves.push_back(step);
    }
    return moves;
  }

 private:
  bool Changes(size_t level, size_t tensor, int64_t step) const {
    if (tensor >= static_cast<size_t>(problem_.num_tensors)) return true;
    const LoopTensor& moved = problem_.tensors[tensor];
    int64_t inner = 1;  // steps of the loops within
    for (size_t i = loops_.size(); i-- > 0;) {
      const OuterLoop& loop = loops_[i];
      const bool counts = loop.level >= level && Uses(moved, loop.dimension);
      if (i >= depth_) {
        if (counts) return true;  // it moves within every step
        continue;
      }
      // A loop goes on exactly where all loops within start again.
      if (counts && step % inner == 0) return true;
      inner *= loop.count;
    }
    return false;
  }

  LoopProblem problem_ = {};
  std::vector<OuterLoop> loops_;
  size_t depth_ = 0;
  int64_t count_ = 1;
};

class Trace {
 public:
  void Name(int track, const std::string& name) {
    Add({{"name", "thread_name"},
         {"ph", "M"},
         {"pid", 1},
         {"tid", track},
         {"args", {{"name", name}}}});
  }
  // Perfetto cuts times to whole nanoseconds, and drops a slice that then reaches into the next. An
  // eighth of a cycle is the finest step that both binary numbers and nanoseconds hold exactly.
  void Slice(int track, const std::string& name, double start, double end, Json arguments) {
    start = std::round(8 * start) / 8;
    end = std::round(8 * end) / 8;
    Add({{"name", name},
         {"ph", "X"},
         {"pid", 1},
         {"tid", track},
         {"ts", start},
         {"dur", end - start},
         {"args", std::move(arguments)}});
  }
  std::string Text() const {
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  void Add(const Json& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += ToLine(event);
  }

  std::string events_;
};

// The words of one tensor that a level gives down and takes from below in one step.
struct Transfer {
  const TensorShare* tensor;
  double words = 0, cycles = 0;
};

void AddLevel(const LevelShare& level, size_t index, int track, const Steps& steps, double start,
              double step_cycles, Trace& trace) {
  std::vector<std::vector<Transfer>> by_step(static_cast<size_t>(steps.count()));
  for (size_t v = 0; v < level.tensors.size(); ++v) {
    const TensorShare& tensor = level.tensors[v];
    const int64_t words = tensor.reads + tensor.updates;
    if (!tensor.kept || words == 0) continue;
    const std::vector<int64_t> moves = steps.Moves(index, v);
    const double each = static_cast<double>(words) / static_cast<double>(moves.size());
    const double cycles = level.words_per_cycle && *level.words_per_cycle > 0
                              ? each * tensor.element_words / *level.words_per_cycle
                              : step_cycles / static_cast<double>(level.tensors.size());
    for (const int64_t step : moves) {
      by_step[static_cast<size_t>(step)].push_back({&tensor, each, cycles});
    }
  }
  for (size_t step = 0; step < by_step.size(); ++step) {
    // Transfers of a level follow each other; more than fit a step are drawn shorter.
    double sum = 0;
    for (const Transfer& transfer : by_step[step]) sum += transfer.cycles;
    const double scale = sum > step_cycles ? step_cycles / sum : 1;
    double at = start + static_cast<double>(step) * step_cycles;
    const double next = start + static_cast<double>(step + 1) * step_cycles;
    for (const Transfer& transfer : by_step[step]) {
      const double end = std::min(at + transfer.cycles * scale, next);
      trace.Slice(track, transfer.tensor->name, at, end,
                  {{"words", transfer.words}, {"step", step}});
      at = end;
    }
  }
}

}  // namespace

std::string MappingTrace(const RunExplanation& run) {
  std::vector<const LayerExplanation*> layers;
  std::vector<std::string> names;  // of levels, in the order of tracks
  int64_t tracks = 1;
  for (const LayerExplanation& layer : run.layers) {
    if (!layer.mapping) continue;
    layers.push_back(&layer);
    int64_t slices = 1;
    for (size_t i = layer.parts.levels.size(); i-- > 0;) {
      const LevelShare& level = layer.parts.levels[i];
      slices += std::ssize(level.tensors);
      if (std::ranges::find(names, level.name) == names.end()) names.push_back(level.name);
    }
    tracks = std::max(tracks, slices);
  }
  Trace trace;
  trace.Name(kLayerTrack, "layers");
  trace.Name(kMacTrack, "MACs");
  for (size_t i = 0; i < names.size(); ++i) {
    trace.Name(kFirstLevelTrack + static_cast<int>(i), names[i]);
  }
  const int64_t most =
      std::max<int64_t>(1, kMostSlices / (tracks * std::max<int64_t>(1, std::ssize(layers))));
  double start = 0;
  for (const LayerExplanation* const layer : layers) {
    const CostBreakdown& parts = layer->parts;
    const auto cycles = static_cast<double>(parts.cost.cycles);
    const Steps steps(*layer, most);
    const double step_cycles = cycles / static_cast<double>(steps.count());
    const double busy = static_cast<double>(parts.compute_cycles) / cycles;
    trace.Slice(
        kLayerTrack, layer->name, start, start + cycles,
        {{"limit", LimitSentence(*layer)}, {"steps", steps.count()}, {"count", layer->count}});
    for (int64_t step = 0; step < steps.count(); ++step) {
      const double at = start + static_cast<double>(step) * step_cycles;
      trace.Slice(
          kMacTrack, "MACs", at,
          std::min(at + step_cycles * busy, start + static_cast<double>(step + 1) * step_cycles),
          {{"macs", static_cast<double>(parts.cost.macs) / static_cast<double>(steps.count())},
           {"units", parts.used_mac_units}});
    }
    for (size_t i = 0; i < parts.levels.size(); ++i) {
      const auto track = std::ranges::find(names, parts.levels[i].name) - names.begin();
      AddLevel(parts.levels[i], i, kFirstLevelTrack + static_cast<int>(track), steps, start,
               step_cycles, trace);
    }
    start += cycles;
  }
  return trace.Text();
}

}  // namespace tessera
