// Batches of environments: arrays that Python sees without a copy, steps in C++.
#include <cstring>
#include <mutex>
#include <optional>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "support.h"
#include "tessera/cooptimize.h"
#include "tessera/env.h"
#include "tessera/env/mpe/mpe_env.h"
#include "tessera/part.h"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;
using Choices = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// An environment of the library. One thread at a time: a second one gets an exception.
class BatchEnv {
 public:
  BatchEnv(const std::string& name, const Assignments& settings, int64_t batch, int threads) {
    if (batch < 1 || batch > kMostWorlds) Raise(BadValue("a batch has 1 to 1048576 worlds"));
    if (threads < 0) Raise(BadValue("threads must not be negative"));
    if (threads != 1) pool_ = std::make_unique<ThreadPool>(threads);
    const EnvInfo* const info = Value(FindEnv(name));
    env_ = Value([&] {
      nb::gil_scoped_release release;
      return info->make(settings, batch, pool_.get());
    }());
    actions_.resize(static_cast<size_t>(batch * env_->spec().action_size()));
  }

  const EnvSpec& spec() const { return env_->spec(); }
  int64_t batch() const { return env_->batch(); }

  void Reset(uint64_t seed) {
    const Lock lock(*this);
    seed_ = seed;
    restarts_ = 0;
    nb::gil_scoped_release release;
    env_->Reset(seed);
  }

  // Begins anew everywhere, drawing on.
  void Restart() {
    const Lock lock(*this);
    if (MpeEnv* const worlds = mpe()) {
      worlds->Restart();
    } else {
      env_->Reset(++restarts_ + seed_);
    }
  }

  void ResetFinished() {
    const Lock lock(*this);
    nb::gil_scoped_release release;
    env_->ResetFinished();
  }

  // Actions as the library has them: agent after agent.
  void Step(const Numbers& actions) {
    const Lock lock(*this);
    CheckShape(actions.shape(0), actions.shape(1), spec().action_size());
    std::memcpy(actions_.data(), actions.data(), actions_.size() * sizeof(float));
    Take();
  }

  // A choice of every agent; each must be one that the agent has.
  void StepChoices(const Choices& choices) {
    const Lock lock(*this);
    const int64_t agents = spec().num_agents();
    CheckShape(choices.shape(0), choices.shape(1), agents);
    std::fill(actions_.begin(), actions_.end(), 0.0f);
    float* out = actions_.data();
    const int64_t* in = choices.data();
    for (int64_t e = 0; e < batch(); ++e) {
      for (const AgentSpec& agent : spec().agents) {
        const int64_t choice = *in++;
        if (choice < 0 || choice >= agent.action.size) {
          Raise(BadValue("agent " + agent.name + " of world " + std::to_string(e) +
                         " has no action " + std::to_string(choice) + "; it has 0.." +
                         std::to_string(agent.action.size - 1)));
        }
        if (agent.action.kind == ActionKind::kChoice) {
          *out++ = static_cast<float>(choice);
        } else {
          out[choice] = 1;
          out += agent.action.size;
        }
      }
    }
    Take();
  }

  std::span<const float> observations() const { return env_->observations(); }
  std::span<const float> states() const { return env_->states(); }
  std::span<const float> rewards() const { return env_->rewards(); }
  std::span<const EpisodeEnd> ends() const { return env_->ends(); }

  // Rewards of a world with all their digits, where the environment has them; `exp` is NumPy's.
  std::vector<double> ExactRewards(int64_t world, nb::object exp) {
    CheckWorld(world);
    const int64_t agents = spec().num_agents();
    if (MpeEnv* const worlds = mpe()) {
      std::vector<double> all(static_cast<size_t>(worlds->world().agents()));
      WriteRewards(worlds->world(), worlds->world_state(world), all,
                   [&](double x) { return nb::cast<double>(exp(x)); });
      all.resize(static_cast<size_t>(agents));
      return all;
    }
    const std::span<const float> row =
        rewards().subspan(static_cast<size_t>(world * agents), static_cast<size_t>(agents));
    return {row.begin(), row.end()};
  }

  // Positions of a particle world: x and y, radius, and 0 predator, 1 prey or agent, 2 landmark.
  std::vector<std::vector<double>> Entities(int64_t world) {
    CheckWorld(world);
    MpeEnv* const worlds = mpe();
    if (worlds == nullptr) return {};
    const MpeWorld& rules = worlds->world();
    const MpeState state = worlds->world_state(world);
    std::vector<std::vector<double>> entities;
    for (int64_t l = 0; l < rules.landmarks; ++l) {
      entities.push_back(
          {state.landmarks[2 * l], state.landmarks[2 * l + 1], rules.landmark_size(), 2});
    }
    const bool tag = rules.scenario == MpeScenario::kPredatorPrey;
    for (int64_t a = 0; a < rules.agents(); ++a) {
      entities.push_back({state.positions[2 * a], state.positions[2 * a + 1], rules.size(a),
                          tag && rules.is_predator(a) ? 0.0 : 1.0});
    }
    return entities;
  }

 private:
  static constexpr int64_t kMostWorlds = 1 << 20;

  // The environment for one call.
  class Lock {
   public:
    explicit Lock(BatchEnv& env) : lock_(env.mutex_, std::try_to_lock) {
      if (!lock_.owns_lock()) {
        Raise({.kind = ErrorKind::kUsage,
               .message = "another thread is stepping this environment",
               .hint = "give every thread one of its own"});
      }
    }

