// Decision spaces, mappings and what they cost, one by one and in batches.
#include "spaces.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tessera/cost.h"
#include "tessera/part.h"

namespace tessera::python {

using nb::literals::operator""_a;

const DecisionSpace& SpaceView::space() const {
  if (space_ == nullptr) {
    Raise({.kind = ErrorKind::kUsage,
           .message = "this space belongs to a search that has ended",
           .hint = "make one of your own with tessera.Space"});
  }
  return *space_;
}

Point PointOf(const DecisionSpace& space, const std::vector<int64_t>& indices) {
  if (indices.size() != space.size()) {
    Raise(BadValue("a point of this space has " + std::to_string(space.size()) + " indices, not " +
                   std::to_string(indices.size())));
  }
  Point point(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) {
    const Decision& decision = space.decisions()[i];
    if (indices[i] < 0 || indices[i] >= decision.size()) {
      Raise(BadValue("decision '" + decision.name() + "' has no value " +
                     std::to_string(indices[i]) + "; its values are 0.." +
                     std::to_string(decision.size() - 1)));
    }
    point[i] = static_cast<int32_t>(indices[i]);
  }
  return point;
}

std::vector<int32_t> IndicesOf(const Point& point) {
  return {point.indices().begin(), point.indices().end()};
}

namespace {

double NumberOf(const nb::handle& value, const char* key) {
  const double number = nb::cast<double>(value);
  if (!std::isfinite(number)) {
    Raise(BadValue(std::string("the cost's '") + key + "' is not a finite number"));
  }
  return number;
}

}  // namespace

Cost CostOf(const nb::handle& value) {
  if (nb::isinstance<Cost>(value)) return nb::cast<Cost>(value);
  if (!nb::isinstance<nb::dict>(value)) {
    Raise(BadValue("a cost model returns a Cost, a dict, or text that says what is infeasible"));
  }
  Cost cost;
  for (const auto& [name, number] : nb::borrow<nb::dict>(value)) {
    const std::string key = nb::cast<std::string>(name);
    if (key == "cycles") {
      const double cycles = NumberOf(number, "cycles");
      if (cycles < 0 || cycles > 9e18) Raise(BadValue("the cost's 'cycles' are out of range"));
      cost.cycles = std::llround(cycles);
    } else if (key == "energy_pj") {
      cost.energy_pj = NumberOf(number, "energy_pj");
    } else if (key == "power_mw") {
      cost.power_mw = NumberOf(number, "power_mw");
    } else if (key == "area_um2") {
      cost.area_um2 = NumberOf(number, "area_um2");
    } else if (key == "utilization") {
      cost.utilization = NumberOf(number, "utilization");
    } else {
      Raise({.kind = ErrorKind::kUnknownName,
             .message = "a cost has no field '" + key + "'",
             .hint = "cycles, energy_pj, power_mw, area_um2 and utilization"});
    }
  }
  return cost;
}

namespace {

constexpr int64_t kRedraws = 64;  // of random points until one is legal, as searches do

// ---- Spaces ------------------------------------------------------------------------------------

nb::list DecisionsOf(const DecisionSpace& space) {
  static constexpr const char* kKinds[] = {"ordinal", "categorical", "permutation"};
  nb::list decisions;
  for (const Decision& decision : space.decisions()) {
    nb::dict described;
    described["name"] = decision.name();
    described["kind"] = kKinds[static_cast<size_t>(decision.kind())];
    described["size"] = decision.size();
    decisions.append(described);
  }
  return decisions;
}

// Any whole number is a seed, as users compute them; 64 bits of it count.
uint64_t SeedOf(const nb::int_& seed) {
  const uint64_t bits = PyLong_AsUnsignedLongLongMask(seed.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return bits;
}

std::vector<int32_t> SampleOf(const DecisionSpace& space, const nb::int_& seed) {
  CounterRng rng(SeedOf(seed), StreamId("python.sample"));
  return IndicesOf(space.Sample(rng, kRedraws));
}

std::vector<int32_t> NeighborOf(const DecisionSpace& space, const std::vector<int64_t>& point,
                                const nb::int_& seed) {
  const Point at = PointOf(space, point);
  Value(space.Check(at));
  CounterRng rng(SeedOf(seed), StreamId("python.neighbor"));
  return IndicesOf(space.Neighbor(at, rng));
}

std::vector<int32_t> RepairedOf(const DecisionSpace& space, const std::vector<int64_t>& point) {
  Point at = PointOf(space, point);
  space.Repair(at);
  return IndicesOf(at);
}

std::string LabelOf(const DecisionSpace& space, int64_t decision, int64_t index) {
  if (decision < 0 || decision >= static_cast<int64_t>(space.size())) {
    Raise(BadValue("there is no decision " + std::to_string(decision)));
  }
  const Decision& found = space.decisions()[static_cast<size_t>(decision)];
  if (index < 0 || index >= found.size()) {
    Raise(BadValue("decision '" + found.name() + "' has no value " + std::to_string(index)));
  }
  return found.Label(static_cast<int32_t>(index));
}

// What spaces of either owner offer.
template <typename T, typename Class, typename SpaceOf>
void DefineSpace(Class& bound, SpaceOf of) {
  bound.def("__len__", [of](const T& s) { return of(s).size(); })
      .def_prop_ro(
          "decisions", [of](const T& s) { return DecisionsOf(of(s)); },
          "Name, kind and number of values of every decision.")
      .def_prop_ro(
          "sizes",
          [of](const T& s) {
            std::vector<int64_t> sizes;
            for (const Decision& d : of(s).decisions()) sizes.push_back(d.size());
            return sizes;
          },
          "Number of values of every decision.")
      .def_prop_ro(
          "log10_size", [of](const T& s) { return of(s).Log10Size(); },
          "log10 of the number of legal points.")
      .def(
          "sample", [of](const T& s, const nb::int_& seed) { return SampleOf(of(s), seed); },
          "seed"_a,
          "A random legal point: a list with the index of the chosen value of every decision.")
      .def(
          "neighbor",
          [of](const T& s, const std::vector<int64_t>& point, const nb::int_& seed) {
            return NeighborOf(of(s), point, seed);
          },
          "point"_a, "seed"_a, "A legal point one step away.")
      .def(
          "repair",
          [of](const T& s, const std::vector<int64_t>& point) { return RepairedOf(of(s), point); },
          "point"_a, "A legal point that differs as little as the space can arrange.")
      .def(
          "check",
          [of](const T& s, const std::vector<int64_t>& point) {
            Value(of(s).Check(PointOf(of(s), point)));
          },
          "point"_a, "Raises what is wrong with a point.")
      .def(
          "label",
          [of](const T& s, int64_t decision, int64_t index) {
            return LabelOf(of(s), decision, index);
          },
          "decision"_a, "index"_a, "What a value of a decision is called: '64', 'K C Y X'.")
      .def(
          "describe",
          [of](const T& s, const std::vector<int64_t>& point) {
            return of(s).Describe(PointOf(of(s), point));
          },
          "point"_a, "The decisions of a point by name.");
}

// The problem of one layer: its space and what points cost.
struct OwnSpace {
  std::shared_ptr<const MappingPlace> place;
  std::shared_ptr<const MappingProblem> problem;
  CostModelChoice model;
};

void MakeSpace(OwnSpace* at, const Layer& layer, const Accelerator& accelerator,
               const std::optional<std::string>& model, const std::string& objective,
               const std::vector<std::pair<std::string, std::string>>& settings,
               const std::string& sizes, bool decide_pes, bool bypass,
               const std::vector<std::string>& constraints, const std::string& dataflow) {
  MapSettings map;
  map.objective = Value(FindObjective(objective));
  map.model = model ? Value(ChooseCostModel(*model, settings))
                    : Value(CostModelChoice::Make(DefaultCostModel(accelerator), settings));
  map.sizes = Value(FindName<TileSizes>("tile sizes", sizes, kTileSizesNames));
  map.decide_pes = decide_pes;
  map.bypass = bypass;
  map.constraints = constraints;
  map.dataflow = dataflow;
  const Network one = Value(MakeNetwork("layer", {{.name = "layer", .layer = layer}}));
  const MapJob job = Value(MakeMapJob(map, one, accelerator));
  std::shared_ptr<const MappingProblem> problem =
      Value(MappingProblem::Make(layer, accelerator, map.model, job.problem));
  new (at) OwnSpace{std::make_shared<MappingPlace>(MappingPlace{layer, accelerator}),
                    std::move(problem), map.model};
}

using Points = nb::ndarray<const int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

std::vector<Point> PointsOf(const DecisionSpace& space, const Points& array) {
  if (array.shape(1) != space.size()) {
    Raise(BadValue("points of this space have " + std::to_string(space.size()) + " columns, not " +
                   std::to_string(array.shape(1))));
  }
  std::vector<Point> points;
  points.reserve(array.shape(0));
  const int32_t* at = array.data();
  for (size_t i = 0; i < array.shape(0); ++i, at += array.shape(1)) {
    points.emplace_back(std::span(at, array.shape(1)));
  }
  return points;
}

nb::dict EvaluatePoints(const OwnSpace& space, const Points& array, int threads) {
  if (threads < 0) Raise(BadValue("threads must not be negative"));
  const std::vector<Point> points = PointsOf(space.problem->space(), array);
  std::vector<Trial> trials(points.size());
  {
    nb::gil_scoped_release release;
    for (size_t i = 0; i < points.size(); ++i) trials[i].point = points[i];
    ThreadPool pool(threads);
    if (!space.problem->EvaluateBatch(trials, pool)) {
      std::vector<std::unique_ptr<Problem::Workspace>> workspaces;
      for (int i = 0; i < pool.threads(); ++i) {
        workspaces.push_back(space.problem->MakeWorkspace());
      }
      pool.ParallelFor(std::ssize(trials), 64, [&](int64_t begin, int64_t end, int worker) {
        for (int64_t i = begin; i < end; ++i) {
          Trial& trial = trials[static_cast<size_t>(i)];
          trial.outcome =
              space.problem->Evaluate(trial.point, *workspaces[static_cast<size_t>(worker)]);
        }
      });
    }
  }
  std::vector<double> value, cycles, energy, power, area;
  std::vector<uint8_t> feasible;
  nb::list reasons;
  for (const Trial& trial : trials) {
    const Outcome& outcome = trial.outcome;
    feasible.push_back(outcome.feasible());
    value.push_back(outcome.feasible() ? outcome.value : std::numeric_limits<double>::quiet_NaN());
    cycles.push_back(outcome.cycles);
    energy.push_back(outcome.energy_pj);
    power.push_back(outcome.power_mw);
    area.push_back(outcome.area_um2);
    reasons.append(outcome.feasible() ? nb::none() : nb::object(nb::cast(outcome.why)));
  }
  nb::dict all;
  all["feasible"] = ArrayOf(std::move(feasible));
  all["value"] = ArrayOf(std::move(value));
  all["cycles"] = ArrayOf(std::move(cycles));
  all["energy_pj"] = ArrayOf(std::move(energy));
  all["power_mw"] = ArrayOf(std::move(power));
  all["area_um2"] = ArrayOf(std::move(area));
  all["reason"] = reasons;
  return all;
}

MappingBatch DecodePoints(const OwnSpace& space, const Points& array) {
  const std::vector<Point> points = PointsOf(space.problem->space(), array);
  MappingBatch batch{.place = space.place};
  batch.mappings.reserve(points.size());
  for (const Point& point : points) {
    Value(space.problem->space().Check(point));
    batch.mappings.push_back(space.problem->space().Decode(point));
  }
  return batch;
}

// ---- Costs -------------------------------------------------------------------------------------

// Columns of many costs.
nb::dict ColumnsOf(const std::vector<Cost>& costs) {
  const size_t count = costs.size();
  std::vector<int64_t> cycles(count), macs(count);
  std::vector<double> energy(count), edp(count), power(count), area(count), utilization(count);
  std::vector<uint8_t> feasible(count);
  for (size_t i = 0; i < count; ++i) {
    const Cost& cost = costs[i];
    feasible[i] = cost.feasible();
    cycles[i] = cost.cycles;
    macs[i] = cost.macs;
    energy[i] = cost.energy_pj;
    edp[i] = cost.edp();
    power[i] = cost.power_mw;
    area[i] = cost.area_um2;
    utilization[i] = cost.utilization;
  }
  nb::dict columns;
  columns["feasible"] = ArrayOf(std::move(feasible));
  columns["cycles"] = ArrayOf(std::move(cycles));
  columns["macs"] = ArrayOf(std::move(macs));
  columns["energy_pj"] = ArrayOf(std::move(energy));
  columns["edp"] = ArrayOf(std::move(edp));
  columns["power_mw"] = ArrayOf(std::move(power));
  columns["area_um2"] = ArrayOf(std::move(area));
  columns["utilization"] = ArrayOf(std::move(utilization));
  return columns;
}

CostModelChoice ChoiceOf(const std::optional<std::string>& model, const Accelerator& accelerator,
                         const std::vector<std::pair<std::string, std::string>>& settings) {
  return model ? Value(ChooseCostModel(*model, settings))
               : Value(CostModelChoice::Make(DefaultCostModel(accelerator), settings));
}

nb::dict EvaluateMappings(const MappingBatch& batch, const std::optional<std::string>& model,
                          const std::vector<std::pair<std::string, std::string>>& settings,
                          int threads) {
  if (threads < 0) Raise(BadValue("threads must not be negative"));
  const MappingPlace& place = *batch.place;
  const CostModelChoice choice = ChoiceOf(model, place.accelerator, settings);
  for (const Mapping& mapping : batch.mappings) {
    if (FormOf(mapping) != choice.info().form) {
      Raise(BadValue("model '" + choice.ToString() + "' does not price such mappings"));
    }
  }
  const std::unique_ptr<CostModel> made = Value(choice->Make(place.layer, place.accelerator));
  std::vector<Cost> costs(batch.mappings.size());
  {
    nb::gil_scoped_release release;
    ThreadPool pool(threads);
    BatchEvaluator(*made, pool).EvaluateBatch(batch.mappings, costs);
  }
  return ColumnsOf(costs);
}

// Evaluations per second of the batch on one thread, without Python: the yardstick of benchmarks.
double BatchRate(const MappingBatch& batch, const std::optional<std::string>& model,
                 const std::vector<std::pair<std::string, std::string>>& settings, double seconds) {
  using Clock = std::chrono::steady_clock;
  const MappingPlace& place = *batch.place;
  const CostModelChoice choice = ChoiceOf(model, place.accelerator, settings);
  const std::unique_ptr<CostModel> made = Value(choice->Make(place.layer, place.accelerator));
  nb::gil_scoped_release release;
  ThreadPool pool(1);
  BatchEvaluator evaluator(*made, pool);
  std::vector<Cost> costs(batch.mappings.size());
  int64_t count = 0;
  double taken = 0;
  const auto start = Clock::now();
  do {
    evaluator.EvaluateBatch(batch.mappings, costs);
    count += std::ssize(costs);
    taken = std::chrono::duration<double>(Clock::now() - start).count();
  } while (taken < seconds);
  return static_cast<double>(count) / taken;
}

// ---- Mappings ----------------------------------------------------------------------------------

std::string JsonOf(const PlacedMapping& m) {
  return Value(MappingJson(m.place->layer, m.place->accelerator, m.mapping));
}

std::vector<std::pair<std::string, std::string>> FilesOf(const PlacedMapping& m,
                                                         const std::string& stem) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const ExportedFile& file :
       Value(ExportMapping(stem, m.place->layer, m.place->accelerator, m.mapping))) {
    files.emplace_back(file.name, file.contents);
  }
  return files;
}

// Factors of loop mappings as [mappings x levels x dimensions].
nb::object FactorsOf(const MappingBatch& batch, bool spatial) {
  const LoopProblem problem = Value(MakeLoopProblem(batch.place->layer));
  const size_t dims = static_cast<size_t>(problem.num_dimensions);
  const size_t levels =
      batch.place->accelerator.hierarchy ? batch.place->accelerator.hierarchy->levels.size() : 0;
  auto* const kept = new std::vector<int32_t>();
  nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<int32_t>*>(at); });
  kept->reserve(batch.mappings.size() * levels * dims);
  for (const Mapping& mapping : batch.mappings) {
    const LoopMapping* const loops = std::get_if<LoopMapping>(&mapping);
    if (loops == nullptr) Raise(BadValue("only mappings of loops have factors"));
    for (size_t level = 0; level < levels; ++level) {
      for (size_t d = 0; d < dims; ++d) {
        const auto& factors =
            spatial ? loops->levels[level].spatial : loops->levels[level].temporal;
        const int64_t bound = problem.dimensions[d].bound;
        kept->push_back(factors[d] == 0 ? static_cast<int32_t>(bound) : factors[d]);
      }
    }
  }
  return nb::ndarray<nb::numpy, int32_t>(kept->data(), {batch.mappings.size(), levels, dims}, owner)
      .cast();
}

