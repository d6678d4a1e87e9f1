// Which layer's proof goes on next, and for how long.
#include "tessera/mapper/proof.h"
#include "tessera/map.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/mapper/layer_prover.h"
#include "tessera/mapper/map_network.h"
#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kSlice = 0.25;       // seconds between looks at clock, gaps and the user's wishes
constexpr double kTotalSeconds = 1;   // between lines about the network
constexpr int64_t kNodeBytes = 400;   // about what an open node takes
constexpr double kNodesShare = 0.75;  // of the memory, at most; the rest can be made again

ProgressRow RowOf(const LayerMapping& layer) {
  return {.name = layer.name,
          .best = layer.cost ? std::optional(layer.value) : std::nullopt,
          .bound = layer.bound,
          .gap = layer.gap(),
          .samples = layer.samples()};
}

// The models whose mappings the exact mapper takes, for messages.
std::string ProvableModels() {
  std::vector<std::string_view> names;
  for (const CostModelInfo* info : CostModels()) {
    const Result<CostModelChoice> choice = CostModelChoice::Make(*info);
    if (choice && (*choice)->semantics()) names.push_back(info->name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace

struct Prover::Shared {
  std::mutex mutex;
  Result<void> outcome = {};
  double last_total = 0;
};

Result<void> CheckProvable(const MapSettings& settings) {
  const auto refused = [&](std::string message, std::string hint = "choose another --method") {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("method {} {}", settings.method.ToString(), message),
                 .hint = std::move(hint)};
  };
  const std::optional<loopnest::Semantics> semantics = settings.model->semantics();
  if (!semantics) return refused(fmt::format("needs model {}", ProvableModels()));
  if (!exact::GoalOf(settings.objective)) {
    return refused(
        fmt::format("proves latency, energy and edp, not {}", ToString(settings.objective)));
  }
  for (const Objective objective : settings.then) {
    if (exact::GoalOf(objective)) continue;
    return refused(fmt::format("proves latency, energy and edp, not {}", ToString(objective)));
  }
  for (const Objective objective : {Objective::kPower, Objective::kArea}) {
    if (settings.limits.Of(objective) == CostLimits::kNone) continue;
    return refused(fmt::format("knows no bounds of {}, which has a limit",
                               kObjectiveKeys[static_cast<size_t>(objective)]));
  }
  if (!exact::Proves(*semantics)) {
    return refused(fmt::format("knows no bounds for semantics {}",
                               NameOf(*semantics, loopnest::kSemanticsNames)),
                   "use semantics exact or timeloop3, or choose another --method");
  }
  return {};
}

Prover::Prover(const MapJob& job, ThreadPool& pool, const RunHooks& hooks,
               std::vector<LayerMapping>& layers)
    : job_(job), pool_(pool), hooks_(hooks), layers_(layers), shared_(std::make_unique<Shared>()) {}

Prover::~Prover() = default;

bool Prover::Over() const {
  return (hooks_.stopped && hooks_.stopped()) || SteadySeconds() >= deadline_;
}

bool Prover::Reproducible() const {
  return job_.settings.budget.seconds == 0 && job_.settings.proof_seconds == 0;
}

bool Prover::Done(size_t layer) const {
  return provers_[layer] != nullptr && provers_[layer]->first_done();
}

void Prover::Offer(size_t layer) {
  if (provers_[layer] == nullptr) return;
  provers_[layer]->Offer();
  provers_[layer]->Publish();
}

Result<void> Prover::Start(double seconds) {
  const double share = seconds > 0 ? seconds * static_cast<double>(pool_.threads()) /
                                         static_cast<double>(std::max<size_t>(1, layers_.size()))
                                   : std::numeric_limits<double>::infinity();
  const auto nodes = static_cast<int64_t>(kNodesShare * static_cast<double>(MemoryLimit())) /
                     kNodeBytes / std::max<int64_t>(1, std::ssize(layers_));
  provers_.resize(layers_.size());
  std::vector<Result<void>> outcomes(layers_.size());
  const auto start = [&](size_t i) -> Result<void> {
    auto prover = std::make_unique<LayerProver>(job_, layers_[i], hooks_.stopped);
    if (Result<void> made = prover->Make(std::max<int64_t>(1, nodes)); !made) {
      const bool skip = job_.method.has_value() && made.error().kind == ErrorKind::kUnsupported;
      if (!skip) return InLayer(layers_[i].name, made.error());
      layers_[i].unproved = made.error().message;
      return {};
    }
    if (hooks_.directory != nullptr) {
      const JournalFile file = ProofJournal(*hooks_.directory, i);
      if (Result<void> opened = prover->OpenJournal(file, !Reproducible()); !opened) return opened;
    } else {
      prover->Offer();
    }
    ThreadPool one(1);  // Layers are what runs side by side.
    // What a proposal has settled has its turn for the next objectives once no gap is left.
    if (!prover->first_done() && !(hooks_.stopped && hooks_.stopped())) {
      const double end = SteadySeconds() + share;
      if (Result<void> ran = prover->Run(0, kForever, end, one); !ran) return ran;
    }
    prover->Publish();
    const std::lock_guard<std::mutex> guard(shared_->mutex);
    provers_[i] = std::move(prover);
    Trim();
    Tell(*provers_[i]);
    return {};
  };
  for (const LayerMapping& layer : layers_) {
    if (hooks_.progress == nullptr) break;
    hooks_.progress->OnProgress(ProgressEvent::kAdvanced, RowOf(layer));
  }
  pool_.ParallelFor(std::ssize(layers_), 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
    outcomes[static_cast<size_t>(begin)] = start(static_cast<size_t>(begin));
  });
  for (const Result<void>& outcome : outcomes) {
    if (!outcome) return outcome;
  }
  return {};
}

// Layers that are not done; only who works on one may ask whether it is.
size_t Prover::Open() const {
  return static_cast<size_t>(std::count_if(
      provers_.begin(), provers_.end(),
      [](const auto& prover) { return prover != nullptr && (prover->busy || !prover->done()); }));
}

// The most urgent layer that nobody works on; null if there is none.
LayerProver* Prover::Next() {
  LayerProver* next = nullptr;
  for (const auto& prover : provers_) {
    if (prover == nullptr || prover->busy || prover->done()) continue;
    if (next == nullptr || prover->Urgency() > next->Urgency()) next = prover.get();
  }
  return next;
}

void Prover::Tell(const LayerProver& prover) {
  if (hooks_.progress == nullptr) return;
  const ProgressEvent event = prover.done()       ? ProgressEvent::kDone
                              : prover.improved() ? ProgressEvent::kImproved
                                                  : ProgressEvent::kAdvanced;
  hooks_.progress->OnProgress(event, RowOf(prover.layer()));
}

// The network as one more row, once every layer has a mapping.
void Prover::TellTotal() {
  if (hooks_.progress == nullptr || layers_.size() < 2) return;
  const NetworkTotal total = AddUp(layers_, job_.problem.objective);
  if (!total.gap()) return;
  const double now = SteadySeconds();
  const bool due = now - shared_->last_total >= kTotalSeconds;
  if (due) shared_->last_total = now;
  hooks_.progress->OnProgress(due ? ProgressEvent::kImproved : ProgressEvent::kAdvanced,
                              {.name = "network",
                               .best = total.value,
                               .bound = total.bound,
                               .gap = total.gap(),
                               .samples = total.samples});
}

int64_t Prover::MemoryLimit() const { return job_.settings.proof_memory_mib << 20; }

// Where layers take too much together, those that rest give up what they can make again, the least
// urgent ones first. Called with the lock held.
void Prover::Trim() {
  std::vector<LayerProver*> resting;
  int64_t sum = 0;
  for (const auto& prover : provers_) {
    if (prover == nullptr) continue;
    sum += prover->bytes();
    if (!prover->busy && prover->bytes() > 0) resting.push_back(prover.get());
  }
  if (sum <= MemoryLimit()) return;
  std::ranges::stable_sort(resting, {}, [](const LayerProver* layer) { return layer->Urgency(); });
  for (LayerProver* const prover : resting) {
    if (sum <= MemoryLimit()) return;
    sum -= prover->bytes();
    prover->Trim();
    sum += prover->bytes();
  }
}

// Rounds of one layer; called with the lock held, which is given up meanwhile.
void Prover::Slice(LayerProver& prover, ThreadPool& pool, std::unique_lock<std::mutex>& lock) {
  prover.busy = true;
  lock.unlock();
  Result<void> ran = prover.Run(kSlice, first_deadline_, deadline_, pool);
  lock.lock();
  prover.busy = false;
  prover.Publish();
  Trim();
  if (!ran && shared_->outcome) shared_->outcome = InLayer(prover.layer().name, ran.error());
  Tell(prover);
  TellTotal();
}

Result<void> Prover::Go(double deadline) {
  deadline_ = deadline;
  if (job_.settings.within > 0) {
    const double now = SteadySeconds();
    first_deadline_ = now + (deadline - now) / 2;
  }
  const auto threads = static_cast<size_t>(pool_.threads());
  std::unique_lock<std::mutex> lock(shared_->mutex);
  while (shared_->outcome && !Over()) {
    // A layer per thread, and all threads for one layer once fewer layers than threads are left.
    if (Open() < threads) {
      LayerProver* const next = Next();
      if (next == nullptr) break;
      Slice(*next, pool_, lock);
      continue;
    }
    if (Next() == nullptr) break;
    lock.unlock();
    pool_.ParallelFor(static_cast<int64_t>(threads), 1, [&](int64_t, int64_t, int) {
      ThreadPool one(1);
      std::unique_lock<std::mutex> mine(shared_->mutex);
      while (shared_->outcome && !Over() && Open() >= threads) {
        LayerProver* const next = Next();
        if (next == nullptr) return;
        Slice(*next, one, mine);
      }
    });
    lock.lock();
  }
  const bool interrupted = hooks_.stopped && hooks_.stopped();
  for (size_t i = 0; i < provers_.size(); ++i) {
    const auto& prover = provers_[i];
    if (prover == nullptr) continue;
    layers_[i].stopped_by =
        prover->stop().value_or(interrupted ? MapStop::kInterrupted : MapStop::kTime);
    if (Result<void> closed = prover->Close(); !closed && shared_->outcome) {
      shared_->outcome = InLayer(prover->layer().name, closed.error());
    }
  }
  return shared_->outcome;
}

}  // namespace tessera
