// Reading a plan back, and comparing.
#include "tessera/interlayer/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/interlayer/replay.h"
#include "tessera/interlayer/staircase_journal.h"
#include "tessera/map.h"

namespace tessera {
namespace {

constexpr double kRounding = 1e-9;        // relative; sums are taken in another order
constexpr int64_t kWalkedMacs = 100'000;  // walking takes some ten microseconds each

class PlanReader {
 public:
  PlanReader(const MapJob& job, const std::string& file) : job_(job), file_(file) {}

  // None: it is no plan; `wrong` says why.
  std::optional<InterLayerPlan> Read(const Json& json) {
    InterLayerPlan plan;
    if (!json.is_object() || !json.contains("homes") || !json["homes"].is_object() ||
        !json.contains("stages") || !json["stages"].is_array()) {
      wrong = "homes or stages are missing";
      return std::nullopt;
    }
    mappings_ = ValueAt(json, "mappings");
    for (const auto& [tensor, level] : json["homes"].items()) {
      if (!level.is_string()) return Fail("a home is no name");
      plan.homes.emplace_back(tensor, level.get<std::string>());
    }
    for (const Json& stage : json["stages"]) {
      if (!ReadStage(stage, plan.stages.emplace_back())) return std::nullopt;
    }
    return plan;
  }

  std::string wrong = {};

 private:
  std::optional<InterLayerPlan> Fail(std::string why) {
    wrong = std::move(why);
    return std::nullopt;
  }

  bool ReadStage(const Json& json, PlanStage& stage) {
    const auto names = [&](const char* key, std::vector<std::string>& to) {
      if (!json.contains(key) || !json[key].is_array()) return false;
      for (const Json& name : json[key]) {
        if (!name.is_string()) return false;
        to.push_back(name.get<std::string>());
      }
      return true;
    };
    wrong = "a stage is not one";
    if (!json.is_object() || !names("nodes", stage.nodes) || !names("pinned", stage.pinned)) {
      return false;
    }
    if (!json.contains("slices") || !json["slices"].is_number_integer()) return false;
    stage.slices = json["slices"].get<int64_t>();
    if (json.contains("level") && json["level"].is_string()) {
      stage.level = json["level"].get<std::string>();
    }
    if (!json.contains("parts") || !json["parts"].is_array()) return false;
    for (const Json& part : json["parts"]) {
      if (!ReadPart(part, stage.parts.emplace_back())) return false;
    }
    wrong.clear();
    return true;
  }

  bool ReadPart(const Json& json, PlanPart& part) {
    wrong = "a mapping of a stage is not one";
    if (!json.is_object() || !json.contains("layer") || !json["layer"].is_string() ||
        !json.contains("node") || !json["node"].is_string() || !json.contains("mapping") ||
        !json.contains("rows") || !json["rows"].is_number_integer() || !json.contains("times") ||
        !json["times"].is_number_integer()) {
      return false;
    }
    const std::string name = json["layer"].get<std::string>();
    const auto layer = std::ranges::find(job_.network.layers, name, &NetworkLayer::name);
    if (layer == job_.network.layers.end()) return false;
    part.layer = static_cast<size_t>(layer - job_.network.layers.begin());
    part.node = json["node"].get<std::string>();
    part.rows = json["rows"].get<int64_t>();
    part.times = json["times"].get<int64_t>();
    const LoopMapping* const mapping = MappingOf(json["mapping"], part.layer);
    if (mapping == nullptr || part.rows < 0) return false;
    part.mapping = *mapping;
    wrong.clear();
    return true;
  }

  // By its place in the list; none: it is no mapping of that layer.
  const LoopMapping* MappingOf(const Json& json, size_t layer) {
    const int64_t place = json.is_number_integer() ? json.get<int64_t>() : -1;
    if (!mappings_.is_array() || place < 0 || place >= std::ssize(mappings_)) return nullptr;
    const auto known = read_.find({place, layer});
    if (known != read_.end()) return &known->second;
    const Result<Mapping> mapping =
        ParseMappingJson(ToLine(mappings_[static_cast<size_t>(place)]), file_,
                         job_.network.layers[layer].layer, job_.accelerator);
    if (!mapping) return nullptr;
    return &(read_[{place, layer}] = std::get<LoopMapping>(*mapping));
  }

  const MapJob& job_;
  const std::string& file_;
  Json mappings_;
  std::map<std::pair<int64_t, size_t>, LoopMapping> read_;  // by place and layer
};

// Every node by itself with its layer's mapping, all homes outside.
std::optional<InterLayerPlan> PlanOfLayers(const MapJob& job, const Json& report,
                                           const std::string& file) {
  InterLayerPlan plan;
  for (const GraphNode& node : job.network.graph.nodes) {
    if (node.view) continue;
    PlanStage& stage = plan.stages.emplace_back();
    stage.nodes = {node.name};
    if (!node.macs()) continue;
    const auto at = static_cast<size_t>(node.layer);
    const NetworkLayer& layer = job.network.layers[at];
    if (!report.contains("layers") || !report["layers"].is_array() ||
        report["layers"].size() <= at || !report["layers"][at].contains("mapping")) {
      return std::nullopt;
    }
    const Result<Mapping> mapping = ParseMappingJson(ToLine(report["layers"][at]["mapping"]), file,
                                                     layer.layer, job.accelerator);
    if (!mapping) return std::nullopt;
    stage.parts.push_back(
        {.node = node.name, .layer = at, .mapping = std::get<LoopMapping>(*mapping)});
  }
  return plan;
}

class PlanVerifier {
 public:
  PlanVerifier(const MapJob& job, const Json& report, const std::string& file,
               const JournalText& journal, Verification& found)
      : job_(job), report_(report), file_(file), journal_(journal), found_(found) {}