std::vector<std::pair<std::string, int64_t>> LoopsOf(const MappingBatch& batch) {
  const LoopProblem problem = Value(MakeLoopProblem(batch.place->layer));
  std::vector<std::pair<std::string, int64_t>> loops;
  for (const LoopDimension& d : problem.dims()) {
    loops.emplace_back(std::string(d.name.view()), d.bound);
  }
  return loops;
}

nb::object DictOf(const PlacedMapping& m) {
  return nb::module_::import_("json").attr("loads")(JsonOf(m));
}

// Keywords are keys of the JSON form.
PlacedMapping Replaced(const PlacedMapping& m, const nb::kwargs& changes) {
  const nb::object changed = DictOf(m);
  for (const auto& [key, value] : changes) {
    if (!nb::cast<bool>(changed.attr("__contains__")(key))) {
      Raise({.kind = ErrorKind::kUnknownName,
             .message = "a mapping has no '" + nb::cast<std::string>(key) + "'",
             .hint = "its keys are those of to_dict()"});
    }
    changed[key] = value;
  }
  const std::string text =
      nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(changed));
  return {Value(ParseMappingJson(text, "", m.place->layer, m.place->accelerator)), m.place};
}

void BindMapping(nb::module_& module) {
  nb::class_<PlacedMapping>(module, "Mapping",
                            "A mapping of a layer on a machine; to_dict() is its JSON form.")
      .def_static(
          "parse",
          [](const std::string& text, const Layer& layer, const Accelerator& accelerator) {
            auto place = std::make_shared<MappingPlace>(MappingPlace{layer, accelerator});
            return PlacedMapping{Value(ParseMappingJson(text, "", layer, accelerator)), place};
          },
          "text"_a, "layer"_a, "accelerator"_a, "Reads the JSON form.")
      .def_prop_ro("json", &JsonOf, "The JSON form on one line.")
      .def("to_dict", &DictOf, nb::sig("def to_dict(self) -> dict[str, typing.Any]"),
           "The JSON form, as a result's `layers[i][\"mapping\"]` has it.")
      .def("replace", &Replaced, nb::sig("def replace(self, **changes: typing.Any) -> Mapping"),
           "Another mapping with other values of some keys of to_dict(): replace(levels=...).")
      .def_prop_ro("layer", [](const PlacedMapping& m) { return m.place->layer; })
      .def_prop_ro("form",
                   [](const PlacedMapping& m) {
                     return FormOf(m.mapping) == MappingForm::kLoops ? "loops" : "dataflow";
                   })
      .def("files", &FilesOf, "stem"_a,
           "The mapping in every format: names that begin with `stem`, and contents.")
      .def("__eq__",
           [](const PlacedMapping& a, const PlacedMapping& b) { return a.mapping == b.mapping; });
  nb::class_<MappingBatch>(module, "MappingBatch", "Many mappings of one layer on one machine.")
      .def_static(
          "of",
          [](const std::vector<PlacedMapping>& mappings) {
            if (mappings.empty()) Raise(BadValue("no mappings"));
            MappingBatch batch{.place = mappings.front().place};
            for (const PlacedMapping& m : mappings) {
              if (m.place->layer != batch.place->layer ||
                  m.place->accelerator != batch.place->accelerator) {
                Raise(BadValue("mappings of a batch are for one layer and one accelerator"));
              }
              batch.mappings.push_back(m.mapping);
            }
            return batch;
          },
          "mappings"_a)
      .def("__len__", [](const MappingBatch& b) { return b.mappings.size(); })
      .def("__getitem__",
           [](const MappingBatch& b, int64_t i) {
             const int64_t size = std::ssize(b.mappings);
             if (i < -size || i >= size) throw nb::index_error("no such mapping");
             return PlacedMapping{b.mappings[static_cast<size_t>(i < 0 ? i + size : i)], b.place};
           })
      .def_prop_ro("loops", &LoopsOf, "Names and bounds of the loops.")
      .def_prop_ro(
          "temporal", [](const MappingBatch& b) { return FactorsOf(b, false); },
          "Factors of the loops, [mappings, levels, loops]; levels[0] is next to the MACs.")
      .def_prop_ro(
          "spatial", [](const MappingBatch& b) { return FactorsOf(b, true); },
          "Factors of the parallel loops, [mappings, levels, loops].");
  nb::class_<Cost>(module, "Cost", "What a mapping costs.")
      .def(
          "__init__",
          [](Cost* at, double cycles, double energy_pj, double power_mw, double area_um2,
             double utilization) {
            nb::dict fields;
            fields["cycles"] = cycles;
            fields["energy_pj"] = energy_pj;
            fields["power_mw"] = power_mw;
            fields["area_um2"] = area_um2;
            fields["utilization"] = utilization;
            new (at) Cost(CostOf(fields));
          },
          nb::kw_only(), "cycles"_a, "energy_pj"_a = 0.0, "power_mw"_a = 0.0, "area_um2"_a = 0.0,
          "utilization"_a = 0.0)
      .def_ro("cycles", &Cost::cycles)
      .def_ro("energy_pj", &Cost::energy_pj)
      .def_ro("power_mw", &Cost::power_mw)
      .def_ro("area_um2", &Cost::area_um2)
      .def_ro("utilization", &Cost::utilization)
      .def_prop_ro("edp", &Cost::edp);
}

}  // namespace

