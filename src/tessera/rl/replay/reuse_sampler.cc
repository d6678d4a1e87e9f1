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
    KeptBatch& kept = kept_[request.trainer];
    const int64_t part = static_cast<int64_t>(request.round) / window_;
    // Dropped transitions must not be read, so a batch that lost one is drawn again.
    const bool valid = std::all_of(kept.slots.begin(), kept.slots.end(), [&](int64_t slot) {
      return buffer.kinds()[static_cast<size_t>(slot)] != SlotKind::kEmpty;
    });
    // A checkpoint may hold a batch of any size.
    const int64_t rows = std::ssize(kept.slots);
    const bool fits = rows >= request.rows && rows <= request.rows + base_->surplus();
    if (kept.part != part || !valid || !fits) {
      base_->Sample(buffer, request, kept.slots, kept.weights);
      kept.part = part;
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

  cuda::SamplerSettings settings() const override {
    cuda::SamplerSettings settings = base_->settings();
    settings.rounds = static_cast<int>(window_);
    return settings;
  }
  std::span<double> priorities() override { return base_->priorities(); }
  double* top_priority() override { return base_->top_priority(); }
  void ChangedPriorities() override { base_->ChangedPriorities(); }
  KeptBatch* kept(uint64_t trainer) override { return &kept_[trainer]; }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    base_->Save(prefix + "base.", writer);
    for (const auto& [trainer, batch] : kept_) {
      if (batch.part < 0) continue;  // of no trainer, then: all draw in the first round
      const std::string name = prefix + "kept" + std::to_string(trainer) + ".";
      writer.AddInt(name + "window", batch.part);
      writer.Add(name + "slots", std::span(batch.slots));
      writer.Add(name + "weights", std::span(batch.weights));
    }
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    kept_.clear();
    for (uint64_t trainer = 0;; ++trainer) {
      const std::string name = prefix + "kept" + std::to_string(trainer) + ".";
      if (!reader.Has(name + "window")) break;
      KeptBatch& batch = kept_[trainer];
      const Result<int64_t> part =
          reader.ReadIntWithin(name + "window", -1, TensorReader::kMostCounted);
      if (!part) return part.error();
      batch.part = *part;
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
  const int64_t window_, slots_;  // slots_: of the buffer
  const std::unique_ptr<Sampler> base_;
  std::map<uint64_t, KeptBatch> kept_;  // per trainer
};

const ParameterList<ReuseOptions>& Settings() {
  using O = ReuseOptions;
  static const ParameterList<O> parameters = {
      {"window", &O::window, Range{1, 1000}, "update rounds that share a batch"},
      {"base",
       &O::base,
       {"uniform", "neighbor", "runs", "prioritized", "prioritized-neighbor"},
       "the sampler that draws it, with settings of its own: reuse:base=neighbor,radius=5"}};
  return parameters;
}

// Settings that are not ours are the base's.
Result<std::unique_ptr<Sampler>> Make(const Assignments& assignments, int64_t slots) {
  Assignments own, rest;
  for (const auto& assignment : assignments) {
    const bool ours = assignment.first == "window" || assignment.first == "base";
    (ours ? own : rest).push_back(assignment);
  }
  const Result<ReuseOptions> options = ReadOptions("sampler reuse", Settings(), own);
  if (!options) return options.error();
  const Result<const SamplerInfo*> base = FindSampler(options->base);
  if (!base) return base.error();
  Result<std::unique_ptr<Sampler>> made = (*base)->make(rest, slots);
  if (!made) return made.error();
  return std::unique_ptr<Sampler>(
      std::make_unique<ReuseSampler>(options->window, slots, std::move(*made)));
}

}  // namespace

extern const SamplerInfo kReuseSampler = {
    .name = "reuse",
    .summary = "one batch for several update rounds (AccMER)",
    .distribution = "that of its base sampler, but batches of one window are equal",
    .changes_distribution = true,
    .parameters = [] { return Describe(Settings()); },
    .make = Make};

}  // namespace tessera
