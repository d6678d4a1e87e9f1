// Choices are made so that most mappings are accepted, and so that all rules are met often.
#include "loopnest_random.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/mapping/loop_shape.h"
#include "tessera/result.h"

namespace tessera {
namespace {

int64_t Between(CounterRng& rng, int64_t least, int64_t most) {
  return least + rng.UniformInt(most - least + 1);
}

bool Chance(CounterRng& rng, double probability) { return rng.Uniform() < probability; }

template <size_t kSize>
Decimal AnyOf(CounterRng& rng, const std::array<const char*, kSize>& texts) {
  return *Decimal::Parse(texts[static_cast<size_t>(rng.UniformInt(kSize))]);
}

// Bounds that multiply to at most max_macs.
NamedValues RandomBounds(CounterRng& rng, std::initializer_list<std::string_view> names,
                         int64_t max_macs) {
  NamedValues bounds;
  std::vector<std::string_view> order(names);
  rng.Shuffle(std::span(order));
  int64_t left = max_macs;
  for (const std::string_view name : order) {
    const int64_t bound = std::min(Between(rng, 1, 8), left);
    bounds.emplace_back(std::string(name), bound);
    left /= bound;
  }
  return bounds;
}

void Fix(NamedValues& bounds, std::string_view name, int64_t least, int64_t most, CounterRng& rng) {
  for (auto& [key, value] : bounds) {
    if (key == name) value = Between(rng, least, most);
  }
}

constexpr const char* kThreeTerms = R"({
  name: threeterms, dimensions: [A, B, C, K],
  coefficients: [{name: two, default: 2}, {name: five, default: 5}],
  data-spaces: [
    {name: In, projection: [[[A], [B, two], [C, five]], [[K]]]},
    {name: Coef, projection: [[[B]], [[C]], [[K]]]},
    {name: Out, projection: [[[A]], [[C]]], read-write: true}]})";

constexpr const char* kShared = R"({
  name: shared, dimensions: [I, J, K],
  coefficients: [{name: three, default: 3}],
  data-spaces: [
    {name: Band, projection: [[[I], [J, three]], [[I], [K]]]},
    {name: Diag, projection: [[[J]], [[J]], [[K]]]},
    {name: Out, projection: [[[I]], [[K]]], read-write: true}]})";

// Ranks of one dimension whose elements lie apart.
constexpr const char* kScaled = R"({
  name: scaled, dimensions: [I, J, K],
  coefficients: [{name: two, default: 2}, {name: three, default: 3}],
  data-spaces: [
    {name: A, projection: [[[I, three]], [[K]]]},
    {name: B, projection: [[[K]], [[J, two]]]},
    {name: Z, projection: [[[I, two]], [[J]]], read-write: true}]})";

constexpr const char* kConv1d = R"({
  name: conv1d, dimensions: [R, P, C, K],
  coefficients: [{name: Wstride, default: 1}, {name: Wdilation, default: 1}],
  data-spaces: [
    {name: Inputs, projection: [[[C]], [[R, Wdilation], [P, Wstride]]]},
    {name: Weights, projection: [[[R]], [[K]], [[C]]]},
    {name: Outputs, projection: [[[K]], [[P]]], read-write: true}]})";

// Few dimensions with several factors each: loops of two dimensions that move one rank by the same
// distance, or back to where it was, come up often.
LoopProblem RandomWindow(CounterRng& rng, int64_t max_macs) {
  const Result<Node> shape = ParseDocument(kConv1d, "shape");
  TESSERA_CHECK(shape.ok());
  constexpr std::array<int64_t, 8> kSizes = {1, 2, 2, 3, 4, 4, 6, 8};
  NamedValues bounds;
  int64_t left = max_macs;
  for (const std::string_view name : {"R", "P", "K", "C"}) {
    int64_t bound = kSizes[static_cast<size_t>(rng.UniformInt(kSizes.size()))];
    if (bound > left) bound = 1;
    bounds.emplace_back(std::string(name), bound);
    left /= bound;
  }
  return *ReadLoopShape(*shape, bounds,
                        {{"Wstride", Between(rng, 1, 4)}, {"Wdilation", Between(rng, 1, 2)}});
}

