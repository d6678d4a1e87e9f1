// Parts of the library that a user writes in Python: searchers, cost models, environments. Each
// kind is registered once under the name `python`; which class it is follows by name, so that runs
// in folders say what they need and data alone runs nobody's code.
#include <deque>
#include <map>
#include <mutex>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "spaces.h"
#include "tessera/cost.h"
#include "tessera/env.h"
#include "tessera/search.h"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;

// By kind and name. Never destroyed: Python is gone when C++ ends.
std::map<std::pair<std::string, std::string>, Part*>& Parts() {
  static auto& parts = *new std::map<std::pair<std::string, std::string>, Part*>();
  return parts;
}
std::mutex& PartsMutex() {
  static auto& mutex = *new std::mutex();
  return mutex;
}

void AddPart(const std::string& kind, const std::string& name, nb::object made_by) {
  const std::lock_guard lock(PartsMutex());
  Part*& part = Parts()[{kind, name}];
  if (part == nullptr) part = new Part{.name = name};
  part->made_by = std::move(made_by);
}

Result<Part*> NeededPart(const std::string& kind, const std::string& name) {
  if (Part* const part = FindPart(kind, name)) return part;
  return Error{.kind = ErrorKind::kUnknownName,
               .message = "this needs the Python class '" + name + "', which is not there",
               .hint = "run it from Python, and hand the class to tessera.register or resume"};
}

// The name is the one setting of methods and environments.
struct NamedOptions {
  std::string name = "";
};
const ParameterList<NamedOptions>& NamedParameters() {
  static const ParameterList<NamedOptions> parameters = {
      {"name", &NamedOptions::name, Choices{}, "the class, as it was registered"}};
  return parameters;
}

// ---- Searchers ---------------------------------------------------------------------------------

// What the user's code gets for every trial.
struct SeenTrial {
  std::vector<int32_t> point;
  nb::object value, reason;
};

class PythonSearcher final : public Searcher {
 public:
  static Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup,
                                                const NamedOptions& options) {
    const Result<Part*> part = NeededPart("method", options.name);
    if (!part) return part.error();
    return std::unique_ptr<Searcher>(std::make_unique<PythonSearcher>(setup, **part));
  }

  PythonSearcher(const SearchSetup& setup, Part& part) : part_(part), space_(setup.space) {
    InPython(part_, [&] {
      *view_ = nb::cast(SpaceView(&setup.space));
      // What every generator of random numbers takes: 31 bits.
      *mine_ = part_.made_by(*view_, (setup.seed ^ setup.seed >> 32) & 0x7fffffff);
    });
  }

  ~PythonSearcher() override {
    nb::gil_scoped_acquire gil;
    nb::cast<SpaceView&>(*view_).Forget();
  }

  std::vector<Point> Propose(int64_t n) override {
    return InPython(part_, [&] {
      std::vector<Point> points;
      const nb::object proposed = (*mine_).attr("propose")(n);
      if (proposed.is_none()) return points;
      for (const nb::handle& point : nb::list(proposed)) {
        if (std::ssize(points) == n) {
          Raise(BadValue("propose(" + std::to_string(n) + ") returned more points than that"));
        }
        const Point at = PointOf(space_, IntegersOf(point));
        Value(space_.Check(at));
        points.push_back(at);
      }
      return points;
    });
  }

  void Observe(std::span<const Trial> trials) override {
    InPython(part_, [&] {
      nb::list seen;
      for (const Trial& trial : trials) {
        const Outcome& outcome = trial.outcome;
        seen.append(SeenTrial{IndicesOf(trial.point),
                              outcome.feasible() ? nb::object(nb::cast(outcome.value)) : nb::none(),
                              outcome.feasible() ? nb::none() : nb::object(nb::cast(outcome.why))});
      }
      (*mine_).attr("observe")(seen);
    });
  }

 private:
  static std::vector<int64_t> IntegersOf(nb::handle point) {
    std::vector<int64_t> indices;
    for (const nb::handle& index : nb::list(nb::borrow(point))) {
      const nb::object whole = nb::steal(PyNumber_Index(index.ptr()));
      if (!whole.is_valid()) throw nb::python_error();
      indices.push_back(nb::cast<int64_t>(whole));
    }
    return indices;
  }

  Part& part_;
  const DecisionSpace& space_;
  Held view_, mine_;
};

// ---- Cost models -------------------------------------------------------------------------------

// A model of one layer on one machine: `evaluate(mapping)`, or `evaluate_batch(mappings)`.
class PythonModel final : public BatchModel {
 public:
  PythonModel(Part& part, const Layer& layer, const Accelerator& accelerator)
      : part_(part), place_(std::make_shared<MappingPlace>(MappingPlace{layer, accelerator})) {
    InPython(part_, [&] {
      *mine_ = part_.made_by(
          layer,
          nb::module_::import_("tessera._machines").attr("Accelerator").attr("_of")(accelerator));
      batched_ = nb::hasattr(*mine_, "evaluate_batch");
    });
  }

