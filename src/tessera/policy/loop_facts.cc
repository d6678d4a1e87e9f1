// Layers and machines as numbers.
#include "tessera/policy/loop_facts.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "tessera/accelerator.h"

namespace tessera::policy {
namespace {

// Weights, inputs, outputs: the order of roles in features.
constexpr std::array<TensorRole, kTensors> kRoles = {TensorRole::kWeight, TensorRole::kInput,
                                                     TensorRole::kOutput};

bool FindTensors(const LoopProblem& problem, GameFacts& facts) {
  if (problem.num_tensors != static_cast<int32_t>(kTensors)) return false;
  std::array<bool, kTensors> taken{};
  facts.tensor.fill(kNone);
  for (size_t r = 0; r < kTensors; ++r) {
    for (size_t t = 0; t < kTensors; ++t) {
      if (taken[t] || problem.tensors[t].role != kRoles[r]) continue;
      facts.tensor[r] = t;
      taken[t] = true;
      break;
    }
  }
  // Tensors of shapes that a user wrote down: sums are outputs, the rest as it comes.
  for (size_t r = kTensors; r-- > 0;) {
    for (size_t t = 0; t < kTensors && facts.tensor[r] == kNone; ++t) {
      if (taken[t] || (r == 2) != problem.tensors[t].read_write) continue;
      facts.tensor[r] = t;
      taken[t] = true;
    }
  }
  return std::ranges::find(facts.tensor, kNone) == facts.tensor.end();
}

bool Uses(const LoopTensor& tensor, size_t dimension) {
  for (const TensorRank& rank : tensor.view()) {
    for (const RankTerm& term : rank.view()) {
      if (static_cast<size_t>(term.dimension) == dimension) return true;
    }
  }
  return false;
}

void FindLoops(const LoopProblem& problem, GameFacts& facts) {
  for (size_t d = 0; d < problem.dims().size(); ++d) {
    if (problem.dimensions[d].bound == 1) continue;
    LoopFacts loop{.dimension = d, .bound = problem.dimensions[d].bound};
    for (size_t t = 0; t < kTensors; ++t) {
      const LoopTensor& tensor = problem.tensors[facts.tensor[t]];
      loop.relevant[t] = Uses(tensor, d);
      for (const TensorRank& rank : tensor.view()) {
        if (rank.num_terms < 2) continue;
        for (const RankTerm& term : rank.view()) {
          if (static_cast<size_t>(term.dimension) != d) continue;
          const bool output = Uses(problem.tensors[facts.tensor[2]], d);
          (output ? loop.slides : loop.window) = true;
        }
      }
    }
    facts.loops.push_back(loop);
  }
}

void FindRanks(const LoopProblem& problem, GameFacts& facts) {
  for (size_t t = 0; t < kTensors; ++t) {
    for (const TensorRank& rank : problem.tensors[facts.tensor[t]].view()) {
      RankFacts made;
      for (const RankTerm& term : rank.view()) {
        for (size_t d = 0; d < facts.loops.size(); ++d) {
          if (facts.loops[d].dimension != static_cast<size_t>(term.dimension)) continue;
          made.terms.push_back({.loop = d, .coefficient = term.coefficient});
        }
      }
      if (!made.terms.empty()) facts.ranks[t].push_back(std::move(made));
    }
  }
}

double PerCycle(const std::optional<Decimal>& words, const std::optional<Decimal>& shared,
                double instances) {
  double least = 0;
  for (const std::optional<Decimal>& limit : {words, shared}) {
    if (!limit) continue;
    const double value = limit->ToDouble() * instances;
    if (least == 0 || value < least) least = value;
  }
  return least;
}

void FindLevels(const MappingProblem::LoopForm& form, GameFacts& facts) {
  const LoopSpace& space = *facts.space;
  for (size_t i = 0; i < form.hierarchy.levels.size(); ++i) {
    const MemoryLevel& machine = form.hierarchy.levels[i];
    LevelFacts level;
    const LevelWidths& widths = space.widths(i);
    if (const std::optional<int64_t>& units = space.capacity(i)) {
      level.capacity = *units;
      level.words = static_cast<double>(*units) / static_cast<double>(widths.word_units);
    }
    for (size_t t = 0; t < kTensors; ++t) {
      level.units[t] = static_cast<double>(widths.units[facts.tensor[t]]);
      level.element_words[t] = widths.words(static_cast<int>(facts.tensor[t]));
    }
    level.fan_x = FanoutX(form.hierarchy, i);
    level.fan_y = FanoutY(form.hierarchy, i);
    level.instances = static_cast<double>(machine.instances());
    const double block = static_cast<double>(machine.block_words);
    level.read_pj = machine.read_pj.ToDouble() / block;
    level.fill_pj = machine.fill_pj.ToDouble() / block;
    level.update_pj = machine.update_pj.ToDouble() / block;
    level.hop_pj = machine.network.hop_pj.ToDouble();
    level.router_pj = machine.network.router_pj.ToDouble();
    level.ingress_pj = machine.network.ingress_pj.ToDouble();
    level.reduces = machine.reduces_in_place;
    level.read_words =
        PerCycle(machine.read_words_per_cycle, machine.shared_words_per_cycle, level.instances);
    level.write_words =
        PerCycle(machine.write_words_per_cycle, machine.shared_words_per_cycle, level.instances);
    level.shared_words = PerCycle(machine.shared_words_per_cycle, std::nullopt, level.instances);
    const auto find = [&](const std::string& name) {
      const size_t found = space.Find(name);
      return found == space.size() ? kNone : found;
    };
    for (size_t t = 0; t < kTensors; ++t) {
      const size_t own = facts.tensor[t];
      level.keep[t] =
          find(fmt::format("keep_{}_{}", machine.name, form.problem.tensors[own].name.view()));
      if ((space.held(i) >> own & 1) != 0) level.held |= static_cast<uint8_t>(1u << t);
    }
    level.order = find(fmt::format("order_{}", machine.name));
    level.spatial_order = find(fmt::format("par_order_{}", machine.name));
    for (size_t d = 0; d < facts.loops.size(); ++d) {
      const auto name = form.problem.dimensions[facts.loops[d].dimension].name.view();
      level.temporal[d] = find(fmt::format("{}_{}", name, machine.name));
      level.spatial[d] = find(fmt::format("{}_{}_par", name, machine.name));
      level.axis[d] = find(fmt::format("{}_{}_axis", name, machine.name));
    }
    facts.levels.push_back(level);
  }
}

float Log(double value, double scale) {
  return static_cast<float>(std::log2(std::max(value, 1e-9)) / scale);
}

void FillContext(const MappingProblem& problem, GameFacts& facts) {
  std::vector<float>& context = facts.context;
  for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp}) {
    context.push_back(problem.objective() == objective ? 1.0f : 0.0f);
  }
  const size_t loops = facts.loops.size();
  const auto count = [&](auto&& is) {
    return static_cast<float>(std::ranges::count_if(facts.loops, is)) / 4;
  };
  context.push_back(static_cast<float>(loops) / 8);
  context.push_back(count([](const LoopFacts& loop) { return loop.window; }));
  // Loops that all tensors have: groups of a depthwise convolution.
  context.push_back(count([](const LoopFacts& loop) {
    return loop.relevant[0] && loop.relevant[1] && loop.relevant[2];
  }));
  context.push_back(Log(facts.macs, 32));
  for (size_t t = 0; t < kTensors; ++t) context.push_back(Log(facts.total_words[t], 24));
  for (size_t t = 0; t < kTensors; ++t) {
    context.push_back(Log(facts.macs / facts.total_words[t], 16));  // uses of a word
  }
  context.push_back(Log(facts.units, 16));
  context.push_back(static_cast<float>(facts.levels.size()) / 8);
  const LevelFacts& outermost = facts.levels.back();
  context.push_back(Log(outermost.read_pj / std::max(facts.mac_pj, 1e-3), 10));
  // Uses of an outermost word with which the MACs are as busy as the outermost memory.
  context.push_back(outermost.read_words > 0 ? Log(facts.units / outermost.read_words, 10) : -1.0f);
  double hop_pj = 0;
  for (const LevelFacts& level : facts.levels) hop_pj += level.hop_pj;
  context.push_back(Log(hop_pj / std::max(facts.mac_pj, 1e-3) + 1e-2, 8));
}

}  // namespace

bool FillFacts(const MappingProblem& problem, GameFacts& facts) {
  const MappingProblem::LoopForm* form = problem.loops();
  facts.space = dynamic_cast<const LoopSpace*>(&problem.space());
  if (form == nullptr || facts.space == nullptr) return false;
  if (!FindTensors(form->problem, facts)) return false;
  FindLoops(form->problem, facts);
  FindRanks(form->problem, facts);
  FindLevels(*form, facts);
  std::array<int64_t, kMaxDims> whole;
  whole.fill(1);
  for (const LoopFacts& loop : facts.loops) {
    whole[loop.dimension] = loop.bound;
    facts.macs *= static_cast<double>(loop.bound);
  }
  for (size_t t = 0; t < kTensors; ++t) {
    facts.total_words[t] = static_cast<double>(facts.space->WordsOf(facts.tensor[t], whole));
  }
  facts.mac_pj = form->hierarchy.arithmetic.mac_pj.ToDouble();
  facts.units = static_cast<double>(form->hierarchy.arithmetic.instances());
  FillContext(problem, facts);
  return true;
}

}  // namespace tessera::policy
