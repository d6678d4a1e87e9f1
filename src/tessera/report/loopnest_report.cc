#include "tessera/report/loopnest_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/checked.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/cost/loopnest/result_json.h"

namespace tessera {
namespace {

using loopnest::ExactLevel;
using loopnest::Semantics;
using loopnest::TimeloopLevel;

// What both kinds of semantics say about a tensor at a level, over all instances.
struct Accesses {
  int64_t tile_words = 0, reads = 0, fills = 0, updates = 0;
  double energy_pj = 0;
};

struct NetworkUse {
  double words = 0, hops_per_word = 0;
  int64_t multicast = 0, link_words = 0;
  double energy_pj = 0;
};

class View {
 public:
  explicit View(const LoopnestReport& report)
      : report_(report), exact_(report.setup.semantics == Semantics::kExact) {}

  int levels() const { return report_.setup.machine.num_levels; }
  int tensors() const { return report_.setup.data.problem.num_tensors; }
  const std::string& Level(int i) const {
    return report_.setup.machine.level_names[static_cast<size_t>(i)];
  }
  std::string_view Tensor(int v) const {
    return report_.setup.data.problem.tensors[static_cast<size_t>(v)].name.view();
  }
  bool Keeps(int i, int v) const { return report_.mapping.levels[static_cast<size_t>(i)].Keeps(v); }
  int64_t used(int i) const { return report_.workspace.nest.used[i]; }

  int64_t cycles() const {
    return exact_ ? report_.workspace.exact.cycles : report_.workspace.timeloop.cycles;
  }
  int64_t compute_cycles() const {
    return exact_ ? report_.workspace.exact.compute_cycles
                  : report_.workspace.timeloop.compute_cycles;
  }
  int64_t macs() const {
    return exact_ ? report_.workspace.exact.computes : report_.workspace.timeloop.computes;
  }
  int64_t used_macs() const { return report_.workspace.nest.used_macs; }
  double mac_pj() const {
    return exact_ ? report_.workspace.exact.mac_energy : report_.workspace.timeloop.mac_energy;
  }
  double energy_pj() const {
    return exact_ ? report_.workspace.exact.energy : report_.workspace.timeloop.energy;
  }
  double utilization() const {
    return exact_ ? report_.workspace.exact.utilization : report_.workspace.timeloop.utilization;
  }
  int64_t level_cycles(int i) const { return exact_ ? exact(i).cycles : timeloop(i).cycles; }
  double level_pj(int i) const { return exact_ ? exact(i).energy : timeloop(i).energy; }
  double network_pj(int i) const {
    return exact_ ? exact(i).network_energy : timeloop(i).network_energy;
  }

  Accesses At(int i, int v) const {
    if (exact_) {
      const loopnest::ExactTensor& t = exact(i).tensors[v];
      return {t.capacity, t.reads, t.fills, t.updates, t.energy};
    }
    const loopnest::TimeloopTensor& t = timeloop(i).tensors[v];
    const auto all = [&](uint64_t words) { return static_cast<int64_t>(words) * used(i); };
    return {t.utilized_capacity, all(t.reads), all(t.fills), all(t.updates),
            t.energy_per_instance * static_cast<double>(used(i))};
  }

  NetworkUse NetworkAt(int i, int v) const {
    NetworkUse use;
    if (exact_) {
      const loopnest::ExactNetworkTensor& t = exact(i).network[v];
      for (const loopnest::ExactIngress& ingress : t.ingresses) {
        use.words += static_cast<double>(ingress.words);
        use.multicast = std::max(use.multicast, ingress.multicast);
      }
      use.words += static_cast<double>(t.down_words);
      use.hops_per_word = t.avg_hops;
      use.link_words = t.link_transfers;
      use.energy_pj = t.energy + t.link_energy;
      return use;
    }
    const loopnest::TimeloopNetworkTensor& t = timeloop(i).network[v];
    const auto instances = static_cast<double>(used(i));
    for (int k = 0; k < t.num_ingresses; ++k) {
      const loopnest::Ingress& ingress =
          report_.workspace.timeloop.ingresses[static_cast<size_t>(t.first_ingress + k)];
      use.words += ingress.words * instances;
      use.multicast = std::max(use.multicast, ingress.multicast);
    }
    use.hops_per_word = t.avg_hops;
    use.link_words = t.link_transfers * used(i);
    use.energy_pj = (t.energy_per_instance + t.link_energy_per_instance) * instances;
    return use;
  }

 private:
  const ExactLevel& exact(int i) const { return report_.workspace.exact.levels[i]; }
  const TimeloopLevel& timeloop(int i) const { return report_.workspace.timeloop.levels[i]; }

