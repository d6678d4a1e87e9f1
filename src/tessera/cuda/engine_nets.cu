// Memory of networks and the maps of their first layers.
#include "tessera/cuda/engine_nets.cuh"

#include <algorithm>
#include <set>

#include "tessera/part.h"

namespace tessera::cuda {
namespace {

int64_t RoundUp(int64_t size) { return (size + 31) / 32 * 32; }
int64_t SizeOf(const NetView& net) {
  return int64_t{net.inputs} * kHidden + Tail::Size(net.outputs);
}

// Lists of terms, one per row, one after another.
struct Rows {
  explicit Rows(int count) : lists(static_cast<size_t>(count)) {}

  void Flatten(std::vector<int32_t>& start, std::vector<MapTerm>& terms) const {
    start.assign(1, 0);
    for (const auto& list : lists) {
      terms.insert(terms.end(), list.begin(), list.end());
      start.push_back(static_cast<int32_t>(terms.size()));
    }
  }

  std::vector<std::vector<MapTerm>> lists;
};

}  // namespace

PhiloxKey KeyOf(uint64_t seed, uint64_t stream) {
  const std::array<uint32_t, 2> key = CounterRng(seed, stream).key();
  return {key[0], key[1]};
}

Result<std::shared_ptr<Nets::Map>> Nets::MakeMap(const NetSpec& spec, const Columns& columns,
                                                 bool whole) {
  std::set<int32_t> used;
  for (const NetSpec::Term& term : spec.terms) used.insert(columns.ColumnOf(term.feature) / 8);
  for (int32_t b = 0; whole && b < columns.all() / 8; ++b) used.insert(b);
  const std::vector<int32_t> blocks(used.begin(), used.end());
  auto map = std::make_shared<Map>();
  map->blocks = static_cast<int>(blocks.size());
  map->leading = blocks.empty() || blocks.back() + 1 == map->blocks;
  Rows collapse(8 * map->blocks), expand(spec.inputs);
  // By input, as InputMap has them: the order in which the host adds rows up.
  std::vector<NetSpec::Term> terms = spec.terms;
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return a.input < b.input; });
  for (const NetSpec::Term& term : terms) {
    const int column = columns.ColumnOf(term.feature);
    const auto at = std::lower_bound(blocks.begin(), blocks.end(), column / 8) - blocks.begin();
    const int32_t row = static_cast<int32_t>(8 * at + column % 8);
    collapse.lists[static_cast<size_t>(row)].push_back({term.input, term.factor});
    expand.lists[static_cast<size_t>(term.input)].push_back({row, term.factor});
  }
  std::vector<int32_t> collapse_start, expand_start;
  std::vector<MapTerm> collapse_terms, expand_terms;
  collapse.Flatten(collapse_start, collapse_terms);
  expand.Flatten(expand_start, expand_terms);
  const char* const what = "maps of networks";
  const Result<void> steps[] = {
      map->block.Allocate(blocks, what), map->collapse_start.Allocate(collapse_start, what),
      map->expand_start.Allocate(expand_start, what), map->collapse.Allocate(collapse_terms, what),
      map->expand.Allocate(expand_terms, what)};
  for (const Result<void>& r : steps) {
    if (!r) return r.error();
  }
  return map;
}

