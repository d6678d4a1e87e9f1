// What model `maestro` shares with programs of users that price the same dataflows: two settings,
// and what spaces have to have under them.
#ifndef TESSERA_COST_MAESTRO_SETTINGS_H_
#define TESSERA_COST_MAESTRO_SETTINGS_H_

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/network.h"
#include "tessera/part.h"

namespace tessera::maestro {

template <typename Options>
Parameter<Options> LegalityParameter(MaestroLegality Options::*field) {
  return {"legality", field, kMaestroLegalityNames,
          "model maestro: strict (doubtful numbers are infeasible) or compat"};
}

template <typename Options>
Parameter<Options> VersionParameter(MaestroVersion Options::*field) {
  return {"maestro-version", field, kMaestroVersionNames, "version of MAESTRO to agree with"};
}

// The head version refuses tiles smaller than the kernel, so a kernel that one PE cannot hold is
// spread over several. Strict legality refuses tiles of strided outputs, whose MACs MAESTRO
// miscounts.
SpaceRules RulesFor(const Layer& layer, const PeArray& array, MaestroVersion version,
                    MaestroLegality legality);

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_SETTINGS_H_