LoopProblem CustomProblem(CounterRng& rng, const char* text,
                          std::initializer_list<std::string_view> names, int64_t max_macs) {
  const Result<Node> shape = ParseDocument(text, "shape");
  TESSERA_CHECK(shape.ok());
  return *ReadLoopShape(*shape, RandomBounds(rng, names, max_macs), {});
}

LoopProblem RandomProblem(CounterRng& rng, const std::string& family, int64_t max_macs) {
  if (family == "gemm") {
    return *MakeLoopProblem("gemm", RandomBounds(rng, {"M", "N", "K"}, max_macs));
  }
  if (family == "batched gemm") {
    return *MakeLoopProblem("bgemm", RandomBounds(rng, {"H", "M", "N", "K"}, max_macs));
  }
  if (family == "three terms") {
    return CustomProblem(rng, kThreeTerms, {"A", "B", "C", "K"}, max_macs);
  }
  if (family == "scaled") return CustomProblem(rng, kScaled, {"I", "J", "K"}, max_macs);
  if (family == "window") return RandomWindow(rng, max_macs);
  if (family == "shared dimension") {
    return CustomProblem(rng, kShared, {"I", "J", "K"}, max_macs);
  }
  if (family == "transposed") {
    NamedValues bounds = RandomBounds(rng, {"Y", "X", "C", "K", "R", "S"}, max_macs);
    return *MakeLoopProblem("trconv", bounds, {{"Wstride", Between(rng, 1, 3)}});
  }
  NamedValues bounds = RandomBounds(rng, {"P", "Q", "C", "K", "R", "S", "N"}, max_macs / 4);
  Fix(bounds, "R", 1, 3, rng);
  NamedValues coefficients = {{"Wstride", 1},
                              {"Hstride", Between(rng, 1, 2)},
                              {"Wdilation", 1},
                              {"Hdilation", Between(rng, 1, 2)}};
  if (family == "conv") coefficients[1].second = coefficients[3].second = 1;
  if (family == "stride 2") {
    coefficients[0].second = 2;
    Fix(bounds, "R", 2, 3, rng);
  }
  if (family == "dilation 2") {
    coefficients[2].second = 2;
    coefficients[0].second = Between(rng, 1, 3);
    Fix(bounds, "R", 2, 3, rng);
  }
  if (family == "stride > kernel") {
    Fix(bounds, "R", 1, 2, rng);
    coefficients[0].second = Between(rng, 3, 4);
  }
  if (family == "depthwise") {
    std::erase_if(bounds, [](const auto& bound) { return bound.first == "K"; });
    coefficients[0].second = Between(rng, 1, 2);
    coefficients[2].second = Between(rng, 1, 2);
    return *MakeLoopProblem("dwconv", bounds, coefficients);
  }
  if (family == "grouped") {
    bounds.emplace_back("G", Between(rng, 1, 3));
    return *MakeLoopProblem("gconv", bounds, coefficients);
  }
  return *MakeLoopProblem("conv", bounds, coefficients);
}

MemoryLevel RandomLevel(CounterRng& rng, int index) {
  constexpr std::array kRates = {"0.3", "0.7", "1", "1.5", "2", "3", "0.45", "8"};
  constexpr std::array kEnergies = {"0", "0.31", "1", "2.5", "6", "29.6", "100"};
  constexpr std::array kSmall = {"0", "0.125", "0.02", "0.5"};
  MemoryLevel level{.name = "L" + std::to_string(index)};
  level.block_words = Between(rng, 1, 3);
  level.read_pj = AnyOf(rng, kEnergies);
  level.fill_pj = AnyOf(rng, kEnergies);
  level.update_pj = AnyOf(rng, kEnergies);
  level.address_pj = AnyOf(rng, kSmall);
  if (Chance(rng, 0.5)) level.read_words_per_cycle = AnyOf(rng, kRates);
  if (Chance(rng, 0.5)) level.write_words_per_cycle = AnyOf(rng, kRates);
  if (Chance(rng, 0.3)) level.shared_words_per_cycle = AnyOf(rng, kRates);
  level.reduces_in_place = Chance(rng, 0.6);
  level.multiple_buffering = AnyOf(rng, std::array{"1", "1", "1", "2", "1.5"});
  level.network = {.hop_pj = AnyOf(rng, kSmall),
                   .router_pj = AnyOf(rng, kSmall),
                   .ingress_pj = AnyOf(rng, kSmall),
                   .fill_latency_cycles = Between(rng, 0, 3),
                   .drain_latency_cycles = Between(rng, 0, 2)};
  if (Chance(rng, 0.25)) level.entries = Between(rng, 4, 300);
  return level;
}

