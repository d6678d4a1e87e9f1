// Packing, and what does not fit.
#include "tessera/cuda/nest_pack.h"

#include <bit>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "tessera/cuda/nest_price.h"

namespace tessera::cuda {
namespace {

static_assert(kNestLevels >= loopnest::kMaxLevels && kNestDims >= loopnest::kMaxDims);
static_assert(kNestTensors >= loopnest::kMaxTensors && kNestRanks >= loopnest::kMaxRanks);

constexpr uint64_t kMost64 = std::numeric_limits<uint64_t>::max();

Error ForHost(std::string what) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = std::move(what) + " not on --device cuda",
               .hint = "take --device cpu"};
}

// value * 10^power, or 0 where that does not fit.
uint64_t TimesPowerOfTen(uint64_t value, int power) {
  for (; power > 0; --power) {
    if (value > kMost64 / 10) return 0;
    value *= 10;
  }
  return value;
}

bool PackRate(const loopnest::Bandwidth& rate, NestRate& packed) {
  packed = {.limited = rate.limited, .value = rate.value};
  if (!rate.limited) return true;
  packed.scale = TimesPowerOfTen(1, -rate.exact.exponent());
  packed.divisor =
      TimesPowerOfTen(static_cast<uint64_t>(rate.exact.mantissa()), rate.exact.exponent());
  if (packed.scale == 0 || packed.divisor == 0) return false;
  packed.most = kMost64 / packed.scale;
  return true;
}

Result<NestLevel> PackLevelOf(const loopnest::Machine& machine, int i) {
  const loopnest::MachineLevel& level = machine.levels[i];
  const std::string& name = machine.level_names[static_cast<size_t>(i)];
  NestLevel packed{.fan_x = level.fan_x,
                   .fan_y = level.fan_y,
                   .entries = level.exact_entries,
                   .block = level.block_words,
                   .clusters = level.clusters,
                   .read_pj = level.read_pj,
                   .fill_pj = level.fill_pj,
                   .update_pj = level.update_pj,
                   .address_pj = level.address_pj,
                   .hop_pj = level.hop_pj,
                   .router_pj = level.router_pj,
                   .ingress_pj = level.ingress_pj,
                   .block_shift = -1,
                   .limited = level.limited,
                   .reduces = level.reduces,
                   .hops = level.hop_pj != 0 || level.router_pj != 0};
  const auto block = static_cast<uint64_t>(level.block_words);
  if (std::has_single_bit(block)) packed.block_shift = std::countr_zero(block);
  constexpr int64_t kMostFan = std::numeric_limits<int16_t>::max();
  if (level.fan_x > kMostFan || level.fan_y > kMostFan) {
    return ForHost(fmt::format("{}: more than {} children along an axis are", name, kMostFan));
  }
  if (!PackRate(level.read, packed.read) || !PackRate(level.write, packed.write) ||
      !PackRate(level.shared, packed.shared)) {
    return ForHost(fmt::format("{}: a bandwidth of so many digits is", name));
  }
  return packed;
}

Result<NestTensor> PackTensor(const LoopProblem& problem, const loopnest::TensorData& data, int v) {
  const LoopTensor& tensor = problem.tensors[static_cast<size_t>(v)];
  const std::string_view name = tensor.name.view();
  NestTensor packed{.dims = data.dims,
                    .simple = data.simple,
                    .read_write = tensor.read_write,
                    .num_ranks = tensor.num_ranks};
  if (data.shares) return ForHost(fmt::format("{}: a dimension in two ranks is", name));
  if (tensor.read_write && !data.simple) {
    return ForHost(fmt::format("{}: windows of partial sums are", name));
  }
  for (int r = 0; r < tensor.num_ranks; ++r) {
    const loopnest::RankShape& rank = data.ranks[r];
    if (rank.num_terms > kNestTerms) {
      return ForHost(fmt::format("{}: a sum of {} indices is", name, rank.num_terms));
    }
    packed.ranks[r].num_terms = rank.num_terms;
    int64_t reach = 0;
    for (int k = 0; k < rank.num_terms; ++k) {
      packed.ranks[r].dims[k] = rank.dims[k];
      packed.ranks[r].coefficients[k] = rank.coefficients[k];
      const int64_t bound = problem.dimensions[static_cast<size_t>(rank.dims[k])].bound;
      constexpr int64_t kMostReach = int64_t{1} << 30;
      if (bound > kMostReach || rank.coefficients[k] > kMostReach / bound ||
          (reach += bound * rank.coefficients[k]) > kMostReach) {
        return ForHost(fmt::format("{}: more than {} coordinates are", name, kMostReach));
      }
    }
  }
  return packed;
}

}  // namespace

