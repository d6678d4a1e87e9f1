#include "maestro_random.h"

#include <algorithm>
#include <map>
#include <vector>

#include "tessera/part.h"

namespace tessera {
namespace {

using enum DataflowDim;
using maestro::DimSize;

class Generator {
 public:
  Generator(uint64_t seed, uint64_t index, Taste taste)
      : rng_(seed, StreamId("maestro.random"), index), taste_(taste) {}

  MaestroProblem Make() {
    MakeLayer();
    MakeMachine();
    const int64_t levels = taste_ == Taste::kSensible ? Pick({1, 2, 2, 2, 3, 4}) : Draw(6);
    for (int64_t level = 0; level < levels; ++level) AddLevel(level);
    problem_.version = Chance(0.3) ? MaestroVersion::kPinned : MaestroVersion::kHead;
    return problem_;
  }

 private:
  bool Chance(double p) { return rng_.Uniform() < p; }
  int64_t Draw(int64_t most) { return 1 + rng_.UniformInt(std::max<int64_t>(most, 1)); }
  int64_t Pick(std::initializer_list<int64_t> values) {
    return values.begin()[rng_.UniformInt(static_cast<int64_t>(values.size()))];
  }

  // A number of any magnitude up to 2^31 - 1.
  int64_t Any() { return std::min<int64_t>(Draw(int64_t{1} << Draw(31)), INT32_MAX); }

  int64_t Size() {
    if (taste_ == Taste::kAbsurd && Chance(0.2)) return Any();
    return Chance(0.5) ? Pick({1, 2, 3, 4, 7, 8, 16, 28, 32, 56, 64}) : Draw(60);
  }

  void AddDim(DataflowDim dim, int64_t size) {
    problem_.declaration.dims.push_back({dim, size});
    tile_[dim] = size;
  }

  void MakeLayer() {
    using Type = MaestroType;
    constexpr Type kTypes[] = {Type::kConv,   Type::kConv,   Type::kConv, Type::kDsconv,
                               Type::kNgconv, Type::kTrconv, Type::kGemm};
    const Type type = kTypes[rng_.UniformInt(std::size(kTypes))];
    problem_.declaration.type = type;
    if (type == Type::kGemm) {
      for (const DataflowDim dim : {kM, kN, kK}) AddDim(dim, Size());
      return;
    }
    if (Chance(0.15)) AddDim(kN, Draw(4));
    if (type == Type::kNgconv) AddDim(kG, Draw(16));
    if (type != Type::kDsconv || Chance(0.3)) AddDim(kK, Size());
    AddDim(kC, Size());
    const int64_t r = Pick({1, 1, 2, 3, 3, 5}), s = Chance(0.8) ? r : Pick({1, 2, 3});
    AddDim(kR, r);
    AddDim(kS, s);
    const bool tiny = taste_ != Taste::kSensible && Chance(0.1);
    const int64_t y = tiny ? Draw(4) : r - 1 + Size(), x = tiny ? Draw(4) : s - 1 + Size();
    const bool by_output = Chance(0.1) && y >= r && x >= s;
    AddDim(by_output ? kYOut : kY, by_output ? y - r + 1 : y);
    AddDim(by_output ? kXOut : kX, by_output ? x - s + 1 : x);
    if (by_output) {
      tile_.erase(kYOut);
      tile_.erase(kXOut);
      tile_[kY] = y;
      tile_[kX] = x;
    }
    kernel_ = {r, s};
    if (!Chance(0.25)) return;
    const int64_t stride = Pick({1, 2, 2, 3, 4});
    problem_.declaration.strides = {{by_output ? kYOut : kY, stride},
                                    {by_output ? kXOut : kX, Chance(0.8) ? stride : Draw(3)}};
  }

