// Results as JSON, key by key.
#include "tessera/cost/loopnest/result_json.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"

namespace tessera::loopnest {
namespace {

Json LevelTensor(const TimeloopLevel& level, int v, int64_t instances) {
  const TimeloopTensor& t = level.tensors[v];
  const uint64_t accesses = t.reads + t.fills + t.updates;
  return {{"partition_size", t.partition_size},
          {"utilized_capacity", t.utilized_capacity},
          {"instances", instances},
          {"clusters", level.clusters},
          {"reads", t.reads},
          {"fills", t.fills},
          {"updates", t.updates},
          {"temporal_reductions", t.temporal_reductions},
          {"address_generations", t.address_generations},
          {"energy_per_instance", t.energy_per_instance},
          {"energy_total", t.energy_per_instance * static_cast<double>(instances)},
          {"energy_per_access",
           accesses == 0 ? Json() : Json(t.energy_per_instance / static_cast<double>(accesses))},
          {"read_bw", level.slowdown * t.reads_per_cycle},
          {"write_bw", level.slowdown * t.writes_per_cycle},
          {"addr_gen_energy_per_cluster", t.address_energy_per_cluster}};
}

Json NetworkTensor(const TimeloopResult& result, const TimeloopNetworkTensor& network) {
  Json ingresses = Json::object();
  int64_t multicast = 0;
  for (int k = 0; k < network.num_ingresses; ++k) {
    const Ingress& ingress = result.ingresses[static_cast<size_t>(network.first_ingress + k)];
    // Timeloop prints these words with two decimals, and so do its rows.
    const std::string words = fmt::format("{:.2f}", ingress.words);
    ingresses[fmt::format("{},{}", ingress.multicast, ingress.scatter)] = *ParseDouble(words);
    multicast = std::max(multicast, ingress.multicast);
  }
  return {{"fanout", network.fanout},
          {"multicast", multicast},
          {"ingresses", std::move(ingresses)},
          {"link_transfers", network.link_transfers},
          {"spatial_reductions", network.spatial_reductions},
          {"avg_hops", network.avg_hops},
          {"energy_per_instance", network.energy_per_instance},
          {"link_energy_per_instance", network.link_energy_per_instance}};
}

std::string TensorName(const ProblemData& data, int v) {
  return std::string(data.problem.tensors[static_cast<size_t>(v)].name.view());
}

// The tensors that a level holds, each as tensor(v) gives it.
template <typename Tensor>
Json HeldTensors(const ProblemData& data, const LoopLevel& level, const Tensor& tensor) {
  Json tensors = Json::object();
  for (int v = 0; v < data.problem.num_tensors; ++v) {
    if (level.Keeps(v)) tensors[TensorName(data, v)] = tensor(v);
  }
  return tensors;
}

// What both semantics print alike: totals, and networks, whose tensors network_tensor(i, v) gives.
template <typename SemanticsResult, typename NetworkTensorOf>
Json Whole(const SemanticsResult& result, const ProblemData& data, const Machine& machine,
           Json levels, const NetworkTensorOf& network_tensor) {
  Json networks = Json::array();
  for (int k = 0; k < machine.num_levels; ++k) {
    const int i = machine.network_order[k];
    Json tensors = Json::object();
    for (int v = 0; v < data.problem.num_tensors; ++v) {
      tensors[TensorName(data, v)] = network_tensor(i, v);
    }
    networks.push_back({{"name", machine.network_names[static_cast<size_t>(i)]},
                        {"tensors", std::move(tensors)},
                        {"energy_total", result.levels[i].network_energy}});
  }
  return {{"status", "ok"},
          {"computes", result.computes},
          {"compute_cycles", result.compute_cycles},
          {"mac_energy", result.mac_energy},
          {"levels", std::move(levels)},
          {"networks", std::move(networks)},
          {"cycles", result.cycles},
          {"utilization", result.utilization},
          {"energy_total", result.energy}};
}

Json TimeloopJson(const TimeloopResult& result, const ProblemData& data, const Machine& machine,
                  const LoopMapping& mapping, const Nest& nest) {
  if (result.status != TimeloopResult::Status::kOk) {
    const TimeloopRejection rejection = Describe(result, machine);
    if (result.status == TimeloopResult::Status::kAssertion) {
      return {{"status", "crash"}, {"reason", rejection.reason}};
    }
    return {{"status", "rejected"}, {"level", rejection.level}, {"reason", rejection.reason}};
  }
  Json levels = Json::array();
  for (int i = 0; i < machine.num_levels; ++i) {
    const TimeloopLevel& level = result.levels[i];
    const auto tensor = [&](int v) { return LevelTensor(level, v, nest.used[i]); };
    levels.push_back(
        {{"name", machine.level_names[static_cast<size_t>(i)]},
         {"tensors", HeldTensors(data, mapping.levels[static_cast<size_t>(i)], tensor)},
         {"slowdown", level.slowdown},
         {"cycles", level.cycles},
         {"energy_total", level.energy}});
  }
  return Whole(result, data, machine, std::move(levels),
               [&](int i, int v) { return NetworkTensor(result, result.levels[i].network[v]); });
}

Json LevelTensor(const ExactLevel& level, int v, int64_t instances) {
  const ExactTensor& tensor = level.tensors[v];
  return {{"utilized_capacity", tensor.capacity}, {"instances", instances},
          {"clusters", level.clusters},           {"reads_total", tensor.reads},
          {"fills_total", tensor.fills},          {"updates_total", tensor.updates},
          {"energy_total", tensor.energy},        {"addr_gen_energy_total", tensor.address_energy}};
}

Json NetworkTensor(const ExactNetworkTensor& network, int64_t fanout) {
  Json ingresses = Json::object();
  int64_t multicast = 0;
  for (const ExactIngress& ingress : network.ingresses) {
    ingresses[std::to_string(ingress.multicast)] = ingress.words;
    multicast = std::max(multicast, ingress.multicast);
  }
  return {{"fanout", fanout},
          {"multicast", multicast},
          {"ingresses", std::move(ingresses)},
          {"down_words", network.down_words},
          {"link_transfers", network.link_transfers},
          {"spatial_reductions", network.spatial_reductions},
          {"avg_hops", network.avg_hops},
          {"energy_total", network.energy},
          {"link_energy_total", network.link_energy}};
}

Json ExactJson(const ExactResult& result, const ProblemData& data, const Machine& machine,
               const LoopMapping& mapping, const Nest& nest) {
  if (result.status != ExactResult::Status::kOk) {
    return {{"status", "rejected"},
            {"level", machine.level_names[static_cast<size_t>(result.level)]},
            {"reason", DescribeRejection(result)}};
  }
  Json levels = Json::array();
  for (int i = 0; i < machine.num_levels; ++i) {
    const ExactLevel& level = result.levels[i];
    const auto tensor = [&](int v) { return LevelTensor(level, v, nest.used[i]); };
    levels.push_back(
        {{"name", machine.level_names[static_cast<size_t>(i)]},
         {"tensors", HeldTensors(data, mapping.levels[static_cast<size_t>(i)], tensor)},
         {"busiest",
          {{"read", level.busiest_reads},
           {"write", level.busiest_writes},
           {"both", level.busiest_both}}},
         {"cycles", level.cycles},
         {"energy_total", level.energy}});
    if (!machine.plain) levels.back()["busiest"]["unit_bits"] = machine.levels[i].widths.unit_bits;
  }
  return Whole(result, data, machine, std::move(levels), [&](int i, int v) {
    return NetworkTensor(result.levels[i].network[v], nest.fanout[i]);
  });
}

}  // namespace

Json ToJson(const Setup& setup, const LoopMapping& mapping, const Workspace& workspace) {
  if (setup.semantics == Semantics::kExact) {
    return ExactJson(workspace.exact, setup.data, setup.machine, mapping, workspace.nest);
  }
  return TimeloopJson(workspace.timeloop, setup.data, setup.machine, mapping, workspace.nest);
}

}  // namespace tessera::loopnest
