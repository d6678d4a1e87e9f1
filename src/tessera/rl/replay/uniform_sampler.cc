// Uniform sampling with replacement: what the reference algorithms do.
#include "tessera/rl/replay/sampler.h"

namespace tessera {
namespace {

struct NoOptions {};

class UniformSampler final : public Sampler {
 public:
  void Sample(const ReplayBuffer& buffer, const SampleRequest& request, std::vector<int64_t>& slots,
              std::vector<float>& weights) override {
    CounterRng rng(request.seed, StreamId("sampler", request.trainer), request.round);
    const UniformDraws draws(buffer, request.skip_newest);
    slots.clear();
    for (int64_t r = 0; r < request.rows; ++r) slots.push_back(draws.Draw(rng));
    weights.assign(slots.size(), 1.0f);
  }

  cuda::SamplerSettings settings() const override { return {}; }
};

const ParameterList<NoOptions> kParameters = {};

}  // namespace

extern const SamplerInfo kUniformSampler = {
    .name = "uniform",
    .summary = "every transition with equal probability, with replacement",
    .distribution = "independent and uniform",
    .changes_distribution = false,
    .parameters = [] { return Describe(kParameters); },
    .make = [](const Assignments& assignments,
               int64_t /*slots*/) -> Result<std::unique_ptr<Sampler>> {
      const Result<NoOptions> options = ReadOptions("sampler uniform", kParameters, assignments);
      if (!options) return options.error();
      return std::unique_ptr<Sampler>(std::make_unique<UniformSampler>());
    }};

}  // namespace tessera