// The next factor of a dimension of which `left` is left: a divisor, or anything.
int64_t RandomFactor(CounterRng& rng, int64_t left, int64_t most, bool perfect) {
  most = std::min(most, left);
  if (most <= 1) return 1;
  const int64_t factor = Between(rng, 1, most);
  if (!perfect) return factor;
  int64_t divisor = factor;
  while (left % divisor != 0) --divisor;
  return divisor;
}

// Around the usual word of 16 bits, with odd ones among them.
int32_t RandomWidth(CounterRng& rng) {
  constexpr std::array kWidths = {1, 4, 8, 8, 12, 16, 16, 24, 32, 17};
  return kWidths[static_cast<size_t>(rng.UniformInt(kWidths.size()))];
}

void SetRandomWidths(CounterRng& rng, RandomCase& made) {
  for (MemoryLevel& level : made.machine.levels) {
    if (Chance(rng, 0.3)) level.word_bits = RandomWidth(rng);
  }
  for (const TensorBitsField& field : kTensorBitsFields) {
    if (Chance(rng, 0.3)) made.machine.bits.*field.field = RandomWidth(rng);
  }
  for (int v = 0; v < made.problem.num_tensors; ++v) {
    LoopTensor& tensor = made.problem.tensors[static_cast<size_t>(v)];
    if (Chance(rng, 0.6)) tensor.bits = RandomWidth(rng);
    if (tensor.read_write && Chance(rng, 0.4)) tensor.sum_bits = RandomWidth(rng);
  }
}

}  // namespace

Hierarchy MakeRandomMachine(CounterRng& rng, int max_levels) {
  Hierarchy machine;
  const int levels = static_cast<int>(Between(rng, 1, max_levels));
  int64_t mesh_x = 1, mesh_y = 1;
  for (int i = levels - 1; i >= 0; --i) {
    MemoryLevel level = RandomLevel(rng, i);
    level.mesh_x = mesh_x;
    level.mesh_y = mesh_y;
    level.cluster_size = Chance(rng, 0.3) && mesh_x % 2 == 0 ? 2 : 1;
    if (i == levels - 1 && Chance(rng, 0.8)) level.entries.reset();
    machine.levels.insert(machine.levels.begin(), level);
    if (mesh_x * mesh_y < 12 && Chance(rng, 0.7)) mesh_x *= Between(rng, 1, 4);
    if (mesh_x * mesh_y < 8 && Chance(rng, 0.5)) mesh_y *= Between(rng, 1, 3);
  }
  machine.arithmetic.mesh_x = mesh_x;
  machine.arithmetic.mesh_y = mesh_y;
  machine.arithmetic.mac_pj = AnyOf(rng, std::array{"1", "0.56", "0"});
  machine.links = Chance(rng, 0.35);
  return machine;
}

