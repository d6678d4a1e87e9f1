// Episodes of the particle worlds to look at.
#include "tessera/env.h"

#include <span>

#include <fmt/format.h>

#include "tessera/env/mpe/mpe_env.h"
#include "tessera/env/mpe/render.h"
#include "tessera/part.h"

namespace tessera {
namespace {

void DrawActions(uint64_t seed, int64_t step, std::span<float> actions) {
  CounterRng rng(seed, StreamId("play"), static_cast<uint64_t>(step));
  for (size_t first = 0; first < actions.size(); first += kMpeActionSize) {
    const int64_t choice = rng.UniformInt(kMpeActionSize);
    for (size_t i = 0; i < kMpeActionSize; ++i) {
      actions[first + i] = static_cast<int64_t>(i) == choice ? 1.0f : 0.0f;
    }
  }
}

double TeamReward(const Env& env) {
  double reward = 0;
  for (int64_t a = 0; a < env.spec().num_agents(); ++a) {
    reward += env.rewards()[static_cast<size_t>(a)];
  }
  return reward;
}

}  // namespace

Result<PlayedEpisode> PlayEpisode(Env& env, Learner* learner, uint64_t seed) {
  auto* const worlds = dynamic_cast<MpeEnv*>(&env);
  if (worlds == nullptr) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("environment {} has no view", env.spec().name)};
  }
  env.Reset(seed);
  MpeEpisode episode;
  episode.world = worlds->world();
  episode.Add(worlds->world_state(0), 0);
  std::vector<float> actions(static_cast<size_t>(env.batch() * env.spec().action_size()));
  PlayedEpisode played;
  for (int64_t step = 0;; ++step) {
    if (learner != nullptr) {
      learner->Act(env.batch(), env.observations(), ActMode::kGreedy, actions);
    } else {
      DrawActions(seed, step, actions);
    }
    if (Result<void> stepped = env.Step(actions); !stepped) return stepped.error();
    const double reward = TeamReward(env);
    played.team_return += reward;
    episode.Add(worlds->world_state(0), reward);
    if (env.ends()[0] != EpisodeEnd::kNone) break;
  }
  for (size_t frame = 0; frame < episode.frames.size(); ++frame) {
    played.frames.push_back(RenderText(episode, frame));
  }
  played.svg = RenderSvg(episode);
  return played;
}

}  // namespace tessera
