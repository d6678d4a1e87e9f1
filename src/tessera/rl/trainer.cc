// Step by step: act, step, observe, update, start anew.
#include "tessera/rl/trainer.h"
#include "tessera/base/stop.h"
#include "tessera/rl/profiler.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tessera {

Trainer::Trainer(Env& env, Learner& learner, Profiler* profiler, const TrainerOptions& options)
    : env_(env),
      learner_(learner),
      profiler_(profiler),
      options_(options),
      stepper_(env, learner, profiler),
      running_(static_cast<size_t>(env.batch())),
      returns_(static_cast<size_t>(options.window)) {}

void Trainer::Start(uint64_t seed) { env_.Reset(seed); }

Result<void> Trainer::Step() {
  if (Result<void> stepped = stepper_.Step(); !stepped) return stepped;
  CountRewards();
  while (learner_.UpdateDue()) {
    const Result<UpdateReport> report = learner_.Update();
    if (!report) return report.error();
    if (WasAbandoned()) return Interrupted("learning");
    losses_ = *report;
    ++updates_;
    if (Result<void> checked = CheckLosses(); !checked) return checked;
  }
  stepper_.ResetFinished();
  return {};
}

Result<void> Trainer::CheckLosses() const {
  if (std::isfinite(losses_.q_loss) && std::isfinite(losses_.p_loss)) return {};
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("training has diverged: after update {} the losses are "
                                      "{:g} (critics) and {:g} (actors)",
                                      updates_, losses_.q_loss, losses_.p_loss),
               .hint = "lower the learning rates, or scale the rewards"};
}

void Trainer::CountRewards() {
  const PhaseScope scope(profiler_, Phase::kOther);
  const size_t agents = static_cast<size_t>(env_.spec().num_agents());
  env_steps_ += env_.batch();
  for (size_t e = 0; e < running_.size(); ++e) {
    for (size_t a = 0; a < agents; ++a) running_[e] += env_.rewards()[e * agents + a];
    if (env_.ends()[e] == EpisodeEnd::kNone) continue;
    returns_[static_cast<size_t>(episodes_ % options_.window)] = running_[e];
    running_[e] = 0;
    ++episodes_;
  }
}

Result<void> Trainer::Run(int64_t episodes, const std::function<bool()>& keep_going) {
  while (episodes_ < episodes) {
    if (Result<void> stepped = Step(); !stepped) return stepped;
    if (!keep_going()) break;
  }
  return {};
}

std::vector<double> Trainer::WindowReturns() const {
  std::vector<double> returns;
  const int64_t count = std::min(episodes_, options_.window);
  for (int64_t i = episodes_ - count; i < episodes_; ++i) {
    returns.push_back(returns_[static_cast<size_t>(i % options_.window)]);
  }
  return returns;
}

TrainProgress Trainer::progress() const {
  TrainProgress progress{
      .episodes = episodes_, .env_steps = env_steps_, .updates = updates_, .losses = losses_};
  const std::vector<double> returns = WindowReturns();
  progress.window = std::ssize(returns);
  if (returns.empty()) return progress;
  double sum = 0, squares = 0;
  for (const double value : returns) {
    sum += value;
    squares += value * value;
  }
  const double n = static_cast<double>(returns.size());
  progress.team_return = sum / n;
  progress.agent_return = progress.team_return / static_cast<double>(env_.spec().num_agents());
  const double variance = std::max(0.0, squares / n - progress.team_return * progress.team_return);
  progress.team_return_ci95 = 1.96 * std::sqrt(variance / n);
  return progress;
}

void Trainer::Save(TensorWriter& writer) const {
  writer.Add("trainer.running", std::span(running_));
  writer.Add("trainer.returns", std::span(returns_));
  writer.AddInt("trainer.episodes", episodes_);
  writer.AddInt("trainer.env_steps", env_steps_);
  writer.AddInt("trainer.updates", updates_);
  writer.AddDouble("trainer.q_loss", losses_.q_loss);
  writer.AddDouble("trainer.p_loss", losses_.p_loss);
  writer.AddDouble("trainer.entropy", losses_.entropy);
  env_.Save("env.", writer);
  learner_.Save("learner.", writer);
}

Result<void> Trainer::Load(const TensorReader& reader) {
  if (Result<void> read = env_.Load("env.", reader); !read) return read;
  if (Result<void> read = learner_.Load("learner.", reader); !read) return read;
  if (Result<void> read = reader.Read("trainer.running", std::span(running_)); !read) return read;
  if (Result<void> read = reader.Read("trainer.returns", std::span(returns_)); !read) return read;
  const std::pair<const char*, int64_t*> counters[] = {{"trainer.episodes", &episodes_},
                                                       {"trainer.env_steps", &env_steps_},
                                                       {"trainer.updates", &updates_}};
  for (const auto& [name, counter] : counters) {
    const Result<int64_t> value = reader.ReadCounter(name);
    if (!value) return value.error();
    *counter = *value;
  }
  const std::pair<const char*, double*> losses[] = {{"trainer.q_loss", &losses_.q_loss},
                                                    {"trainer.p_loss", &losses_.p_loss},
                                                    {"trainer.entropy", &losses_.entropy}};
  for (const auto& [name, loss] : losses) {
    const Result<double> value = reader.ReadDouble(name);
    if (!value) return value.error();
    *loss = *value;
  }
  // Checkpoints are taken between steps, when all updates are done.
  if (learner_.UpdateDue()) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "the checkpoint says that an update is due, which none does",
                 .hint = "the file is damaged"};
  }
  return {};
}

}  // namespace tessera
