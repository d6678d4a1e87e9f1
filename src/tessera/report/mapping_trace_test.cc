// Traces against the explanation that they are drawn from, and against the format's rules.
#include "tessera/report/mapping_trace.h"

#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/report/json.h"

namespace tessera {
namespace {

RunExplanation Explained(const std::string& machine, const std::string& model) {
  MapSettings settings;
  settings.model = *ChooseCostModel(model, {});
  settings.method = *ParseMapMethod("random");
  settings.budget.samples = 200;
  MapJob job = *MakeMapJob(settings, *LoadNetwork("alexnet"), *LoadAccelerator(machine));
  job.network.layers.resize(3);
  RunExplanation run;
  const Result<NetworkMapping> mapped = MapNetwork(job, /*threads=*/1);
  EXPECT_TRUE(mapped) << ToString(mapped.error());
  for (size_t i = 0; i < mapped->layers.size(); ++i) {
    if (!mapped->layers[i].mapping) continue;
    run.layers.push_back(*ExplainMapping(job, job.network.layers[i], *mapped->layers[i].mapping));
  }
  return run;
}

TEST(MappingTrace, WordsAreThoseOfTheExplanationAndSlicesOfATrackDoNotOverlap) {
  for (const auto& [machine, model] :
       {std::pair("eyeriss-256", "loopnest"), std::pair("maestro-256", "maestro")}) {
    const RunExplanation run = Explained(machine, model);
    ASSERT_FALSE(run.layers.empty());
    const Json trace = Json::parse(MappingTrace(run));
    std::map<std::string, double> words;  // by track and tensor
    std::map<int, std::string> names;     // of tracks
    std::map<int, double> ends;           // of the last slice of a track
    double macs = 0;
    for (const Json& event : trace["traceEvents"]) {
      const int track = event["tid"];
      if (event["ph"] == "M") {
        names[track] = event["args"]["name"];
        continue;
      }
      ASSERT_EQ(event["ph"], "X");
      EXPECT_GE(event["dur"], 0.0);
      // Slices of a layer begin anew, so that order is that of the layers. Perfetto cuts times to
      // whole nanoseconds and drops what then overlaps.
      EXPECT_GE(event["ts"].get<double>(), ends[track]);
      EXPECT_EQ(std::fmod(event["ts"].get<double>() * 1'000, 1), 0);
      EXPECT_EQ(std::fmod(event["dur"].get<double>() * 1'000, 1), 0);
      ends[track] = event["ts"].get<double>() + event["dur"].get<double>();
      if (event["args"].contains("words")) {
        words[names[track] + " " + event["name"].get<std::string>()] +=
            event["args"]["words"].get<double>();
      }
      if (event["args"].contains("macs")) macs += event["args"]["macs"].get<double>();
    }
    std::map<std::string, double> wanted;
    double cycles = 0, wanted_macs = 0;
    for (const LayerExplanation& layer : run.layers) {
      cycles += static_cast<double>(layer.parts.cost.cycles);
      wanted_macs += static_cast<double>(layer.parts.cost.macs);
      for (const LevelShare& level : layer.parts.levels) {
        for (const TensorShare& tensor : level.tensors) {
          const auto moved = static_cast<double>(tensor.reads + tensor.updates);
          if (tensor.kept && moved > 0) wanted[level.name + " " + tensor.name] += moved;
        }
      }
    }
    ASSERT_EQ(words.size(), wanted.size());
    for (const auto& [key, value] : wanted) EXPECT_NEAR(words[key] / value, 1, 1e-9) << key;
    EXPECT_NEAR(macs / wanted_macs, 1, 1e-9);
    EXPECT_NEAR(ends[1] / cycles, 1, 1e-9);
    EXPECT_LE(std::ssize(trace["traceEvents"]), kMostSlices + 1'000);
  }
}

}  // namespace
}  // namespace tessera