Result<void> Nets::Allocate(const std::vector<NetSpec>& specs, const Columns& columns, bool whole,
                            int tiles) {
  const int count = static_cast<int>(specs.size());
  if (Result<void> r = steps_.Allocate(count, "optimisers"); !r) return r;
  int64_t floats = 0, partial_floats = 0;
  for (int i = 0; i < count; ++i) {
    const NetSpec& spec = specs[static_cast<size_t>(i)];
    // Critics are all alike and share one map.
    if (i > 0 && spec.terms == specs[static_cast<size_t>(i - 1)].terms) {
      maps_.push_back(maps_.back());
    } else {
      Result<std::shared_ptr<Map>> map = MakeMap(spec, columns, whole);
      if (!map) return map.error();
      maps_.push_back(*map);
    }
    const Map& map = *maps_.back();
    NetView net = {.inputs = spec.inputs,
                   .outputs = spec.outputs,
                   .blocks = map.blocks,
                   .block = map.leading ? nullptr : map.block.data(),
                   .collapse_start = map.collapse_start.data(),
                   .expand_start = map.expand_start.data(),
                   .collapse = map.collapse.data(),
                   .expand = map.expand.data(),
                   .steps = steps_.data() + i,
                   .rate = spec.rate};
    // A tile of weights may be read past the last one; what is there is multiplied by zeros.
    floats += 4 * RoundUp(SizeOf(net) + 8 * kHidden) + 2 * RoundUp(net.first_size()) +
              RoundUp(net.gradient_size()) + RoundUp(NormParts(net.inputs) + kTailTensors);
    partial_floats += tiles * RoundUp(net.gradient_size());
    sizes_.most_inputs = std::max(sizes_.most_inputs, net.inputs);
    sizes_.most_outputs = std::max(sizes_.most_outputs, net.outputs);
    sizes_.most_blocks = std::max(sizes_.most_blocks, net.blocks);
    if (net.block != nullptr) sizes_.most_listed = std::max(sizes_.most_listed, net.blocks);
    sizes_.most_gradient = std::max(sizes_.most_gradient, net.gradient_size());
    views_.push_back(net);
  }
  if (Result<void> r = memory_.Allocate(floats, "networks and optimisers"); !r) return r;
  if (Result<void> r = partials_.Allocate(partial_floats, "gradients"); !r) return r;
  float *at = memory_.data(), *partial = partials_.data();
  const auto take = [&](int64_t size) {
    float* const taken = at;
    at += RoundUp(size);
    return taken;
  };
  for (NetView& net : views_) {
    for (float** part : {&net.parameters, &net.target, &net.mean, &net.variance}) {
      *part = take(SizeOf(net) + 8 * kHidden);
    }
    net.first = take(net.first_size());
    net.first_target = take(net.first_size());
    net.gradient = take(net.gradient_size());
    net.norms = take(NormParts(net.inputs) + kTailTensors);
    net.partial = partial;
    partial += tiles * RoundUp(net.gradient_size());
  }
  return device_views_.Allocate(views_, "networks");
}

Result<void> Nets::Set(int index, const NetImage& from) {
  const NetView& net = views_[static_cast<size_t>(index)];
  const std::pair<float*, std::span<float>> parts[] = {{net.parameters, from.parameters},
                                                       {net.target, from.target},
                                                       {net.mean, from.mean},
                                                       {net.variance, from.variance}};
  const size_t bytes = sizeof(float) * static_cast<size_t>(SizeOf(net));
  for (const auto& [to, values] : parts) {
    if (values.empty()) continue;
    if (Result<void> r = Settled(cudaMemcpy(to, values.data(), bytes, cudaMemcpyHostToDevice),
                                 "copying networks to the device");
        !r) {
      return r;
    }
  }
  return steps_.Set(std::span<const int64_t>(from.steps, 1), index);
}

Result<void> Nets::Get(int index, const NetImage& to) {
  const NetView& net = views_[static_cast<size_t>(index)];
  const std::pair<const float*, std::span<float>> parts[] = {{net.parameters, to.parameters},
                                                             {net.target, to.target},
                                                             {net.mean, to.mean},
                                                             {net.variance, to.variance}};
  const size_t bytes = sizeof(float) * static_cast<size_t>(SizeOf(net));
  for (const auto& [from, values] : parts) {
    if (values.empty()) continue;
    if (Result<void> r = Check(cudaMemcpy(values.data(), from, bytes, cudaMemcpyDeviceToHost),
                               "copying networks from the device");
        !r) {
      return r;
    }
  }
  return steps_.Get(std::span<int64_t>(to.steps, 1), index);
}

}  // namespace tessera::cuda
