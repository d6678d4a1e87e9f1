// Which space a result is about, and what lies outside of it.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/map.h"
#include "tessera/mapper/map_network.h"

namespace tessera {
namespace {

std::string BypassText(const MapJob& job) {
  const Hierarchy& hierarchy = *job.accelerator.hierarchy;
  const std::string_view held = hierarchy.keeps.empty() ? "every tensor" : "what the machine names";
  if (job.problem.space.decide_keep) {
    return fmt::format("bypass searched: levels below {} may hold {}, or less",
                       hierarchy.levels.back().name, held);
  }
  return fmt::format("no bypass{}: every level holds {}",
                     hierarchy.bypass ? "" : " (the machine forbids it)", held);
}

std::string LoopsText(const MapJob& job) {
  return fmt::format(
      "{}; {}; every split of a dimension over levels and parallel units, each parallel factor on "
      "one axis; every loop order",
      job.any_factors ? "all factors, whether they divide or not" : "perfect factors",
      BypassText(job));
}

std::string DataflowsText(const MapJob& job) {
  return fmt::format("two-level dataflows; {}; {}; every loop order and parallel dimension",
                     job.problem.space.sizes == TileSizes::kAll
                         ? "tiles of every size"
                         : "tile sizes that divide or are powers of two",
                     job.problem.space.decide_pes ? "number of PEs searched" : "all PEs");
}

// Totals if layers had other values or bounds.
template <typename Change>
NetworkTotal TotalWith(const NetworkMapping& mapping, Objective objective, const Change& change) {
  std::vector<LayerMapping> layers = mapping.layers;
  for (LayerMapping& layer : layers) change(layer);
  return AddUp(layers, objective);
}

// The part of the network's value that mappings with these bounds could save at most.
std::optional<double> CouldGain(const MapJob& job, const NetworkMapping& mapping, bool any_keep) {
  const NetworkTotal total = TotalWith(mapping, job.problem.objective, [&](LayerMapping& layer) {
    const Result<CostBounds> bounds =
        job.settings.model->BoundsFor(layer.layer, job.accelerator, any_keep);
    layer.bounds = bounds ? LayerBounds{bounds->cycles, bounds->energy_pj} : LayerBounds{};
    layer.bound = layer.bounds.Of(job.problem.objective);
  });
  if (!total.bound || !(total.value > 0)) return std::nullopt;
  return std::max(0.0, 1 - *total.bound / total.value);
}

std::string PercentText(double part) { return fmt::format("{:.3g} %", 100 * part); }

// What a restriction of the space would cost, from what a search without it knows of the mappings
// that obey it. `name` for `what`: "bypass gained 3 % over the best mappings found without it".
struct Restriction {
  std::string name, what, without;
  std::optional<SubspaceResult> LayerMapping::*known;
};

std::optional<SpaceGain> GainOver(const MapJob& job, const NetworkMapping& mapping,
                                  const Restriction& rule) {
  const bool known = std::ranges::all_of(mapping.layers, [&](const LayerMapping& layer) {
    return layer.cost && layer.*rule.known && (layer.*rule.known)->value;
  });
  if (!known || mapping.layers.empty()) return std::nullopt;
  const NetworkTotal without = TotalWith(mapping, job.problem.objective, [&](LayerMapping& layer) {
    const SubspaceResult& held = *(layer.*rule.known);
    // Mappings of the smaller space that are better than the best would be the best.
    if (*held.value > layer.value) {
      layer.cost->cycles = static_cast<int64_t>(held.cycles);
      layer.cost->energy_pj = held.energy_pj;
      layer.value = *held.value;
    }
    layer.bound = held.bound;
    layer.bounds = {};
  });
  SpaceGain gain{.restriction = rule.name,
                 .gained = std::max(0.0, 1 - mapping.total.value / without.value)};
  gain.text = *gain.gained > 0
                  ? fmt::format("{} gained {} over the best mappings found {}, which cost {:.6g}",
                                rule.what, PercentText(*gain.gained), rule.without, without.value)
                  : fmt::format("{} gained nothing over the best mappings found {}", rule.what,
                                rule.without);
  const bool finished = std::ranges::all_of(mapping.layers, [](const LayerMapping& layer) {
    return layer.status == MapStatus::kOptimal;
  });
  if (!finished && without.bound) {
    gain.text += fmt::format("; proved {}: at least {:.6g}", rule.without, *without.bound);
  }
  return gain;
}

// Who demands what of mappings, and how many of the user's constraints are about no layer here.
std::string ConstraintsText(const MapJob& job) {
  std::vector<std::string> who;
  const MapSettings& settings = job.settings;
  if (!job.accelerator.constraints.demands.empty()) who.emplace_back("the machine");
  who.insert(who.end(), settings.constraints.begin(), settings.constraints.end());
  if (!settings.dataflow.empty()) who.push_back("dataflow " + settings.dataflow);
  if (who.empty()) return "; no constraints";
  std::string text = fmt::format("; constraints of {}", fmt::join(who, ", "));
  const auto unused = std::ranges::count_if(
      job.problem.space.constraints.demands, [&](const Constraints::Demand& demand) {
        return std::ranges::none_of(job.network.layers, [&](const NetworkLayer& entry) {
          return demand.IsAbout(TypeName(entry.layer), entry.name);
        });
      });
  if (unused > 0) text += fmt::format(" ({} of them about other layers)", unused);
  return text;
}

}  // namespace

std::string DescribeSpace(const MapJob& job) {
  const bool loops = job.settings.model.info().form == MappingForm::kLoops;
  std::string text = loops && job.accelerator.hierarchy ? LoopsText(job) : DataflowsText(job);
  text += ConstraintsText(job);
  if (job.settings.limits.any()) {
    text += fmt::format("; limits of each layer: {}", job.settings.limits.ToString());
  }
  return text;
}

std::vector<SpaceGain> GainsOf(const MapJob& job, const NetworkMapping& mapping) {
  std::vector<SpaceGain> gains;
  const bool mapped = std::ranges::all_of(
      mapping.layers, [](const LayerMapping& layer) { return layer.cost.has_value(); });
  if (!mapped || job.settings.model.info().form != MappingForm::kLoops) return gains;
  const Restriction restrictions[] = {
      {"bypass", "bypass", "without it", &LayerMapping::without_bypass},
      {"factors", "factors that do not divide", "with perfect factors",
       &LayerMapping::perfect_factors}};
  for (const Restriction& rule : restrictions) {
    if (std::optional<SpaceGain> gain = GainOver(job, mapping, rule)) {
      gains.push_back(*std::move(gain));
    }
  }
  const auto could = [&](std::string restriction, std::string_view flag, bool any_keep) {
    const std::optional<double> most = CouldGain(job, mapping, any_keep);
    if (!most) return;
    gains.push_back({.restriction = std::move(restriction),
                     .could_gain = most,
                     .text = *most > 0
                                 ? fmt::format("{} could gain at most {}", flag, PercentText(*most))
                                 : fmt::format("{} could gain nothing", flag)});
  };
  const bool may_bypass = job.accelerator.hierarchy && job.accelerator.hierarchy->bypass;
  const bool keeps = job.problem.space.decide_keep;
  if (!keeps && may_bypass) could("bypass", "bypass", /*any_keep=*/true);
  if (!job.any_factors) could("factors", "factors that do not divide (--factors any)", keeps);
  return gains;
}

}  // namespace tessera