  std::vector<Result<Cost>> Evaluate(std::span<const Request> requests,
                                     ThreadPool& /*pool*/) const override {
    return InPython(part_, [&] {
      std::vector<Result<Cost>> costs;
      if (!batched_) {
        for (const Request& request : requests) {
          costs.push_back(
              CostFrom((*mine_).attr("evaluate")(PlacedMapping{request.mapping, place_})));
        }
        return costs;
      }
      MappingBatch batch{.place = place_};
      for (const Request& request : requests) batch.mappings.push_back(request.mapping);
      const nb::object given((*mine_).attr("evaluate_batch")(std::move(batch)));
      if (nb::isinstance<nb::dict>(given)) {
        return FromColumns(nb::borrow<nb::dict>(given), requests.size());
      }
      for (const nb::handle& cost : nb::list(given)) costs.push_back(CostFrom(cost));
      if (costs.size() != requests.size()) {
        Raise(BadValue("evaluate_batch returned " + std::to_string(costs.size()) + " costs for " +
                       std::to_string(requests.size()) + " mappings"));
      }
      return costs;
    });
  }

 private:
  // A column of numbers for every field, as NumPy has them; `feasible` says where there are none.
  static std::vector<Result<Cost>> FromColumns(const nb::dict& columns, size_t rows) {
    for (const auto& [name, column] : columns) {
      if (nb::len(column) == rows) continue;
      Raise(BadValue("evaluate_batch returned " + std::to_string(nb::len(column)) + " values of '" +
                     nb::cast<std::string>(name) + "' for " + std::to_string(rows) + " mappings"));
    }
    std::vector<Result<Cost>> costs;
    for (size_t i = 0; i < rows; ++i) {
      nb::dict row;
      bool feasible = true;
      for (const auto& [name, column] : columns) {
        const nb::object value = column[i];
        if (nb::cast<std::string>(name) == "feasible") {
          feasible = nb::cast<bool>(nb::bool_(value));
        } else {
          row[name] = value;
        }
      }
      costs.push_back(feasible ? CostFrom(row) : CostFrom(nb::none()));
    }
    return costs;
  }

  // Text says what is infeasible; None as well, without saying what.
  static Result<Cost> CostFrom(const nb::handle& value) {
    if (value.is_none()) {
      return Error{.kind = ErrorKind::kInfeasible, .message = "refused by the Python model"};
    }
    if (nb::isinstance<nb::str>(value)) {
      return Error{.kind = ErrorKind::kInfeasible, .message = nb::cast<std::string>(value)};
    }
    return CostOf(value);
  }

  Part& part_;
  std::shared_ptr<const MappingPlace> place_;
  Held mine_;
  bool batched_ = false;
};

class PythonModelChoice final : public ConfiguredModel {
 public:
  explicit PythonModelChoice(std::string name) : name_(std::move(name)) {}

  Result<std::unique_ptr<CostModel>> Make(const Layer& /*layer*/,
                                          const Accelerator& /*accelerator*/) const override {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "models written in Python price by the batch"};
  }

  Result<std::unique_ptr<BatchModel>> MakeBatch(const Layer& layer,
                                                const Accelerator& accelerator) const override {
    const Result<Part*> part = NeededPart("model", name_);
    if (!part) return part.error();
    return std::unique_ptr<BatchModel>(std::make_unique<PythonModel>(**part, layer, accelerator));
  }

 private:
  const std::string name_;
};

Result<std::shared_ptr<const ConfiguredModel>> ConfigurePython(const CostModelInfo& /*info*/,
                                                               const Assignments& /*settings*/,
                                                               const std::string& command) {
  return std::shared_ptr<const ConfiguredModel>(std::make_shared<PythonModelChoice>(command));
}

const CostModelInfo kPythonLoops = {
    .name = "python",
    .summary = "a class written in Python that prices loop nests over a memory hierarchy",
    .form = MappingForm::kLoops,
    .takes_command = true,
    .configure = ConfigurePython};
const CostModelInfo kPythonDataflows = {
    .name = "python-dataflow",
    .summary = "a class written in Python that prices dataflows on a PE array",
    .form = MappingForm::kDataflow,
    .takes_command = true,
    .configure = ConfigurePython};

// ---- Environments ------------------------------------------------------------------------------

template <typename T>
std::span<T> SpanOf(const nb::handle& array) {
  const auto typed = nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(array);
  return {typed.data(), typed.size()};
}

