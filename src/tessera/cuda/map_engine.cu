// The kernel that prices mappings, and its memory.
#include "tessera/cuda/map_engine.h"

#include <algorithm>

#include <cub/device/device_radix_sort.cuh>

#include "tessera/cuda/device.h"
#include "tessera/cuda/memory.cuh"
#include "tessera/cuda/nest_price.h"

namespace tessera::cuda {
namespace {

constexpr int kPriceThreads = 128;

struct PriceBatch {
  const uint32_t* words;
  int64_t row, size;
  const int32_t* order;  // which mapping a thread takes; null: its own
  NestPrice* prices;
  NestCounts* counts;  // may be null
};

// ---- Mappings of the same form side by side ----------------------------------------------------
//
// The threads of a warp do the same only as long as their mappings have as many loops, windows that
// coincide at the same levels, and the same tensors kept. Of random mappings hardly two have, and
// threads would wait for each other most of the time; sorted by form, most neighbours have.

constexpr int kKeyBits = 64;
constexpr int64_t kLeastToSort = 4096;  // fewer do not fill the device anyway

// A number of bits for each of some things, the first ones in front; what does not fit is left out.
struct FormKey {
  uint64_t bits = 0;
  int used = 0;

  __device__ void Add(uint32_t value, int width) {
    if (used + width > kKeyBits) return;
    const uint32_t most = (1u << width) - 1;
    bits = bits << width | (value < most ? value : most);
    used += width;
  }
};

// Ranks whose windows can coincide among children that are spread along `dims`.
__device__ uint32_t CollidingRanks(const NestPlan& plan, uint32_t dims) {
  uint32_t count = 0;
  for (int v = 0; v < plan.num_tensors; ++v) {
    if (plan.tensors[v].simple) continue;
    for (int r = 0; r < plan.tensors[v].num_ranks; ++r) {
      count += NetworkWay::CollidesIn(plan.tensors[v].ranks[r], dims) ? 1 : 0;
    }
  }
  return count;
}

__global__ void __launch_bounds__(kPriceThreads)
    FormKernel(const __grid_constant__ NestPlan plan, PriceBatch batch, uint64_t* keys,
               int32_t* ids) {
  const int64_t m = int64_t{blockIdx.x} * kPriceThreads + threadIdx.x;
  if (m >= batch.size) return;
  const uint32_t* words = batch.words + m * batch.row;
  uint32_t heads[kNestLevels], dims = 0;
  FormKey key;
  for (int i = 0; i < plan.num_levels; ++i) {
    const uint32_t head = heads[i] = *words++, spatial = head & 0xff;
    uint32_t own = 0;
    for (uint32_t k = 0; k < spatial; ++k) own |= 1u << (*words++ >> 28);
    dims |= own;
    key.Add(own != 0 ? CollidingRanks(plan, dims) : 0, 2);
    key.Add(spatial, 3);
    words += head >> 16 & 0xff;
  }
  for (int i = 0; i < plan.num_levels; ++i) key.Add(heads[i] >> 24, 3);         // what is kept
  for (int i = 0; i < plan.num_levels; ++i) key.Add(heads[i] >> 16 & 0xff, 3);  // temporal loops
  for (int i = 0; i < plan.num_levels; ++i) key.Add(heads[i] >> 8 & 0xff, 2);   // loops along x
  keys[m] = key.bits;
  ids[m] = static_cast<int32_t>(m);
}

template <int kTensors>
__global__ void __launch_bounds__(kPriceThreads)
    PriceKernel(const __grid_constant__ NestPlan plan, PriceBatch batch) {
  const int64_t thread = int64_t{blockIdx.x} * kPriceThreads + threadIdx.x;
  if (thread >= batch.size) return;
  const int64_t m = batch.order != nullptr ? batch.order[thread] : thread;
  NestCounts* const counts =
      batch.counts == nullptr ? nullptr : batch.counts + m * plan.num_levels * plan.num_tensors;
  batch.prices[m] = NestPricer<kTensors>(plan, batch.words + m * batch.row).Price(counts);
}

class Engine final : public MapEngine {
 public:
  explicit Engine(const NestPlan& plan) : plan_(plan) {}
  ~Engine() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  Result<void> Open() { return OpenStream(&stream_); }

