// Worlds on the device as the engine sees them.
#ifndef TESSERA_CUDA_WORLD_BATCH_CUH_
#define TESSERA_CUDA_WORLD_BATCH_CUH_

#include "tessera/cuda/memory.cuh"
#include "tessera/cuda/worlds.cuh"

namespace tessera::cuda {

class WorldBatchImpl final : public WorldBatch {
 public:
  static Result<std::unique_ptr<WorldBatch>> Make(const WorldSpec& spec);
  ~WorldBatchImpl() override;

  const WorldSpec& spec() const override { return spec_; }
  Result<void> Set(const WorldImage& from, uint64_t seed) override;
  Result<void> Get(const WorldImage& to) override;
  Result<void> SetAlike(const WorldImage& from, uint64_t seed) override;
  Result<void> Step(std::span<const float> actions) override;
  Result<void> StepAtRandom(int64_t steps, uint64_t seed) override;
  Result<void> Wait() override;
  Result<void> GetObservations(std::span<float> to) override { return observations_.Get(to); }
  Result<void> GetRewards(std::span<float> to) override { return rewards_.Get(to); }
  Result<void> SetReturns(std::span<const double> running, std::span<const double> ring) override;
  Result<void> GetReturns(std::span<double> running, std::span<double> ring) override;

  // For the engine, which steps worlds on its own stream.
  const WorldView& view() const { return view_; }
  float* actions() const { return actions_.data(); }
  double* running() const { return running_.data(); }
  double* ring() const { return ring_.data(); }
  int64_t window() const { return ring_.size(); }

 private:
  explicit WorldBatchImpl(const WorldSpec& spec) : spec_(spec) {}
  Result<void> Allocate();

  const WorldSpec spec_;
  WorldView view_ = {};
  cudaStream_t stream_ = nullptr;
  DeviceArray<ObservedNumber> observed_;
  DeviceArray<double> state_, running_, ring_;
  DeviceArray<int64_t> steps_, clocks_;
  DeviceArray<uint32_t> generators_;
  DeviceArray<PcgWords> pcg_;
  DeviceArray<float> observations_, states_, rewards_, actions_;
  uint64_t random_steps_ = 0;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_WORLD_BATCH_CUH_