// An adapter of tessera._own_env, whose arrays stay where they are.
class PythonEnv final : public Env {
 public:
  PythonEnv(Part& part, int64_t batch) : part_(part), batch_(batch) {
    InPython(part_, [&] {
      *mine_ = part_.made_by(batch);
      spec_.name = part_.name;
      spec_.horizon = nb::cast<int64_t>((*mine_).attr("horizon"));
      for (const nb::handle& agent : nb::list(nb::object((*mine_).attr("agents")))) {
        const auto [name, observation, kind, size] =
            nb::cast<std::tuple<std::string, int64_t, std::string, int64_t>>(agent);
        spec_.agents.push_back(
            {.name = name,
             .observation_size = observation,
             .action = {.kind = kind == "box" ? ActionKind::kBox : ActionKind::kChoice,
                        .size = size}});
      }
      observations_ = SpanOf<float>((*mine_).attr("observations"));
      rewards_ = SpanOf<float>((*mine_).attr("rewards"));
      ends_ = SpanOf<uint8_t>((*mine_).attr("ends"));
    });
  }

  const EnvSpec& spec() const override { return spec_; }
  int64_t batch() const override { return batch_; }

  void Reset(uint64_t seed) override {
    InPython(part_, [&] { (*mine_).attr("reset")(seed); });
  }
  Result<void> Step(std::span<const float> actions) override {
    InPython(part_, [&] {
      const size_t width = actions.size() / static_cast<size_t>(batch_);
      nb::ndarray<nb::numpy, const float, nb::ndim<2>> array(
          actions.data(), {static_cast<size_t>(batch_), width}, nb::handle());
      (*mine_).attr("step")(array.cast(nb::rv_policy::copy));
    });
    return {};
  }
  void ResetFinished() override {
    InPython(part_, [&] { (*mine_).attr("reset_finished")(); });
  }

  std::span<const float> observations() const override { return observations_; }
  std::span<const float> rewards() const override { return rewards_; }
  std::span<const EpisodeEnd> ends() const override {
    return {reinterpret_cast<const EpisodeEnd*>(ends_.data()), ends_.size()};
  }

  void Save(const std::string& prefix, TensorWriter& writer) const override {
    InPython(part_, [&] {
      const nb::bytes state = nb::bytes(nb::object((*mine_).attr("save")()));
      const auto* const first = reinterpret_cast<const uint8_t*>(state.c_str());
      saved_.assign(first, first + state.size());
    });
    writer.Add(prefix + "python", std::span<const uint8_t>(saved_));
    writer.Add(prefix + "observations", observations());
  }
  Result<void> Load(const std::string& prefix, const TensorReader& reader) override {
    const Result<int64_t> count = reader.Count(prefix + "python");
    if (!count) return count.error();
    std::vector<uint8_t> state(static_cast<size_t>(*count));
    if (Result<void> read = reader.Read(prefix + "python", std::span(state)); !read) return read;
    InPython(part_, [&] { (*mine_).attr("load")(nb::bytes(state.data(), state.size())); });
    return reader.Read(prefix + "observations", observations_);
  }

 private:
  Part& part_;
  const int64_t batch_;
  EnvSpec spec_;
  Held mine_;  // owns the arrays, which it never replaces
  std::span<float> observations_, rewards_;
  std::span<uint8_t> ends_;
  mutable std::vector<uint8_t> saved_;  // lives until the writer has written
};

Result<std::unique_ptr<Env>> MakePythonEnv(const Assignments& assignments, int64_t batch,
                                           ThreadPool* /*pool*/) {
  const Result<NamedOptions> options =
      ReadOptions("environment python", NamedParameters(), assignments);
  if (!options) return options.error();
  const Result<Part*> part = NeededPart("env", options->name);
  if (!part) return part.error();
  return std::unique_ptr<Env>(std::make_unique<PythonEnv>(**part, batch));
}

const EnvInfo kPythonEnv = {.name = "python",
                            .summary = "an environment written in Python",
                            .parameters = [] { return Describe(NamedParameters()); },
                            .make = MakePythonEnv};

}  // namespace

Part* FindPart(const std::string& kind, const std::string& name) {
  const std::lock_guard lock(PartsMutex());
  const auto found = Parts().find({kind, name});
  return found == Parts().end() ? nullptr : found->second;
}

void BindParts(nb::module_& module) {
  nb::class_<SeenTrial>(module, "Trial", "A point with what it cost.")
      .def_ro("point", &SeenTrial::point, "The index of the chosen value of every decision.")
      .def_prop_ro(
          "value", [](const SeenTrial& t) { return t.value; },
          nb::sig("def value(self) -> float | None"),
          "The objective, or None if the point is infeasible.")
      .def_prop_ro(
          "reason", [](const SeenTrial& t) { return t.reason; },
          nb::sig("def reason(self) -> str | None"), "Why it is infeasible, or None.");
  module.def("add_part", &AddPart, "kind"_a, "name"_a, "made_by"_a);
  Value(RegisterMethod(DeclareMethod<PythonSearcher, NamedOptions>(
      {.name = "python", .summary = "a searcher written in Python"}, NamedParameters())));
  Value(RegisterCostModel(kPythonLoops));
  Value(RegisterCostModel(kPythonDataflows));
  Value(RegisterEnv(kPythonEnv));
}

}  // namespace tessera::python
