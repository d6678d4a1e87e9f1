// The game of dataflows, mappings of model maestro.
#ifndef TESSERA_POLICY_MAESTRO_GAME_H_
#define TESSERA_POLICY_MAESTRO_GAME_H_

#include <memory>

#include "tessera/policy/game.h"

namespace tessera::policy {

// Null if the problem's mappings are no dataflows.
std::unique_ptr<Game> MakeMaestroGame(const MappingProblem& problem);

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_MAESTRO_GAME_H_
