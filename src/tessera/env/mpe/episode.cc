// Episodes as JSON: nlohmann's ordered objects keep the keys in the order of the input.
#include "tessera/env.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/env/mpe/world.h"

namespace tessera {
namespace {

constexpr size_t kHorizon = 25;  // MPE2 marks the step that ends an episode

// Reads values of one line; errors name the line and the key.
class Reader {
 public:
  explicit Reader(const Where& where) : where_(where) {}

  Error Bad(std::string message, std::string hint = "") const {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = std::move(message),
                 .where = where_,
                 .hint = std::move(hint)};
  }

  // The count under `key`; without the key, the length of the list under `list`.
  Result<int64_t> Count(const Json& object, const char* key, const char* list = nullptr) const {
    const bool counted = list != nullptr && object.contains(list) && object[list].is_array();
    if (!object.contains(key) && !counted) return Bad(fmt::format("key '{}' is missing", key));
    const Json value = object.contains(key) ? object[key] : Json(object[list].size());
    if (!value.is_number_integer() || value < 0 || value > 10'000) {
      return Bad(fmt::format("'{}' is {}, not a count of 0..10000", key, Quoted(ToLine(value))));
    }
    return value.get<int64_t>();
  }

  // [[x, y], ...] of `count` points into `out`.
  Result<void> Points(const Json& object, const char* key, int64_t count, double* out) const {
    const Json& points = object[key];
    if (!points.is_array() || std::ssize(points) != count) {
      return Bad(fmt::format("'{}' must hold {} points", key, count));
    }
    for (const Json& point : points) {
      if (!point.is_array() || point.size() != 2 || !point[0].is_number() ||
          !point[1].is_number()) {
        return Bad(fmt::format("'{}' holds {}, not a point [x, y]", key, Quoted(ToLine(point))));
      }
      *out++ = point[0].get<double>();
      *out++ = point[1].get<double>();
    }
    return {};
  }

  Result<void> Force(const MpeWorld& world, int64_t agent, const Json& action, size_t step,
                     double force[2]) const {
    if (action.is_number_integer()) {
      if (action < 0 || action >= kMpeActionSize) {
        return Bad(fmt::format("action {} of agent {} in step {} is outside 0..4", ToLine(action),
                               agent, step));
      }
      DecodeChoice(world, agent, action.get<int64_t>(), force);
      return {};
    }
    double values[kMpeActionSize];
    bool good = action.is_array() && action.size() == kMpeActionSize;
    for (size_t i = 0; good && i < kMpeActionSize; ++i) {
      good = action[i].is_number();
      if (good) values[i] = action[i].get<double>();
      good = good && std::isfinite(values[i]);
    }
    if (!good) {
      return Bad(
          fmt::format("action {} of agent {} in step {} is neither an integer nor five "
                      "numbers",
                      Quoted(ToLine(action)), agent, step));
    }
    DecodeVector(world, agent, std::span<const double>(values), force);
    return {};
  }

 private:
  const Where where_;
};

Result<MpeWorld> ReadWorld(const Json& row, const std::string& fallback_compat,
                           const Reader& reader) {
  MpeWorld world;
  const std::string scenario = row.value("scenario", "");
  const std::string compat = row.value("compat", fallback_compat);
  if (scenario != "predator_prey" && scenario != "cooperative_navigation") {
    return reader.Bad(fmt::format("unknown scenario {}", Quoted(scenario)),
                      "known ones are predator_prey and cooperative_navigation");
  }
  if (compat != "openai" && compat != "mpe2") {
    return reader.Bad(fmt::format("unknown compat {}", Quoted(compat)),
                      "known ones are openai and mpe2");
  }
  world.compat = compat == "mpe2" ? MpeCompat::kMpe2 : MpeCompat::kOpenai;
  const bool tag = scenario == "predator_prey";
  world.scenario = tag ? MpeScenario::kPredatorPrey : MpeScenario::kNavigation;
  const Result<int64_t> first =
      tag ? reader.Count(row, "predators") : reader.Count(row, "agents", "pos");
  if (!first) return first.error();
  world.predators = *first;
  world.prey = 0;
  if (tag) {
    const Result<int64_t> prey = reader.Count(row, "prey");
    if (!prey) return prey.error();
    world.prey = *prey;
  }
  const Result<int64_t> landmarks = reader.Count(row, "landmarks", "lm");
  if (!landmarks) return landmarks.error();
  world.landmarks = *landmarks;
  if (const auto ratio = row.find("local_ratio"); ratio != row.end() && !ratio->is_null()) {
    if (!ratio->is_number()) {
      return reader.Bad(fmt::format("'local_ratio' is {}, not a number", Quoted(ratio->dump())));
    }
    world.local_ratio = ratio->get<double>();
  }
  if (row.contains("agents") && row["agents"] != world.agents()) {
    return reader.Bad(fmt::format("'agents' is {}, but predators and prey are {}",
                                  Quoted(ToLine(row["agents"])), world.agents()));
  }
  if (Result<void> checked = Check(world); !checked) return reader.Bad(checked.error().message);
  return world;
}

// One world and how it is written down.
class Player {
 public:
  explicit Player(const MpeWorld& world)
      : world_(world),
        positions_(static_cast<size_t>(2 * world.agents())),
        velocities_(positions_.size()),
        landmarks_(static_cast<size_t>(2 * world.landmarks)),
        forces_(positions_.size()) {}