  const LoopnestReport& report_;
  const bool exact_;
};

// By how much a value lies above its bound: 0.25 is 25 %. Nothing to compare with if the bound is
// 0.
Json Gap(double value, double bound) { return bound > 0 ? Json(value / bound - 1) : Json(); }

std::string GapText(double value, double bound) {
  if (bound <= 0) return "no bound";
  return fmt::format("{:.1f} % above", 100 * (value / bound - 1));
}

// Words of Timeloop may be fractions; whole ones are shown as such.
Cell Words(double words) {
  if (words == std::floor(words) && words < 1e15) return Cell(static_cast<int64_t>(words));
  return Cell(words);
}

}  // namespace

std::string NestText(const LoopnestReport& report) {
  const View view(report);
  std::vector<TileWords> words(static_cast<size_t>(view.levels()));
  for (int i = 0; i < view.levels(); ++i) {
    for (int v = 0; v < view.tensors(); ++v) {
      words[static_cast<size_t>(i)][static_cast<size_t>(v)] = view.At(i, v).tile_words;
    }
  }
  return PrintLoopNest(report.mapping, report.setup.data.problem, report.setup.machine.level_names,
                       words);
}

Table TensorTable(const LoopnestReport& report) {
  const View view(report);
  Table table(
      {"level", "tensor", "instances", "tile_words", "reads", "fills", "updates", "energy_pj"});
  for (int i = view.levels() - 1; i >= 0; --i) {
    for (int v = 0; v < view.tensors(); ++v) {
      if (!view.Keeps(i, v)) continue;
      const Accesses a = view.At(i, v);
      table.Add(view.Level(i), view.Tensor(v), view.used(i), a.tile_words, a.reads, a.fills,
                a.updates, a.energy_pj);
    }
  }
  return table;
}

Table LevelTable(const LoopnestReport& report) {
  const View view(report);
  Table table({"level", "instances_used", "instances", "words_used", "words", "cycles", "energy_pj",
               "network_pj"});
  const loopnest::Machine& machine = report.setup.machine;
  for (int i = view.levels() - 1; i >= 0; --i) {
    const loopnest::MachineLevel& level = machine.levels[i];
    const int64_t word_units = level.widths.word_units;
    int64_t units = 0;
    for (int v = 0; v < view.tensors(); ++v) {
      if (view.Keeps(i, v)) units += view.At(i, v).tile_words * level.units(v);
    }
    table.AddRow({Cell(view.Level(i)), Cell(view.used(i)), Cell(level.instances),
                  Cell(CeilDiv(units, word_units)),
                  level.limited ? Cell(level.exact_entries / word_units) : Cell(),
                  Cell(view.level_cycles(i)), Cell(view.level_pj(i)), Cell(view.network_pj(i))});
  }
  table.AddRow({Cell(machine.mac_name), Cell(view.used_macs()), Cell(machine.mac_instances), Cell(),
                Cell(), Cell(view.compute_cycles()), Cell(view.mac_pj()), Cell()});
  return table;
}

Table NetworkTable(const LoopnestReport& report) {
  const View view(report);
  Table table(
      {"network", "tensor", "words", "multicast", "hops_per_word", "link_words", "energy_pj"});
  for (int i = view.levels() - 1; i >= 0; --i) {
    for (int v = 0; v < view.tensors(); ++v) {
      const NetworkUse use = view.NetworkAt(i, v);
      if (use.words == 0 && use.link_words == 0) continue;
      table.Add(report.setup.machine.network_names[static_cast<size_t>(i)], view.Tensor(v),
                Words(use.words), use.multicast, use.hops_per_word, use.link_words, use.energy_pj);
    }
  }
  return table;
}

std::string Summary(const LoopnestReport& report) {
  const View view(report);
  const LoopBounds& bounds = report.bounds;
  const double energy = view.energy_pj(), cycles = static_cast<double>(view.cycles());
  std::string text = fmt::format(
      "layer {} on {}, semantics {}: {} MACs, {:.1f} % of the MAC units in use on average\n",
      report.layer, report.accelerator,
      loopnest::kSemanticsNames[static_cast<size_t>(report.setup.semantics)], view.macs(),
      100 * view.utilization());
  text += fmt::format("  cycles  {} (compute alone {}); bound {} ({}), {}\n", view.cycles(),
                      view.compute_cycles(), bounds.cycles, bounds.cycles_from,
                      GapText(cycles, static_cast<double>(bounds.cycles)));
  text += fmt::format("  energy  {:.6f} uJ, {:.6g} pJ per MAC; bound {:.6f} uJ, {}\n", energy / 1e6,
                      energy / static_cast<double>(view.macs()), bounds.energy_pj / 1e6,
                      GapText(energy, bounds.energy_pj));
  text += fmt::format("  EDP     {:.6g} pJ*cycles; bound {:.6g}, {}\n", energy * cycles,
                      bounds.edp(), GapText(energy * cycles, bounds.edp()));
  return text;
}

Json ToJson(const LoopnestReport& report) {
  const View view(report);
  const LoopProblem& problem = report.setup.data.problem;
  const double cycles = static_cast<double>(view.cycles());
  return {{"model", kLoopnestModel.name},
          {"semantics", loopnest::kSemanticsNames[static_cast<size_t>(report.setup.semantics)]},
          {"layer", report.layer},
          {"problem", ToString(problem)},
          {"accelerator", report.accelerator},
          {"nest", NestText(report)},
          {"cycles", view.cycles()},
          {"energy_pj", view.energy_pj()},
          {"edp_pj_cycles", view.energy_pj() * cycles},
          {"result", loopnest::ToJson(report.setup, report.mapping, report.workspace)},
          {"bound", ToJson(report.bounds, problem)},
          {"gap",
           {{"cycles", Gap(cycles, static_cast<double>(report.bounds.cycles))},
            {"energy", Gap(view.energy_pj(), report.bounds.energy_pj)},
            {"edp", Gap(view.energy_pj() * cycles, report.bounds.edp())}}}};
}

Result<int64_t> TotalCycles(const std::vector<BoundReport>& layers) {
  Checked cycles = 0;
  for (const BoundReport& layer : layers) {
    cycles = cycles + Checked(layer.count) * layer.bounds.cycles;
  }
  if (cycles.ok()) return cycles.value();
  return Error{.kind = ErrorKind::kOverflow,
               .message = "the cycles of all layers together exceed 64 bits"};
}

Table BoundTable(const std::vector<BoundReport>& layers) {
  Table table({"layer", "count", "macs", "bound_cycles", "from", "bound_compute_cycles",
               "bound_energy_pj", "bound_edp_pj_cycles"});
  for (const BoundReport& layer : layers) {
    const LoopBounds& bounds = layer.bounds;
    table.Add(layer.layer, layer.count, Macs(layer.problem), bounds.cycles, bounds.cycles_from,
              bounds.compute_cycles, bounds.energy_pj, bounds.edp());
  }
  return table;
}

Table BoundLevelTable(const std::vector<BoundReport>& layers) {
  Table table({"layer", "level", "tensor", "reads", "fills", "updates", "level_words",
               "level_cycles", "level_pj"});
  for (const BoundReport& layer : layers) {
    for (auto level = layer.bounds.levels.rbegin(); level != layer.bounds.levels.rend(); ++level) {
      for (int v = 0; v < layer.problem.num_tensors; ++v) {
        const TrafficBound& t = level->tensors[static_cast<size_t>(v)];
        const bool first = v == 0;
        table.AddRow({Cell(layer.layer), Cell(level->name),
                      Cell(layer.problem.tensors[static_cast<size_t>(v)].name.view()),
                      Cell(t.reads), Cell(t.fills), Cell(t.updates),
                      first ? Cell(level->words) : Cell(), first ? Cell(level->cycles) : Cell(),
                      first ? Cell(level->energy_pj + level->network_pj) : Cell()});
      }
    }
  }
  return table;
}

Json ToJson(const LoopBounds& bounds, const LoopProblem& problem) {
  Json levels = Json::array();
  for (const LevelBound& level : bounds.levels) {
    Json tensors = Json::object();
    for (int v = 0; v < problem.num_tensors; ++v) {
      const TrafficBound& t = level.tensors[static_cast<size_t>(v)];
      tensors[std::string(problem.tensors[static_cast<size_t>(v)].name.view())] = {
          {"reads", t.reads}, {"fills", t.fills}, {"updates", t.updates}};
    }
    levels.push_back({{"name", level.name},
                      {"tensors", std::move(tensors)},
                      {"words", level.words},
                      {"cycles", level.cycles},
                      {"energy_pj", level.energy_pj},
                      {"network_pj", level.network_pj}});
  }
  return {{"cycles", bounds.cycles},
          {"cycles_from", bounds.cycles_from},
          {"compute_cycles", bounds.compute_cycles},
          {"energy_pj", bounds.energy_pj},
          {"edp_pj_cycles", bounds.edp()},
          {"levels", std::move(levels)}};
}

}  // namespace tessera
