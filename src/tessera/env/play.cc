// Episodes to look at: the particle worlds with a view, others step by step.
#include "tessera/env.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "tessera/env/mpe/mpe_env.h"
#include "tessera/env/mpe/render.h"
#include "tessera/part.h"

namespace tessera {
namespace {

void DrawActions(const EnvSpec& spec, uint64_t seed, int64_t step, std::span<float> actions) {
  CounterRng rng(seed, StreamId("play"), static_cast<uint64_t>(step));
  for (auto out = actions.begin(); out != actions.end();) {
    for (const AgentSpec& agent : spec.agents) {
      const ActionSpec& action = agent.action;
      if (action.kind == ActionKind::kBox) {
        out = std::generate_n(out, action.size,
                              [&] { return static_cast<float>(2 * rng.Uniform() - 1); });
        continue;
      }
      const int64_t choice = rng.UniformInt(action.size);
      if (action.kind == ActionKind::kChoice) {
        *out++ = static_cast<float>(choice);
        continue;
      }
      for (int64_t i = 0; i < action.size; ++i) *out++ = i == choice ? 1.0f : 0.0f;
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
  env.Reset(seed);
  MpeEpisode episode;
  if (worlds != nullptr) {
    episode.world = worlds->world();
    episode.Add(worlds->world_state(0), 0);
  }
  std::vector<float> actions(static_cast<size_t>(env.batch() * env.spec().action_size()));
  PlayedEpisode played;
  for (int64_t step = 0;; ++step) {
    if (learner != nullptr) {
      learner->Act(env.batch(), env.observations(), ActMode::kGreedy, actions);
    } else {
      DrawActions(env.spec(), seed, step, actions);
    }
    if (Result<void> stepped = env.Step(actions); !stepped) return stepped.error();
    const double reward = TeamReward(env);
    played.team_return += reward;
    if (worlds != nullptr) {
      episode.Add(worlds->world_state(0), reward);
    } else {
      played.frames.push_back(
          fmt::format("step {}: reward of all agents {:.6g}\n", step + 1, reward));
    }
    if (env.ends()[0] != EpisodeEnd::kNone) break;
  }
  for (size_t frame = 0; frame < episode.frames.size(); ++frame) {
    played.frames.push_back(RenderText(episode, frame));
  }
  if (worlds != nullptr) played.svg = RenderSvg(episode);
  return played;
}

}  // namespace tessera