void BindMappings(nb::module_& module) {
  BindMapping(module);
  auto view = nb::class_<SpaceView>(module, "SearchSpace",
                                    "The space that a searcher of yours searches, while it does.");
  DefineSpace<SpaceView>(view,
                         [](const SpaceView& v) -> const DecisionSpace& { return v.space(); });
  auto own = nb::class_<OwnSpace>(module, "SpaceValue",
                                  "The mappings of one layer on one machine as a decision space.");
  DefineSpace<OwnSpace>(
      own, [](const OwnSpace& s) -> const DecisionSpace& { return s.problem->space(); });
  own.def("__init__", &MakeSpace, "layer"_a, "accelerator"_a, "model"_a.none(), "objective"_a,
          "settings"_a, "sizes"_a, "decide_pes"_a, "bypass"_a, "constraints"_a, "dataflow"_a)
      .def("evaluate", &EvaluatePoints, "points"_a, "threads"_a,
           nb::sig("def evaluate(self, points: numpy.typing.NDArray[numpy.int32], threads: int) -> "
                   "dict[str, typing.Any]"))
      .def("decode_batch", &DecodePoints, "points"_a,
           nb::sig("def decode_batch(self, points: numpy.typing.NDArray[numpy.int32]) -> "
                   "MappingBatch"))
      .def(
          "decode",
          [](const OwnSpace& s, const std::vector<int64_t>& indices) {
            const Point point = PointOf(s.problem->space(), indices);
            Value(s.problem->space().Check(point));
            return PlacedMapping{s.problem->space().Decode(point), s.place};
          },
          "point"_a, "The mapping at a legal point.")
      .def(
          "encode",
          [](const OwnSpace& s, const PlacedMapping& m) {
            return IndicesOf(Value(s.problem->space().Encode(m.mapping)));
          },
          "mapping"_a, "The point of a mapping.")
      .def_prop_ro("model", [](const OwnSpace& s) { return s.model.ToString(); });
  module.def("batch_rate", &BatchRate, "batch"_a, "model"_a.none(), "settings"_a, "seconds"_a,
             "Evaluations per second of a batch in C++, for benchmarks.");
  module.def("evaluate_mappings", &EvaluateMappings, "batch"_a, "model"_a.none(), "settings"_a,
             "threads"_a,
             nb::sig("def evaluate_mappings(batch: MappingBatch, model: str | None, settings: "
                     "list[tuple[str, str]], threads: int) -> dict[str, typing.Any]"));
}

}  // namespace tessera::python