  void Go() {
    const Json& plan_json = ValueAt(report_, "inter_layer");
    if (plan_json.is_null()) return CheckWithout();
    PlanReader reader(job_, file_);
    const std::optional<InterLayerPlan> plan = reader.Read(plan_json);
    if (!plan) return Complain("inter_layer", "a plan", reader.wrong);
    const Hierarchy& hierarchy = *job_.accelerator.hierarchy;
    const interlayer::Replayed walked =
        interlayer::Replay(job_.network, hierarchy, *plan, kWalkedMacs);
    if (!walked.error.empty()) return Complain("inter_layer", "a plan", walked.error);
    CheckTotal(walked);
    CheckSamples();
    CheckNone(plan_json);
    found_.parts.push_back(
        {.name = "inter-layer plan",
         .numbers = 13,
         .remarks = {fmt::format("{} mappings walked loop by loop, {} priced by the model",
                                 WithThousands(walked.walked), WithThousands(walked.priced)),
                     "as in the journal of staircases"}});
    found_.trusted.push_back(
        fmt::format("inter-layer plan: bound {}, which the proofs of its staircases have reached",
                    At("total", "bound").value_or(0)));
  }

 private:
  void Complain(std::string what, std::string reported, std::string computed) {
    found_.discrepancies.push_back({std::move(what), std::move(reported), std::move(computed)});
  }

  std::optional<double> At(const char* object, const char* key) const {
    return NumberAt(ValueAt(report_, object), key);
  }

  void Compare(const std::string& what, const std::optional<double>& reported, double computed) {
    if (reported && std::abs(*reported - computed) <= kRounding * std::abs(computed)) return;
    Complain(what, reported ? fmt::format("{}", *reported) : "nothing",
             fmt::format("{}", computed));
  }

  // A run that was interrupted before every layer had a mapping has no plan.
  void CheckWithout() {
    for (const Json& layer : ValueAt(report_, "layers")) {
      if (ValueAt(layer, "mapping").is_null()) return;
    }
    Complain("inter_layer", "nothing", "a plan");
  }

  void CheckTotal(const interlayer::Replayed& walked) {
    const double edp = walked.cycles * walked.energy_pj;
    const double value = job_.settings.objective == Objective::kLatency  ? walked.cycles
                         : job_.settings.objective == Objective::kEnergy ? walked.energy_pj
                                                                         : edp;
    Compare("total: cycles", At("total", "cycles"), walked.cycles);
    Compare("total: energy_pj", At("total", "energy_pj"), walked.energy_pj);
    Compare("total: edp", At("total", "edp"), edp);
    Compare("total: value", At("total", "value"), value);
    const std::optional<double> bound = At("total", "bound");
    if (!bound || *bound > value * (1 + kRounding) || *bound <= 0) {
      return Complain("total: bound", bound ? fmt::format("{}", *bound) : "nothing",
                      fmt::format("at most {}", value));
    }
    const double gap = value / *bound - 1;
    const std::optional<double> reported = At("total", "gap");
    if (!reported || std::abs(*reported - gap) > kRounding * (1 + gap)) {
      Complain("total: gap", reported ? fmt::format("{}", *reported) : "nothing",
               fmt::format("{}", gap));
    }
    const std::string status = TextAt(ValueAt(report_, "total"), "status");
    const std::string_view wanted =
        ToString(gap <= kRounding ? MapStatus::kOptimal : MapStatus::kBounded);
    // A front that is not complete leaves a plan BOUNDED, whatever the numbers say.
    if (status != wanted && status != ToString(MapStatus::kBounded)) {
      Complain("total: status", status, std::string(wanted));
    }
  }

  // Those of single layers, which are verified with them, and what the journal of staircases tells.
  void CheckSamples() {
    const std::optional<int64_t> evaluations = interlayer::EvaluationsOf(journal_);
    if (!evaluations) return;  // an older run
    auto samples = static_cast<double>(*evaluations);
    for (const Json& layer : ValueAt(report_, "layers")) {
      samples += NumberAt(layer, "samples").value_or(0);
    }
    Compare("total: samples", At("total", "samples"), samples);
  }

  void CheckNone(const Json& plan) {
    const std::optional<InterLayerPlan> none = PlanOfLayers(job_, report_, file_);
    if (!none) return Complain("inter_layer: none", "numbers", "layers without a mapping");
    const interlayer::Replayed walked =
        interlayer::Replay(job_.network, *job_.accelerator.hierarchy, *none, /*walked_macs=*/0);
    if (!walked.error.empty()) return Complain("inter_layer: none", "numbers", walked.error);
    const Json& numbers = ValueAt(plan, "none");
    Compare("inter_layer: none: cycles", NumberAt(numbers, "cycles"), walked.cycles);
    Compare("inter_layer: none: energy_pj", NumberAt(numbers, "energy_pj"), walked.energy_pj);
    Compare("inter_layer: none: edp", NumberAt(numbers, "edp"), walked.cycles * walked.energy_pj);
  }

  const MapJob& job_;
  const Json& report_;
  const std::string& file_;
  const JournalText& journal_;
  Verification& found_;
};

}  // namespace

Result<void> VerifyPlan(const RunDirectory& directory, Verification& found) {
  const Result<MapJob> job = LoadMapJob(directory);
  if (!job) return job.error();
  if (job->settings.inter_layer == InterLayer::kNone) return {};
  const std::string file = directory.File("result.json");
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  const Json report = FromText(*text);
  const Result<JournalText> journal = ReadJournalText(interlayer::StaircaseFile(directory));
  if (!journal) return journal.error();
  PlanVerifier(*job, report, file, *journal, found).Go();
  return {};
}

}  // namespace tessera
