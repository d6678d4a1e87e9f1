// The kernel that prices mappings, and its memory.
#include "tessera/cuda/map_engine.h"

#include <algorithm>

#include "tessera/cuda/device.h"
#include "tessera/cuda/memory.cuh"
#include "tessera/cuda/nest_price.h"

namespace tessera::cuda {
namespace {

constexpr int kPriceThreads = 128;

struct PriceBatch {
  const uint32_t* words;
  int64_t row, size;
  NestPrice* prices;
  NestCounts* counts;  // may be null
};

template <int kTensors>
__global__ void __launch_bounds__(kPriceThreads)
    PriceKernel(const __grid_constant__ NestPlan plan, PriceBatch batch) {
  const int64_t m = int64_t{blockIdx.x} * kPriceThreads + threadIdx.x;
  if (m >= batch.size) return;
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
              .prices = prices_->data(),
              .counts = counts.empty() ? nullptr : counts_->data()};
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

  cudaError_t Launch() {
    const auto blocks = static_cast<unsigned>((batch_.size + kPriceThreads - 1) / kPriceThreads);
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
};

}  // namespace

Result<std::unique_ptr<MapEngine>> MapEngine::Make(const NestPlan& plan) {
  if (const Result<DeviceInfo> device = FindDevice(); !device) return device.error();
  auto engine = std::make_unique<Engine>(plan);
  if (Result<void> opened = engine->Open(); !opened) return opened.error();
  return std::unique_ptr<MapEngine>(std::move(engine));
}

}  // namespace tessera::cuda