  MpeState state() { return {positions_.data(), velocities_.data(), landmarks_.data()}; }

  Result<void> Start(const Json& row, const Reader& reader) {
    if (row.contains("pos") && row.contains("lm")) {
      if (Result<void> read = reader.Points(row, "pos", world_.agents(), positions_.data());
          !read) {
        return read;
      }
      return reader.Points(row, "lm", world_.landmarks, landmarks_.data());
    }
    if (!row.contains("seed")) {
      return reader.Bad("no start: neither 'pos' and 'lm' nor a 'seed'");
    }
    // NumPy's older generator, which the original draws from, takes no longer ones.
    const uint64_t most = world_.compat == MpeCompat::kOpenai ? UINT32_MAX : UINT64_MAX;
    const Json& seed = row["seed"];
    if (!seed.is_number_integer() || seed < 0 || seed.get<uint64_t>() > most) {
      return reader.Bad(
          fmt::format("'seed' is {}, not an integer of 0..{}", Quoted(ToLine(seed)), most));
    }
    DrawSeededStart(world_, row["seed"].get<uint64_t>(), state());
    return {};
  }

  // The step with its actions kept and everything else computed.
  Result<Json> Step(const Json& actions, size_t step, const Reader& reader) {
    if (!actions.is_array() || std::ssize(actions) != world_.agents()) {
      return reader.Bad(
          fmt::format("step {} must have actions of {} agents", step, world_.agents()));
    }
    for (int64_t a = 0; a < world_.agents(); ++a) {
      const Result<void> read =
          reader.Force(world_, a, actions[static_cast<size_t>(a)], step, forces_.data() + 2 * a);
      if (!read) return read.error();
    }
    StepWorld(world_, forces_.data(), state());
    std::vector<double> rewards(static_cast<size_t>(world_.agents()));
    WriteRewards(world_, state(), rewards);
    return Json{{"a", actions},
                {"r", rewards},
                {"p", Points(positions_)},
                {"v", Points(velocities_)},
                {"o", Observations()}};
  }

  Json positions() const { return Points(positions_); }
  Json landmarks() const { return Points(landmarks_); }

  Json Observations() {
    Json all = Json::array();
    for (int64_t a = 0; a < world_.agents(); ++a) {
      const size_t size = static_cast<size_t>(world_.observation_size(a));
      std::vector<double> values(size);
      if (world_.compat == MpeCompat::kOpenai) {
        WriteObservation(world_, state(), a, values.data());
      } else {
        std::vector<float> rounded(size);
        WriteObservation(world_, state(), a, rounded.data());
        values.assign(rounded.begin(), rounded.end());
      }
      all.push_back(values);
    }
    return all;
  }

 private:
  static Json Points(const std::vector<double>& values) {
    Json points = Json::array();
    for (size_t i = 0; i < values.size(); i += 2) points.push_back({values[i], values[i + 1]});
    return points;
  }

  const MpeWorld world_;
  std::vector<double> positions_, velocities_, landmarks_, forces_;
};

}  // namespace

Result<std::string> ReplayEpisode(std::string_view line, const Where& where,
                                  const std::string& compat) {
  const Reader reader(where);
  Json row = FromText(line);
  if (!row.is_object()) return reader.Bad("not a JSON object");
  for (const char* key : {"scenario", "compat"}) {
    if (row.contains(key) && !row[key].is_string()) {
      return reader.Bad(fmt::format("'{}' must be text", key));
    }
  }
  const Result<MpeWorld> world = ReadWorld(row, compat, reader);
  if (!world) return world.error();
  if (!row.contains("steps") || !row["steps"].is_array()) return reader.Bad("'steps' is missing");
  Player player(*world);
  if (Result<void> started = player.Start(row, reader); !started) return started.error();
  const Json recorded = std::exchange(row["steps"], Json::array());
  row["pos"] = player.positions();
  row["lm"] = player.landmarks();
  row["obs0"] = player.Observations();
  Json steps = Json::array();
  for (size_t t = 0; t < recorded.size(); ++t) {
    if (!recorded[t].is_object() || !recorded[t].contains("a")) {
      return reader.Bad(fmt::format("step {} has no actions 'a'", t));
    }
    Result<Json> step = player.Step(recorded[t]["a"], t, reader);
    if (!step) return step.error();
    if (world->compat == MpeCompat::kMpe2 && t + 1 == kHorizon) (*step)["trunc"] = true;
    steps.push_back(std::move(*step));
  }
  row.erase("steps");  // last, whether or not the input had the keys above
  row["steps"] = std::move(steps);
  return ToLine(row);
}

}  // namespace tessera