LoopMapping MakeRandomMapping(CounterRng& rng, const LoopProblem& problem, const Hierarchy& machine,
                              bool perfect) {
  const auto dims = static_cast<size_t>(problem.num_dimensions);
  const size_t levels = machine.levels.size();
  LoopMapping mapping{.num_levels = static_cast<int32_t>(levels)};
  std::vector<int64_t> left;
  for (const LoopDimension& dim : problem.dims()) left.push_back(dim.bound);
  for (size_t i = 0; i < levels; ++i) {
    LoopLevel& level = mapping.levels[i];
    rng.Shuffle(std::span(level.temporal_order.data(), dims));
    rng.Shuffle(std::span(level.spatial_order.data(), dims));
    level.split = static_cast<uint8_t>(Between(rng, 0, problem.num_dimensions));
    int64_t room[2] = {FanoutX(machine, i), FanoutY(machine, i)};
    if (Chance(rng, 0.02)) room[0] *= 2;  // to be rejected
    for (size_t k = 0; k < dims; ++k) {
      const uint8_t dim = level.spatial_order[k];
      int64_t& axis = room[k >= level.split ? 1 : 0];
      if (Chance(rng, 0.3)) continue;
      const int64_t factor = RandomFactor(rng, left[dim], axis, perfect);
      level.spatial[dim] = static_cast<int32_t>(factor);
      axis /= factor;
      left[dim] = (left[dim] + factor - 1) / factor;
    }
    for (size_t dim = 0; dim < dims; ++dim) {
      int64_t factor = Chance(rng, 0.4) ? RandomFactor(rng, left[dim], left[dim], perfect) : 1;
      if (i + 1 == levels) factor = left[dim];
      level.temporal[dim] = static_cast<int32_t>(factor);
      left[dim] = (left[dim] + factor - 1) / factor;
    }
    if (i + 1 < levels && Chance(rng, 0.5)) {
      level.keep = static_cast<uint8_t>(rng.UniformInt(int64_t{1} << problem.num_tensors));
    }
  }
  if (!perfect && Chance(rng, 0.2)) {
    // More than is needed, and "all of it", are both allowed at the end.
    for (size_t dim = 0; dim < dims; ++dim) {
      if (Chance(rng, 0.5)) mapping.levels[levels - 1].temporal[dim] = Chance(rng, 0.5) ? 0 : 9;
    }
  }
  return mapping;
}

RandomCase MakeRandomCase(CounterRng& rng, const RandomCaseOptions& options) {
  // The five families that the coverage table asks for come twice.
  constexpr std::array kFamilies = {"stride 2",
                                    "dilation 2",
                                    "stride > kernel",
                                    "depthwise",
                                    "batched gemm",
                                    "stride 2",
                                    "dilation 2",
                                    "stride > kernel",
                                    "depthwise",
                                    "batched gemm",
                                    "conv",
                                    "gemm",
                                    "grouped",
                                    "transposed",
                                    "three terms",
                                    "shared dimension"};
  constexpr std::array kNarrowFamilies = {"window", "window", "scaled"};
  RandomCase made;
  made.family = options.narrow
                    ? kNarrowFamilies[static_cast<size_t>(rng.UniformInt(kNarrowFamilies.size()))]
                    : kFamilies[static_cast<size_t>(rng.UniformInt(kFamilies.size()))];
  do {
    made.problem = RandomProblem(rng, made.family, options.max_macs);
  } while (Macs(made.problem) > options.max_macs);
  made.machine = MakeRandomMachine(rng, options.max_levels);
  const bool perfect = options.perfect || Chance(rng, 0.3);
  made.mapping = MakeRandomMapping(rng, made.problem, made.machine, perfect);
  if (options.widths) SetRandomWidths(rng, made);
  return made;
}

CaseFeatures FeaturesOf(const RandomCase& random_case) {
  const LoopProblem& problem = random_case.problem;
  CaseFeatures features{.deep = random_case.machine.levels.size() >= 3};
  uint32_t output_dims = 0;
  for (const LoopTensor& tensor : problem.tensor_view()) {
    if (!tensor.read_write) continue;
    for (const TensorRank& rank : tensor.view()) {
      for (const RankTerm& term : rank.view()) output_dims |= 1u << term.dimension;
    }
  }
  std::vector<int64_t> extent(static_cast<size_t>(problem.num_dimensions), 1);
  for (const LoopLevel& level : random_case.mapping.view()) {
    for (int v = 0; v < problem.num_tensors; ++v) {
      features.bypass = features.bypass || !level.Keeps(v);
    }
    for (const bool spatial : {true, false}) {
      for (size_t dim = 0; dim < extent.size(); ++dim) {
        const int64_t bound = problem.dimensions[dim].bound;
        const int64_t written = spatial ? level.spatial[dim] : level.temporal[dim];
        const int64_t most = (bound + extent[dim] - 1) / extent[dim];
        const int64_t count = written == 0 ? most : std::min(written, most);
        if (count <= 1) continue;
        extent[dim] *= count;
        if (spatial && (output_dims >> dim & 1) == 0) features.spatial_reduction = true;
        if (bound % extent[dim] != 0) {
          (spatial ? features.imperfect_spatial : features.imperfect_temporal) = true;
        }
      }
    }
  }
  return features;
}

}  // namespace tessera
