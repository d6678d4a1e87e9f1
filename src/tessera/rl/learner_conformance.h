// Checks of the contract of Learner (tessera/env.h), for every algorithm on a given environment.
#ifndef TESSERA_RL_LEARNER_CONFORMANCE_H_
#define TESSERA_RL_LEARNER_CONFORMANCE_H_

#include <string>

#include "tessera/env.h"
#include "tessera/result.h"
#include "tessera/rl/env_conformance.h"

namespace tessera {

struct LearnerCase {
  const LearnerInfo* info = nullptr;
  std::string preset = "tessera";
  Assignments assignments = {};  // should make updates fall due within `steps`
  int64_t lanes = 2;
  int64_t steps = 200;
};

// All checks; the error names the violated line of the contract.
Result<void> CheckLearner(const LearnerCase& test, const EnvFactory& make_env,
                          const std::string& scratch_folder);

}  // namespace tessera

#endif  // TESSERA_RL_LEARNER_CONFORMANCE_H_
