// What no mapping of a layer can be below, whatever the search: the yardstick of every result.
#ifndef TESSERA_MAPPER_LAYER_BOUNDS_H_
#define TESSERA_MAPPER_LAYER_BOUNDS_H_

#include <optional>

#include "tessera/mapper/map_settings.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// As far as the cost model knows bounds (ConfiguredModel::BoundsFor).
struct LayerBounds {
  std::optional<double> cycles = {};
  std::optional<double> energy_pj = {};

  // Of an objective; none for power and area.
  std::optional<double> Of(Objective objective) const;
};

// Errors: layers that the model cannot take.
Result<LayerBounds> BoundsOf(const Layer& layer, const MapJob& job);

}  // namespace tessera

#endif  // TESSERA_MAPPER_LAYER_BOUNDS_H_
