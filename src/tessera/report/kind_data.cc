// Journals, programs and checkpoints of runs, as far as pages draw them.
#include "tessera/report/kind_data.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/coopt/measurement_journal.h"
#include "tessera/coopt/problem.h"
#include "tessera/coopt/target.h"
#include "tessera/cooptimize.h"
#include "tessera/env.h"
#include "tessera/mapper/map_network.h"
#include "tessera/record/line_journal.h"
#include "tessera/train.h"
#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"
#include "tessera/vta/program.h"

namespace tessera {
namespace {

// ---- Machines of a co-optimization -------------------------------------------------------------

struct Machine {
  std::map<size_t, double> cycles_by_layer;  // of its best schedules, per image
  double cycles = 0;
};

Result<Json> MachinesJson(const RunDirectory& run, const std::string& chosen) {
  const Result<coopt::CooptimizeJob> job = coopt::LoadCooptimizeJob(run);
  if (!job) return job.error();
  const coopt::CooptProblem& problem = *job->problem;
  const Result<std::vector<coopt::Measured>> measured = coopt::ReadMeasurements(run, problem);
  if (!measured) return measured.error();
  std::map<size_t, Machine> machines;
  for (const coopt::Measured& item : *measured) {
    if (!item.outcome.valid) continue;
    const size_t hardware = item.request.hardware;
    const double cycles =
        static_cast<double>(item.outcome.cycles) / static_cast<double>(problem.images(hardware));
    auto& best = machines[hardware].cycles_by_layer;
    const auto [place, is_new] = best.try_emplace(item.request.layer, cycles);
    if (!is_new) place->second = std::min(place->second, cycles);
  }
  std::vector<std::pair<size_t, double>> complete;
  for (auto& [hardware, machine] : machines) {
    if (machine.cycles_by_layer.size() != problem.layers().size()) continue;
    for (const auto& [layer, cycles] : machine.cycles_by_layer) {
      machine.cycles += cycles * static_cast<double>(problem.layers()[layer].count);
    }
    complete.emplace_back(hardware, machine.cycles);
  }
  std::ranges::stable_sort(complete, {}, &std::pair<size_t, double>::second);
  const coopt::Target& target = problem.hardware();
  Json json = {
      {"measured", complete.size()}, {"knobs", Json::array()}, {"machines", Json::array()}};
  for (size_t knob = 0; knob < target.knobs(); ++knob) json["knobs"].push_back(target.name(knob));
  for (const auto& [hardware, cycles] : complete) {
    if (json["machines"].size() == kMostMachines) break;
    Json values = Json::array();
    for (size_t knob = 0; knob < target.knobs(); ++knob) {
      values.push_back(target.value(hardware, knob));
    }
    const std::string name = target.Name(hardware);
    json["machines"].push_back({{"name", name},
                                {"values", std::move(values)},
                                {"area", target.Cost(hardware, job->settings.clock_mhz).area_um2},
                                {"cycles", cycles},
                                {"chosen", name == chosen}});
  }
  return json;
}

// ---- Timelines ---------------------------------------------------------------------------------

// Busy parts of one stage; neighbours are joined until few enough are left, with the cycles that
// are busy among them.
Json SpansJson(std::vector<std::array<int64_t, 3>> spans) {
  std::ranges::sort(spans);
  const size_t group = (spans.size() + kMostSpans - 1) / kMostSpans;
  Json json = Json::array();
  for (size_t i = 0; i < spans.size(); i += std::max<size_t>(group, 1)) {
    std::array<int64_t, 3> joined = spans[i];
    for (size_t k = i + 1; k < std::min(i + group, spans.size()); ++k) {
      joined[1] = std::max(joined[1], spans[k][1]);
      joined[2] += spans[k][2];
    }
    json.push_back(joined);
  }
  return json;
}

Result<Json> TimelineJson(const std::string& file, const std::string& layer) {
  Result<vta::Program> program = vta::LoadProgram(file);
  if (!program) return program.error();
  const Result<vta::Simulation> simulated = vta::Simulate(*program);
  if (!simulated) return simulated.error();
  const std::vector<vta::Instruction> instructions = vta::DecodeInstructions(*program);
  std::array<std::vector<std::array<int64_t, 3>>, vta::kNumStages> spans;
  for (size_t i = 0; i < std::min(simulated->times.size(), instructions.size()); ++i) {
    const vta::InstructionTime& time = simulated->times[i];
    if (time.start < 0 || time.done < time.start) continue;
    spans[static_cast<size_t>(vta::StageOf(instructions[i]))].push_back(
        {time.start, time.done + 1, time.done + 1 - time.start});
  }
  const vta::CycleReport& report = simulated->report;
  Json json = {{"layer", layer}, {"cycles", report.cycles}, {"stages", Json::array()}};
  for (const vta::Stage stage : {vta::Stage::kLoad, vta::Stage::kCompute, vta::Stage::kStore}) {
    const auto index = static_cast<size_t>(stage);
    const vta::StageUse& use = report.stages[index];
    json["stages"].push_back({{"name", vta::StageName(stage)},
                              {"instructions", use.instructions},
                              {"busy_cycles", use.busy_cycles},
                              {"token_cycles", use.token_cycles},
                              {"fetch_cycles", use.fetch_cycles},
                              {"bus_cycles", use.bus_cycles},
                              {"spans", SpansJson(std::move(spans[index]))}});
  }
  return json;
}

}  // namespace

Result<Json> ProofData(const RunDirectory& run, const MapJob& job) {
  Json json = Json::object();
  for (size_t i = 0; i < job.network.layers.size(); ++i) {
    const Result<JournalText> text = ReadJournalText(ProofJournal(run, i));
    if (!text) return text.error();
    const size_t count = text->lines.size();
    if (count == 0) continue;
    const size_t every = (count + kMostProofPoints - 1) / kMostProofPoints;
    Json points = Json::array(), value = nullptr;
    for (size_t k = 0; k < count; ++k) {
      const Json line = FromText(text->lines[k]);
      if (!line.is_object()) continue;
      if (line.contains("value")) value = line["value"];
      if (k % every != 0 && k + 1 != count) continue;
      points.push_back({ValueAt(line, "rounds"), ValueAt(line, "bound"), value});
    }
    json[job.network.layers[i].name] = std::move(points);
  }
  return json;
}

Json GraphData(const Network& network) {
  const Graph& graph = network.graph;
  if (graph.empty()) return nullptr;
  const GraphLinks links = Links(graph);
  std::vector<int64_t> shown(graph.nodes.size(), -1);  // places among the nodes that are drawn
  Json nodes = Json::array(), edges = Json::array();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (node.view) continue;
    shown[i] = std::ssize(nodes);
    const auto layer = static_cast<size_t>(node.layer);
    const bool macs = node.macs() && layer < network.layers.size();
    nodes.push_back({{"name", node.name},
                     {"type", node.type},
                     {"layer", macs ? Json(network.layers[layer].name) : Json(nullptr)}});
    for (const int32_t input : node.inputs) {
      const int32_t root = links.root[static_cast<size_t>(input)];
      const int32_t from = links.producer[static_cast<size_t>(root)];
      if (from < 0 || shown[static_cast<size_t>(from)] < 0) continue;
      edges.push_back({shown[static_cast<size_t>(from)], shown[i],
                       Words(graph.tensors[static_cast<size_t>(input)])});
    }
  }
  if (nodes.size() > kMostNodes) return nullptr;
  return {{"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

Result<Json> CooptData(const RunDirectory& run, const Json& result) {
  Result<Json> json = MachinesJson(run, TextAt(ValueAt(result, "hardware"), "name"));
  if (!json) return json;
  (*json)["timelines"] = Json::array();
  std::vector<const Json*> layers;
  for (const Json& layer : ValueAt(result, "layers")) {
    if (ValueAt(layer, "program").is_string()) layers.push_back(&layer);
  }
  std::ranges::stable_sort(layers, std::ranges::greater(), [](const Json* layer) {
    return NumberAt(*layer, "cycles").value_or(0) * NumberAt(*layer, "count").value_or(1);
  });
  layers.resize(std::min(layers.size(), kMostTimelines));
  for (const Json* const layer : layers) {
    // A folder is data: only a file of the run is opened.
    const std::string name = TextAt(*layer, "program");
    if (!run.header().results.contains(name)) continue;
    Result<Json> timeline = TimelineJson(run.File(name), TextAt(*layer, "name"));
    if (timeline) (*json)["timelines"].push_back(*std::move(timeline));
  }
  return json;
}

Json TrainData(const RunDirectory& run, const Json& times) {
  Json json = {{"episode", nullptr}, {"episode_return", nullptr}, {"phases", Json::array()}};
  if (times.contains("sittings")) {
    std::vector<std::pair<std::string, double>> sums;
    for (const Json& sitting : times["sittings"]) {
      if (!sitting.contains("phases")) continue;
      for (const auto& [name, seconds] : sitting["phases"].items()) {
        auto place = std::ranges::find(sums, name, &std::pair<std::string, double>::first);
        if (place == sums.end()) place = sums.insert(place, {name, 0.0});
        if (seconds.is_number()) place->second += seconds.get<double>();
      }
    }
    for (const auto& [name, seconds] : sums) {
      json["phases"].push_back({{"name", name}, {"seconds", seconds}});
    }
  }
  const Result<TrainSettings> settings = LoadTrainSettings(run);
  if (!settings) return json;
  const Result<TrainingConfig> config = ConfigInFolder(run, settings->config);
  if (!config) return json;
  Result<Training> training = MakeTraining(*config, /*threads=*/1, nullptr);
  const Result<TensorReader> reader = TensorReader::Open(run.File(kCheckpoint));
  if (!training || !reader || !training->learner->Load("learner.", *reader) ||
      !training->env->Load("env.", *reader)) {
    return json;
  }
  const Result<PlayedEpisode> played =
      PlayEpisode(*training->env, training->learner.get(), settings->config.seed);
  if (!played) return json;
  if (!played->svg.empty()) json["episode"] = played->svg;
  json["episode_return"] = played->team_return;
  return json;
}

}  // namespace tessera
