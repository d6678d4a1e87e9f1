// Whole small runs, compared bit by bit through their checkpoints.
#include "tessera/rl/learner_conformance.h"

#include <limits>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/rl/trainer.h"

namespace tessera {
namespace {

constexpr uint64_t kSeed = 11;

Error Violation(const LearnerCase& test, std::string_view rule, std::string_view message) {
  return Error{
      .kind = ErrorKind::kInternal,
      .message = fmt::format("algorithm {} violates '{}': {}", test.info->name, rule, message)};
}

// An environment, a learner and the loop around them.
struct Session {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Env> env;
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Trainer> trainer;
};

Result<Session> MakeSession(const LearnerCase& test, const EnvFactory& make_env, int threads) {
  Session session;
  session.pool = std::make_unique<ThreadPool>(threads);
  Result<std::unique_ptr<Env>> env = make_env(test.lanes, session.pool.get());
  if (!env) return env.error();
  session.env = std::move(*env);
  Result<std::unique_ptr<Learner>> learner = MakeLearner(*test.info, test.preset, test.assignments,
                                                         {.spec = &session.env->spec(),
                                                          .lanes = test.lanes,
                                                          .seed = kSeed,
                                                          .pool = session.pool.get()});
  if (!learner) return learner.error();
  session.learner = std::move(*learner);
  session.trainer = std::make_unique<Trainer>(*session.env, *session.learner, nullptr);
  session.trainer->Start(kSeed);
  return session;
}

Result<void> Steps(Session& session, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (Result<void> stepped = session.trainer->Step(); !stepped) return stepped;
  }
  return {};
}

Result<std::string> Snapshot(const Session& session, const std::string& path) {
  TensorWriter writer;
  session.trainer->Save(writer);
  if (Result<void> written = writer.Write(path); !written) return written.error();
  return ReadFile(path);
}

Result<void> CheckNanReward(const LearnerCase& test, Session& session) {
  Env& env = *session.env;
  std::vector<float> rewards(env.rewards().size()),
      actions(static_cast<size_t>(env.batch() * env.spec().action_size()));
  session.learner->Act(env.batch(), env.observations(), ActMode::kExplore, actions);
  rewards.back() = std::numeric_limits<float>::quiet_NaN();
  const Result<void> observed = session.learner->Observe({.observations = env.observations(),
                                                          .states = env.states(),
                                                          .actions = actions,
                                                          .rewards = rewards,
                                                          .next_observations = env.observations(),
                                                          .next_states = env.states(),
                                                          .ends = env.ends()});
  if (observed.ok()) return Violation(test, "Observe", "a NaN reward is accepted");
  return {};
}

}  // namespace

Result<void> CheckLearner(const LearnerCase& test, const EnvFactory& make_env,
                          const std::string& scratch_folder) {
  const std::string path = scratch_folder + "/learner_conformance.safetensors";
  Result<Session> session = MakeSession(test, make_env, /*threads=*/1);
  if (!session) return session.error();
  if (Result<void> run = Steps(*session, test.steps / 2); !run) return run;
  const Result<std::string> half = Snapshot(*session, path + ".half");
  if (!half) return half.error();
  if (Result<void> run = Steps(*session, test.steps - test.steps / 2); !run) return run;
  if (session->trainer->progress().updates == 0) {
    return Violation(test, "Update", "nothing was learned; the test is too short");
  }
  const Result<std::string> expected = Snapshot(*session, path);
  if (!expected) return expected.error();

  Result<Session> threaded = MakeSession(test, make_env, /*threads=*/3);
  if (!threaded) return threaded.error();
  if (Result<void> run = Steps(*threaded, test.steps); !run) return run;
  Result<std::string> got = Snapshot(*threaded, path);
  if (!got) return got.error();
  if (*got != *expected) return Violation(test, "Determinism", "three threads learn other weights");

  Result<Session> resumed = MakeSession(test, make_env, /*threads=*/1);
  if (!resumed) return resumed.error();
  if (Result<void> run = Steps(*resumed, 3); !run) return run;
  const Result<TensorReader> reader = TensorReader::Open(path + ".half");
  if (!reader) return reader.error();
  if (Result<void> loaded = resumed->trainer->Load(*reader); !loaded) return loaded;
  if (Result<void> run = Steps(*resumed, test.steps - test.steps / 2); !run) return run;
  got = Snapshot(*resumed, path);
  if (!got) return got.error();
  if (*got != *expected) return Violation(test, "Resume", "a resumed run learns other weights");
  return CheckNanReward(test, *session);
}

}  // namespace tessera