   private:
    std::unique_lock<std::mutex> lock_;
  };

  MpeEnv* mpe() { return dynamic_cast<MpeEnv*>(env_.get()); }

  void CheckWorld(int64_t world) const {
    if (world < 0 || world >= batch()) {
      Raise(BadValue("there is no world " + std::to_string(world)));
    }
  }

  void CheckShape(size_t rows, size_t columns, int64_t width) const {
    if (static_cast<int64_t>(rows) == batch() && static_cast<int64_t>(columns) == width) return;
    Raise(BadValue("actions have the shape (" + std::to_string(rows) + ", " +
                   std::to_string(columns) + "), but must have (" + std::to_string(batch()) + ", " +
                   std::to_string(width) + ")"));
  }

  void Take() {
    Value([&] {
      nb::gil_scoped_release release;
      return env_->Step(actions_);
    }());
  }

  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Env> env_;
  std::vector<float> actions_;
  uint64_t seed_ = 0, restarts_ = 0;
  std::mutex mutex_;
};

// A view of memory that `self` owns; Python may not write to it.
template <typename T>
nb::object ViewOf(nb::handle self, std::span<const T> values, int64_t rows) {
  const size_t columns = values.empty() ? 0 : values.size() / static_cast<size_t>(rows);
  return nb::ndarray<nb::numpy, const T, nb::ndim<2>>(values.data(),
                                                      {static_cast<size_t>(rows), columns}, self)
      .cast();
}

nb::list AgentsOf(const BatchEnv& env) {
  static constexpr const char* kKinds[] = {"choice", "soft_choice", "box"};
  nb::list agents;
  for (const AgentSpec& agent : env.spec().agents) {
    agents.append(nb::make_tuple(agent.name, agent.observation_size,
                                 kKinds[static_cast<size_t>(agent.action.kind)],
                                 agent.action.size));
  }
  return agents;
}

nb::list EnvList() {
  nb::list envs;
  for (const EnvInfo* info : Envs()) {
    nb::dict described;
    described["name"] = std::string(info->name);
    described["summary"] = std::string(info->summary);
    nb::list parameters;
    for (const ParameterInfo& parameter : info->parameters()) {
      nb::dict one;
      one["name"] = parameter.name;
      one["type"] = std::string(TypeName(parameter));
      one["default"] = ToString(parameter.fallback);
      one["range"] = RangeText(parameter);
      one["text"] = parameter.text;
      parameters.append(one);
    }
    described["parameters"] = parameters;
    envs.append(described);
  }
  return envs;
}

}  // namespace

void BindEnvs(nb::module_& module) {
  Value(coopt::RegisterCooptimizeEnv());
  nb::class_<BatchEnv>(module, "BatchEnv",
                       "Equal worlds that step together; its arrays are views without a copy.")
      .def(nb::init<const std::string&, const Assignments&, int64_t, int>(), "name"_a, "settings"_a,
           "batch"_a, "threads"_a)
      .def_prop_ro("name", [](const BatchEnv& e) { return e.spec().name; })
      .def_prop_ro("batch", &BatchEnv::batch)
      .def_prop_ro("horizon", [](const BatchEnv& e) { return e.spec().horizon; })
      .def_prop_ro("agents", &AgentsOf,
                   nb::sig("def agents(self) -> list[tuple[str, int, str, int]]"),
                   "Name, observation size, kind of action and its size of every agent.")
      .def("reset", &BatchEnv::Reset, "seed"_a)
      .def("restart", &BatchEnv::Restart)
      .def("reset_finished", &BatchEnv::ResetFinished)
      .def("step", &BatchEnv::Step, "actions"_a)
      .def("step_choices", &BatchEnv::StepChoices, "choices"_a)
      .def("exact_rewards", &BatchEnv::ExactRewards, "world"_a, "exp"_a)
      .def("entities", &BatchEnv::Entities, "world"_a)
      .def_prop_ro(
          "observations",
          [](nb::handle self) {
            const BatchEnv& env = nb::cast<const BatchEnv&>(self);
            return ViewOf(self, env.observations(), env.batch());
          },
          nb::sig("def observations(self) -> numpy.typing.NDArray[numpy.float32]"))
      .def_prop_ro(
          "states",
          [](nb::handle self) {
            const BatchEnv& env = nb::cast<const BatchEnv&>(self);
            return ViewOf(self, env.states(), env.batch());
          },
          nb::sig("def states(self) -> numpy.typing.NDArray[numpy.float32]"))
      .def_prop_ro(
          "rewards",
          [](nb::handle self) {
            const BatchEnv& env = nb::cast<const BatchEnv&>(self);
            return ViewOf(self, env.rewards(), env.batch());
          },
          nb::sig("def rewards(self) -> numpy.typing.NDArray[numpy.float32]"))
      .def_prop_ro(
          "ends",
          [](nb::handle self) {
            const BatchEnv& env = nb::cast<const BatchEnv&>(self);
            const std::span<const EpisodeEnd> ends = env.ends();
            return ViewOf(self,
                          std::span(reinterpret_cast<const uint8_t*>(ends.data()), ends.size()),
                          env.batch());
          },
          nb::sig("def ends(self) -> numpy.typing.NDArray[numpy.uint8]"));
  module.def("envs", &EnvList, nb::sig("def envs() -> list[dict[str, typing.Any]]"),
             "All environments with their settings.");
}

}  // namespace tessera::python