Result<NestPlan> MakeNestPlan(const loopnest::Setup& setup) {
  if (setup.semantics != loopnest::Semantics::kExact) return ForHost("Timeloop's semantics are");
  if (setup.machine.links) return ForHost("links between neighbours are");
  if (!setup.machine.plain) return ForHost("bits of tensors are");
  const LoopProblem& problem = setup.data.problem;
  NestPlan plan{.num_levels = setup.machine.num_levels,
                .num_dims = problem.num_dimensions,
                .num_tensors = problem.num_tensors,
                .latency_cycles = setup.machine.latency_cycles,
                .mac_energy_pj = static_cast<double>(Macs(problem)) * setup.machine.mac_pj};
  for (int i = 0; i < plan.num_levels; ++i) {
    const Result<NestLevel> level = PackLevelOf(setup.machine, i);
    if (!level) return level.error();
    plan.levels[i] = *level;
  }
  for (int v = 0; v < plan.num_tensors; ++v) {
    const Result<NestTensor> tensor = PackTensor(problem, setup.data.tensors[v], v);
    if (!tensor) return tensor.error();
    plan.tensors[v] = *tensor;
  }
  return plan;
}

size_t PackNest(const loopnest::Nest& nest, const LoopMapping& mapping, const NestPlan& plan,
                std::span<uint32_t> words) {
  const uint32_t all = (1u << plan.num_tensors) - 1;
  const auto keep = [&](int i) { return mapping.levels[static_cast<size_t>(i)].keep & all; };
  const int num_spatial = nest.first_spatial[nest.num_levels];
  if (!nest.perfect || keep(nest.num_levels - 1) != all || num_spatial > kMostNestLoops ||
      nest.num_temporal() > kMostNestLoops) {
    return 0;
  }
  size_t size = 0;
  bool fits = true;
  const auto add = [&](const loopnest::Loop& loop) {
    fits = fits && loop.count <= int64_t{kMostLoopCount};
    words[size++] = PackLoop(static_cast<uint32_t>(loop.dim), static_cast<uint32_t>(loop.count));
  };
  for (int i = 0; i < nest.num_levels; ++i) {
    uint32_t on_x = 0;
    const size_t head = size++;
    for (int s = nest.first_spatial[i]; s < nest.first_spatial[i + 1]; ++s) {
      on_x += nest.spatial[s].on_y ? 0 : 1;
      add(nest.spatial[s]);
    }
    for (int j = nest.first_temporal[i]; j < nest.first_temporal[i + 1]; ++j) add(nest.temporal[j]);
    words[head] = PackLevel(
        static_cast<uint32_t>(nest.first_spatial[i + 1] - nest.first_spatial[i]), on_x,
        static_cast<uint32_t>(nest.first_temporal[i + 1] - nest.first_temporal[i]), keep(i));
  }
  return fits ? size : 0;
}

NestPrice PriceOnHost(const NestPlan& plan, const uint32_t* words, NestCounts* counts) {
  return NestPricer<kNestTensors>(plan, words).Price(counts);
}

}  // namespace tessera::cuda
