// Feature layouts, batches, and the choice of a memory layout.
#include "tessera/rl/replay/buffer.h"

#include <fmt/format.h>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/memory.h"
#include "tessera/rl/observation_map.h"
#include "tessera/rl/replay/layouts.h"

namespace tessera {
namespace {

FeatureLayout WithActions(const EnvSpec& spec, int64_t base) {
  FeatureLayout layout{.base = base, .actions = spec.action_size()};
  for (int64_t a = 0; a < spec.num_agents(); ++a) {
    layout.action_first.push_back(base + spec.action_offset(a));
    layout.action_width.push_back(spec.agents[static_cast<size_t>(a)].action.width());
  }
  return layout;
}

}  // namespace

InputMap FeatureLayout::CriticInputs() const {
  std::vector<InputMap> maps = observations;
  maps.push_back(InputMap::Range(base, actions));
  return InputMap::Concatenate(maps);
}

FeatureLayout FeatureLayout::Dense(const EnvSpec& spec) {
  FeatureLayout layout = WithActions(spec, spec.observation_size());
  for (int64_t a = 0; a < spec.num_agents(); ++a) {
    layout.observations.push_back(InputMap::Range(
        spec.observation_offset(a), spec.agents[static_cast<size_t>(a)].observation_size));
  }
  return layout;
}

FeatureLayout FeatureLayout::Compact(const EnvSpec& spec) {
  FeatureLayout layout = WithActions(spec, spec.state_size);
  for (const ObservationMap& map : spec.observation_maps) {
    layout.observations.push_back(InputMapOf(map));
  }
  return layout;
}

ReplayBatch::ReplayBatch(const FeatureLayout& layout, int64_t max_rows, FeatureBatch::Order order)
    : now(layout.features(), max_rows, order),
      next(layout.features(), max_rows, order),
      rewards(1, max_rows),
      live(1, max_rows) {
  slots.reserve(static_cast<size_t>(max_rows));
  weights.reserve(static_cast<size_t>(max_rows));
}

void ReplayBatch::SetRows() {
  for (FeatureBatch* part : {&now, &next, &rewards, &live}) part->set_rows(rows());
}

Result<ReplayLayout> ParseReplayLayout(std::string_view name) {
  for (size_t i = 0; i < std::size(kReplayLayoutNames); ++i) {
    if (kReplayLayoutNames[i] == name) return static_cast<ReplayLayout>(i);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown replay layout '{}'", name),
               .hint = DidYouMean(name, std::span<const std::string_view>(kReplayLayoutNames))};
}

Result<std::unique_ptr<ReplayBuffer>> MakeReplayBuffer(ReplayLayout layout, const EnvSpec& spec,
                                                       int64_t capacity, int64_t lanes) {
  if (capacity < lanes || lanes < 1) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("replay of {} transitions for {} environments: each needs "
                                        "at least one",
                                        capacity, lanes)};
  }
  if (layout == ReplayLayout::kCompact && spec.observation_maps.empty()) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("environment {} has no compact state", spec.name),
                 .hint = "take the joint layout"};
  }
  std::unique_ptr<ReplayBuffer> (*const make)(ReplayLayout, const EnvSpec&, int64_t, int64_t) =
      layout == ReplayLayout::kPerAgent ? MakePerAgentBuffer : MakeJointBuffer;
  const int64_t bytes = make(layout, spec, lanes, lanes)->bytes_per_transition();
  if (Result<void> fits = RequireMemory(fmt::format("replay of {} transitions", capacity),
                                        static_cast<double>(capacity) * static_cast<double>(bytes),
                                        "take the compact layout or a smaller capacity");
      !fits) {
    return fits.error();
  }
  return make(layout, spec, capacity, lanes);
}

}  // namespace tessera
