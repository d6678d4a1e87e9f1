// Networks of one kind on the device: all actors or all critics, with their maps.
#ifndef TESSERA_CUDA_ENGINE_NETS_CUH_
#define TESSERA_CUDA_ENGINE_NETS_CUH_

#include <memory>
#include <vector>

#include "tessera/cuda/memory.cuh"
#include "tessera/cuda/off_policy_engine.h"
#include "tessera/cuda/update.cuh"

namespace tessera::cuda {

// The key of a stream of CounterRng.
PhiloxKey KeyOf(uint64_t seed, uint64_t stream);

// Columns of X: features before the actions, filled up to whole blocks of eight, then the actions.
struct Columns {
  int base, actions;

  int base_columns() const { return (base + 7) / 8 * 8; }
  int all() const { return base_columns() + (actions + 7) / 8 * 8; }
  int ColumnOf(int feature) const {
    return feature < base ? feature : base_columns() + feature - base;
  }
};

class Nets {
 public:
  // One network per spec; `whole` ones read every column.
  Result<void> Allocate(const std::vector<NetSpec>& specs, const Columns& columns, bool whole,
                        int tiles);
  Result<void> Set(int net, const NetImage& from);
  Result<void> Get(int net, const NetImage& to);

  const NetView* views() const { return device_views_.data(); }
  const NetSizes& sizes() const { return sizes_; }

 private:
  struct Map {
    DeviceArray<int32_t> block, collapse_start, expand_start;
    DeviceArray<MapTerm> collapse, expand;
    int blocks = 0;
    bool leading = false;  // they are the first ones
  };
  Result<std::shared_ptr<Map>> MakeMap(const NetSpec& spec, const Columns& columns, bool whole);

  std::vector<NetView> views_;
  std::vector<std::shared_ptr<Map>> maps_;
  DeviceArray<NetView> device_views_;
  DeviceArray<float> memory_, partials_;
  DeviceArray<int64_t> steps_;
  NetSizes sizes_ = {};
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_ENGINE_NETS_CUH_