  void MakeMachine() {
    PeArray& array = problem_.array;
    array.num_pes = Pick({1, 4, 16, 64, 100, 168, 256, 1024});
    array.simd_lanes = Pick({1, 1, 1, 2, 4, 16});
    array.noc_elements_per_cycle = Pick({1, 2, 4, 16, 64, 1000, 1 << 30});
    array.noc_hops = Draw(3);
    array.noc_hop_latency_cycles = Pick({0, 1, 1, 2});
    array.offchip_elements_per_cycle = Pick({1, 4, 50, 64, 1000, 70'000});
    if (taste_ != Taste::kAbsurd || Chance(0.7)) return;
    for (int64_t* field : {&array.num_pes, &array.simd_lanes, &array.noc_elements_per_cycle,
                           &array.noc_hops, &array.offchip_elements_per_cycle}) {
      if (Chance(0.3)) *field = Any();
    }
  }

  void AddLevel(int64_t level) {
    if (level > 0) {
      const int64_t most = taste_ == Taste::kSensible ? 8 : problem_.array.num_pes;
      Add(Cluster(static_cast<int32_t>(Draw(std::min<int64_t>(most, INT32_MAX)))));
    }
    std::vector<DataflowDim> dims;
    for (const auto& [dim, size] : tile_) {
      if (dim == kK && problem_.declaration.type == MaestroType::kDsconv && Chance(0.9)) continue;
      if (!Chance(0.1)) dims.push_back(dim);
    }
    if (dims.empty()) dims.push_back(tile_.begin()->first);
    rng_.Shuffle(std::span(dims));
    if (taste_ == Taste::kAbsurd && Chance(0.3)) {
      dims.push_back(static_cast<DataflowDim>(rng_.UniformInt(kDataflowDims + 1)));
    }
    const bool by_output = Chance(0.5);
    const size_t first_spatial = static_cast<size_t>(rng_.UniformInt(std::ssize(dims)));
    for (size_t i = 0; i < dims.size(); ++i) {
      bool spatial = i == first_spatial || Chance(0.04);
      if (taste_ != Taste::kSensible && Chance(0.05)) spatial = !spatial;
      AddMap(dims[i], spatial, by_output);
      if (taste_ != Taste::kSensible && Chance(0.01)) AddMap(dims[i], Chance(0.3), by_output);
    }
  }

  void AddMap(DataflowDim dim, bool spatial, bool by_output) {
    int64_t& tile = tile_[dim];
    const bool kernel = dim == kR || dim == kS;
    int64_t size = kernel && !spatial && Chance(0.9) ? std::max<int64_t>(tile, 1) : Draw(tile);
    if (taste_ != Taste::kSensible && Chance(0.1)) size = Draw(2 * tile + 4);
    int64_t offset = kernel || Chance(0.7) ? size : Draw(size);
    if (taste_ == Taste::kAbsurd && Chance(0.1)) size = Any();
    if (taste_ == Taste::kAbsurd && Chance(0.1)) offset = Any();
    DataflowDim name = dim;
    const int64_t window = dim == kY ? kernel_[0] : dim == kX ? kernel_[1] : 0;
    tile = std::min(std::max<int64_t>(tile, 1), size);
    if (window > 0 && by_output) {
      name = dim == kY ? kYOut : kXOut;
      size = std::max<int64_t>(size - window + 1, 1);
      offset = Chance(0.8) ? std::min(offset, size) : offset;
      tile = std::max(tile, window);
    }
    const auto make = spatial ? Spatial : Temporal;
    Add(make(static_cast<int32_t>(std::min<int64_t>(size, INT32_MAX)),
             static_cast<int32_t>(std::min<int64_t>(offset, INT32_MAX)), name));
  }

  void Add(const DataflowDirective& directive) {
    if (!problem_.dataflow.full()) problem_.dataflow.Add(directive);
  }

  CounterRng rng_;
  const Taste taste_;
  MaestroProblem problem_;
  std::map<DataflowDim, int64_t> tile_;
  std::array<int64_t, 2> kernel_ = {0, 0};
};

}  // namespace

MaestroProblem RandomMaestroProblem(uint64_t seed, uint64_t index, Taste taste) {
  return Generator(seed, index, taste).Make();
}

}  // namespace tessera
