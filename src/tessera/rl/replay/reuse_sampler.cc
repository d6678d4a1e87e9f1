// Window re-use (AccMER): a batch drawn by priority serves several update rounds, so that its
// records are still in the cache.
#include <algorithm>
#include <map>
#include <utility>

#include "tessera/rl/replay/sampler.h"

namespace tessera {
namespace {

struct ReuseOptions {
  int64_t window = 4;
  std::string base = "prioritized";
};

class ReuseSampler final : public Sampler {
 public:
  ReuseSampler(int64_t window, int64_t slots, std::unique_ptr<Sampler> base)
      : window_(window), slots_(slots), base_(std::move(base)) {}

  void Sample(const ReplayBuffer& buffer, const SampleRequest& request, std::vector<int64_t>& slots,
              std::vector<float>& weights) override {
    Batch& kept = kept_[request.trainer];
    const int64_t window = static_cast<int64_t>(request.round) / window_;
    // Dropped transitions must not be read, so a batch that lost one is drawn again.
    const bool valid = std::all_of(kept.slots.begin(), kept.slots.end(), [&](int64_t slot) {
      return buffer.kinds()[static_cast<size_t>(slot)] != SlotKind::kEmpty;
    });
    if (kept.window != window || !valid || std::ssize(kept.slots) != request.rows) {
      base_->Sample(buffer, request, kept.slots, kept.weights);
      kept.window = window;
    }
    slots.assign(kept.slots.begin(), kept.slots.end());
    weights.assign(kept.weights.begin(), kept.weights.end());
  }

  int64_t surplus() const override { return base_->surplus(); }
  void Added(int64_t slot) override { base_->Added(slot); }
  void Dropped(std::span<const int64_t> slots) override { base_->Dropped(slots); }
  bool wants_errors() const override { return base_->wants_errors(); }
  void Observe(std::span<const int64_t> slots, std::span<const float> errors) override {
    base_->Observe(slots, errors);
  }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    base_->Save(prefix + "base.", writer);
    for (const auto& [trainer, batch] : kept_) {
      const std::string name = prefix + "kept" + std::to_string(trainer) + ".";
      writer.AddInt(name + "window", batch.window);
      writer.Add(name + "slots", std::span(batch.slots));
      writer.Add(name + "weights", std::span(batch.weights));
    }
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    kept_.clear();
    for (uint64_t trainer = 0;; ++trainer) {
      const std::string name = prefix + "kept" + std::to_string(trainer) + ".";
      if (!reader.Has(name + "window")) break;
      Batch& batch = kept_[trainer];
      const Result<int64_t> window =
          reader.ReadIntWithin(name + "window", -1, TensorReader::kMostCounted);
      if (!window) return window.error();
      batch.window = *window;
      const Result<int64_t> count = reader.Count(name + "slots");
      if (!count) return count.error();
      batch.slots.resize(static_cast<size_t>(*count));
      batch.weights.resize(static_cast<size_t>(*count));
      if (Result<void> read =
              reader.ReadWithin(name + "slots", std::span(batch.slots), int64_t{0}, slots_ - 1);
          !read) {
        return read;
      }
      if (Result<void> read = reader.Read(name + "weights", std::span(batch.weights)); !read) {
        return read;
      }
    }
    return base_->Load(prefix + "base.", reader);
  }

 private:
  struct Batch {
    int64_t window = -1;
    std::vector<int64_t> slots;
    std::vector<float> weights;
  };

  const int64_t window_, slots_;  // slots_: of the buffer
  const std::unique_ptr<Sampler> base_;
  std::map<uint64_t, Batch> kept_;  // per trainer
};

const ParameterList<ReuseOptions>& Settings() {
  using O = ReuseOptions;
  static const ParameterList<O> parameters = {
      {"window", &O::window, Range{1, 1000}, "update rounds that share a batch"},
      {"base",
       &O::base,
       {"uniform", "neighbor", "runs", "prioritized", "prioritized-neighbor"},
       "the sampler that draws it"}};
  return parameters;
}

}  // namespace

extern const SamplerInfo kReuseSampler = {
    .name = "reuse",
    .summary = "one batch for several update rounds (AccMER)",
    .distribution = "that of its base sampler, but batches of one window are equal",
    .changes_distribution = true,
    .parameters = [] { return Describe(Settings()); },
    .make = [](const Assignments& assignments, int64_t slots) -> Result<std::unique_ptr<Sampler>> {
      const Result<ReuseOptions> options = ReadOptions("sampler reuse", Settings(), assignments);
      if (!options) return options.error();
      const Result<const SamplerInfo*> base = FindSampler(options->base);
      if (!base) return base.error();
      Result<std::unique_ptr<Sampler>> made = (*base)->make({}, slots);
      if (!made) return made.error();
      return std::unique_ptr<Sampler>(
          std::make_unique<ReuseSampler>(options->window, slots, std::move(*made)));
    }};

}  // namespace tessera
