// How two runs differ: layers side by side, and their energies part by part.
#include <algorithm>
#include <utility>

#include "tessera/map.h"

namespace tessera {
namespace {

constexpr std::string_view kMac = "mac", kLeakage = "leakage";

PartDelta& PartAt(std::vector<PartDelta>& parts, std::string_view level, std::string_view tensor) {
  for (PartDelta& part : parts) {
    if (part.level == level && part.tensor == tensor) return part;
  }
  return parts.emplace_back(PartDelta{.level = std::string(level), .tensor = std::string(tensor)});
}

// Adds what a layer needs to one side.
void AddParts(const LayerExplanation& layer, double PartDelta::*side, double times,
              std::vector<PartDelta>& parts) {
  PartAt(parts, kMac, "").*side += times * layer.parts.mac_pj;
  PartAt(parts, kLeakage, "").*side += times * layer.parts.leakage_pj;
  for (const LevelShare& level : layer.parts.levels) {
    for (const TensorShare& tensor : level.tensors) {
      PartAt(parts, level.name, tensor.name).*side += times * tensor.energy_pj;
    }
  }
}

}  // namespace

RunDiff DiffRuns(RunExplanation a, RunExplanation b) {
  RunDiff diff;
  std::vector<std::optional<size_t>> partner(a.layers.size());
  std::vector<bool> taken(b.layers.size());
  const auto match = [&](const auto& belongs) {
    for (size_t i = 0; i < a.layers.size(); ++i) {
      for (size_t k = 0; k < b.layers.size() && !partner[i]; ++k) {
        if (taken[k] || !belongs(a.layers[i], b.layers[k])) continue;
        partner[i] = k;
        taken[k] = true;
      }
    }
  };
  using Explained = LayerExplanation;
  match([](const Explained& x, const Explained& y) { return x.name == y.name; });
  match([](const Explained& x, const Explained& y) { return x.layer == y.layer; });
  for (size_t i = 0; i < a.layers.size(); ++i) {
    LayerDiff layer{.name = a.layers[i].name, .a = i, .b = partner[i]};
    AddParts(a.layers[i], &PartDelta::a_pj, 1, layer.parts);
    if (partner[i]) {
      const Explained &left = a.layers[i], &right = b.layers[*partner[i]];
      AddParts(right, &PartDelta::b_pj, 1, layer.parts);
      AddParts(left, &PartDelta::a_pj, static_cast<double>(left.count), diff.parts);
      AddParts(right, &PartDelta::b_pj, static_cast<double>(right.count), diff.parts);
    }
    diff.layers.push_back(std::move(layer));
  }
  for (size_t k = 0; k < b.layers.size(); ++k) {
    if (taken[k]) continue;
    LayerDiff layer{.name = b.layers[k].name, .b = k};
    AddParts(b.layers[k], &PartDelta::b_pj, 1, layer.parts);
    diff.layers.push_back(std::move(layer));
  }
  diff.a = std::move(a);
  diff.b = std::move(b);
  return diff;
}

}  // namespace tessera
