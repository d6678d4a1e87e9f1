// One function per line of Env's contract.
#include "tessera/rl/env_conformance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "tessera/part.h"
#include "tessera/rl/observation_map.h"

namespace tessera {
namespace {

constexpr int64_t kBatch = 5;
constexpr uint64_t kSeed = 7;
constexpr int64_t kSteps = 30;

Error Violation(const Env& env, std::string_view rule, std::string message) {
  return Error{
      .kind = ErrorKind::kInternal,
      .message = fmt::format("environment {} violates '{}': {}", env.spec().name, rule, message)};
}

// Random actions of one environment at one step, the same for every batch size.
void DrawActions(const EnvSpec& spec, int64_t e, int64_t step, float* out) {
  CounterRng rng(kSeed, StreamId("conformance", static_cast<uint64_t>(e)),
                 static_cast<uint64_t>(step));
  for (const AgentSpec& agent : spec.agents) {
    for (int64_t i = 0; i < agent.action.width(); ++i) {
      *out++ = agent.action.kind == ActionKind::kChoice
                   ? static_cast<float>(rng.UniformInt(agent.action.size))
                   : static_cast<float>(rng.Uniform());
    }
  }
}

std::vector<float> ActionsFor(const Env& env, int64_t step) {
  const int64_t size = env.spec().action_size();
  std::vector<float> actions(static_cast<size_t>(env.batch() * size));
  for (int64_t e = 0; e < env.batch(); ++e) {
    DrawActions(env.spec(), e, step, actions.data() + e * size);
  }
  return actions;
}

// Everything that environment e shows, appended to `trace`.
void Record(const Env& env, int64_t e, std::vector<float>& trace) {
  const auto part = [&](std::span<const float> all) {
    const size_t size = all.size() / static_cast<size_t>(env.batch());
    const auto own = all.subspan(static_cast<size_t>(e) * size, size);
    trace.insert(trace.end(), own.begin(), own.end());
  };
  part(env.observations());
  part(env.states());
  part(env.rewards());
  trace.push_back(static_cast<float>(env.ends()[static_cast<size_t>(e)]));
}

// Steps from `begin` to `end`; episodes start anew as they end.
Result<std::vector<float>> Play(Env& env, int64_t watched, int64_t begin, int64_t end) {
  std::vector<float> trace;
  for (int64_t step = begin; step < end; ++step) {
    if (Result<void> stepped = env.Step(ActionsFor(env, step)); !stepped) return stepped.error();
    Record(env, watched, trace);
    env.ResetFinished();
    Record(env, watched, trace);
  }
  return trace;
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Result<void> CheckShapes(Env& env) {
  const EnvSpec& spec = env.spec();
  if (spec.agents.empty()) return Violation(env, "Spec", "no agents");
  const auto rows = [&](std::span<const float> values, int64_t size) {
    return std::ssize(values) == env.batch() * size;
  };
  if (!rows(env.observations(), spec.observation_size()) || !rows(env.states(), spec.state_size) ||
      !rows(env.rewards(), spec.num_agents()) || std::ssize(env.ends()) != env.batch()) {
    return Violation(env, "Spec", "a span has another size than the spec says");
  }
  for (const float value : env.observations()) {
    if (!std::isfinite(value)) return Violation(env, "Spec", "an observation is not finite");
  }
  return {};
}

// Observations follow from the compact state by the declared maps.
Result<void> CheckObservationMaps(Env& env) {
  const EnvSpec& spec = env.spec();
  if (spec.observation_maps.empty()) return {};
  for (int64_t e = 0; e < env.batch(); ++e) {
    const float* const state = env.states().data() + e * spec.state_size;
    for (int64_t a = 0; a < spec.num_agents(); ++a) {
      const InputMap map = InputMapOf(spec.observation_maps[static_cast<size_t>(a)]);
      std::vector<float> inputs(static_cast<size_t>(map.inputs()));
      map.Apply(state, inputs.data());
      const float* const shown =
          env.observations().data() + e * spec.observation_size() + spec.observation_offset(a);
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (std::abs(inputs[i] - shown[i]) > 1e-5f * (1 + std::abs(shown[i]))) {
          return Violation(env, "Spec",
                           fmt::format("observation {} of agent {} is {}, but {} by "
                                       "its map",
                                       i, a, shown[i], inputs[i]));
        }
      }
    }
  }
  return {};
}

Result<void> CheckDeterminism(const EnvFactory& make) {
  ThreadPool pool(3);
  struct Setting {
    int64_t batch;
    ThreadPool* pool;
  };
  std::vector<float> expected;
  for (const Setting& setting : {Setting{kBatch, nullptr}, Setting{kBatch, nullptr},
                                 Setting{4 * kBatch, &pool}, Setting{kBatch - 1, nullptr}}) {
    Result<std::unique_ptr<Env>> env = make(setting.batch, setting.pool);
    if (!env) return env.error();
    (*env)->Reset(kSeed);
    Result<std::vector<float>> trace = Play(**env, /*watched=*/3, 0, kSteps);
    if (!trace) return trace.error();
    if (expected.empty()) expected = *trace;
    if (!Same(expected, *trace)) {
      return Violation(**env, "Determinism",
                       fmt::format("a batch of {} shows something else", setting.batch));
    }
    (*env)->Reset(kSeed);
    trace = Play(**env, /*watched=*/3, 0, kSteps);
    if (!trace) return trace.error();
    if (!Same(expected, *trace)) return Violation(**env, "Determinism", "Reset does not restart");
  }
  return {};
}

Result<void> CheckResume(const EnvFactory& make, const std::string& path) {
  Result<std::unique_ptr<Env>> live = make(kBatch, nullptr);
  if (!live) return live.error();
  (*live)->Reset(kSeed);
  if (Result<std::vector<float>> trace = Play(**live, 0, 0, 11); !trace) return trace.error();
  TensorWriter writer;
  (*live)->Save("env.", writer);
  if (Result<void> written = writer.Write(path); !written) return written;
  const Result<std::vector<float>> expected = Play(**live, 1, 11, kSteps);
  if (!expected) return expected.error();
  Result<std::unique_ptr<Env>> resumed = make(kBatch, nullptr);
  if (!resumed) return resumed.error();
  (*resumed)->Reset(kSeed + 1);
  const Result<TensorReader> reader = TensorReader::Open(path);
  if (!reader) return reader.error();
  if (Result<void> loaded = (*resumed)->Load("env.", *reader); !loaded) return loaded;
  const Result<std::vector<float>> trace = Play(**resumed, 1, 11, kSteps);
  if (!trace) return trace.error();
  if (!Same(*expected, *trace)) return Violation(**live, "Resume", "a loaded run differs");
  return {};
}

Result<void> CheckNan(Env& env) {
  std::vector<float> before;
  Record(env, 0, before);
  std::vector<float> actions = ActionsFor(env, 0);
  actions.back() = std::numeric_limits<float>::quiet_NaN();
  if (env.Step(actions).ok()) return Violation(env, "Step", "a NaN action is accepted");
  std::vector<float> after;
  Record(env, 0, after);
  if (!Same(before, after)) return Violation(env, "Step", "it moved in spite of a NaN");
  return {};
}

}  // namespace

Result<void> CheckEnv(const EnvFactory& make, const std::string& scratch_folder) {
  Result<std::unique_ptr<Env>> env = make(kBatch, nullptr);
  if (!env) return env.error();
  (*env)->Reset(kSeed);
  for (const auto& check : {CheckShapes, CheckObservationMaps, CheckNan}) {
    if (Result<void> checked = check(**env); !checked) return checked;
  }
  if (Result<std::vector<float>> trace = Play(**env, 0, 0, 7); !trace) return trace.error();
  for (const auto& check : {CheckShapes, CheckObservationMaps}) {
    if (Result<void> checked = check(**env); !checked) return checked;
  }
  if (Result<void> checked = CheckDeterminism(make); !checked) return checked;
  return CheckResume(make, scratch_folder + "/env_conformance.safetensors");
}

}  // namespace tessera