  Result<void> Price(const PackedNests& nests, std::span<NestPrice> prices,
                     std::span<NestCounts> counts) override {
    const auto size = static_cast<int64_t>(prices.size());
    if (size == 0) return {};
    if (Result<void> r = Grow(static_cast<int64_t>(nests.words.size()), words_, "mappings"); !r) {
      return r;
    }
    if (Result<void> r = Grow(size, prices_, "prices"); !r) return r;
    if (!counts.empty()) {
      if (Result<void> r = Grow(static_cast<int64_t>(counts.size()), counts_, "accesses"); !r) {
        return r;
      }
    }
    batch_ = {.words = words_->data(),
              .row = static_cast<int64_t>(nests.row),
              .size = size,
              .order = nullptr,
              .prices = prices_->data(),
              .counts = counts.empty() ? nullptr : counts_->data()};
    if (size >= kLeastToSort && size <= INT32_MAX) {
      if (Result<void> r = MakeOrder(size); !r) return r;
    }
    cudaError_t error = cudaMemcpyAsync(words_->data(), nests.words.data(),
                                        nests.words.size_bytes(), cudaMemcpyHostToDevice, stream_);
    if (error == cudaSuccess) error = Launch();
    const auto fetch = [&](auto to, const auto& from) {
      if (error != cudaSuccess || to.empty()) return;
      error = cudaMemcpyAsync(to.data(), from->data(), to.size_bytes(), cudaMemcpyDeviceToHost,
                              stream_);
    };
    fetch(prices, prices_);
    fetch(counts, counts_);
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream_);
    return Check(error, "pricing mappings");
  }

  Result<double> Measure(int launches) override {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin, stream_);
    cudaError_t error = cudaSuccess;
    for (int k = 0; k < launches && error == cudaSuccess; ++k) error = Launch();
    cudaEventRecord(end, stream_);
    if (error == cudaSuccess) error = cudaEventSynchronize(end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    if (error != cudaSuccess) return ErrorOf(error, "pricing mappings");
    return 1e-3 * milliseconds / launches;
  }

 private:
  template <typename T>
  Result<void> Grow(int64_t size, std::unique_ptr<DeviceArray<T>>& array, const char* what) {
    if (array != nullptr && array->size() >= size) return {};
    // The old one goes first, and half as much again comes, so that growing batches grow few times.
    array = nullptr;
    array = std::make_unique<DeviceArray<T>>();
    return array->Allocate(size + size / 2, what);
  }

  // Memory to sort `size` mappings by form.
  Result<void> MakeOrder(int64_t size) {
    if (Result<void> r = Grow(2 * size, keys_, "forms of mappings"); !r) return r;
    if (Result<void> r = Grow(2 * size, ids_, "forms of mappings"); !r) return r;
    size_t bytes = 0;
    if (Result<void> r = Check(Sort(nullptr, bytes, size), "pricing mappings"); !r) return r;
    if (Result<void> r = Grow(static_cast<int64_t>(bytes), sorting_, "forms of mappings"); !r) {
      return r;
    }
    batch_.order = ids_->data() + size;
    return {};
  }

  // Without memory it only says how much it needs.
  cudaError_t Sort(void* memory, size_t& bytes, int64_t size) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys_->data(), keys_->data() + size,
                                           ids_->data(), ids_->data() + size,
                                           static_cast<int32_t>(size), 0, kKeyBits, stream_);
  }

  cudaError_t Launch() {
    const auto blocks = static_cast<unsigned>((batch_.size + kPriceThreads - 1) / kPriceThreads);
    if (batch_.order != nullptr) {
      FormKernel<<<blocks, kPriceThreads, 0, stream_>>>(plan_, batch_, keys_->data(), ids_->data());
      auto bytes = static_cast<size_t>(sorting_->size());
      if (cudaError_t error = Sort(sorting_->data(), bytes, batch_.size); error != cudaSuccess) {
        return error;
      }
    }
    if (plan_.num_tensors <= 3) {
      PriceKernel<3><<<blocks, kPriceThreads, 0, stream_>>>(plan_, batch_);
    } else {
      PriceKernel<kNestTensors><<<blocks, kPriceThreads, 0, stream_>>>(plan_, batch_);
    }
    return cudaGetLastError();
  }

  const NestPlan plan_;
  cudaStream_t stream_ = nullptr;
  PriceBatch batch_ = {};
  std::unique_ptr<DeviceArray<uint32_t>> words_;
  std::unique_ptr<DeviceArray<NestPrice>> prices_;
  std::unique_ptr<DeviceArray<NestCounts>> counts_;
  std::unique_ptr<DeviceArray<uint64_t>> keys_;  // before and after sorting
  std::unique_ptr<DeviceArray<int32_t>> ids_;    // likewise
  std::unique_ptr<DeviceArray<uint8_t>> sorting_;
};

}  // namespace

Result<std::unique_ptr<MapEngine>> MapEngine::Make(const NestPlan& plan) {
  if (const Result<DeviceInfo> device = FindDevice(); !device) return device.error();
  auto engine = std::make_unique<Engine>(plan);
  if (Result<void> opened = engine->Open(); !opened) return opened.error();
  return std::unique_ptr<MapEngine>(std::move(engine));
}

}  // namespace tessera::cuda
