// Training configs as data that goes to a file and comes back.
#ifndef TESSERA_TRAINING_CONFIG_H_
#define TESSERA_TRAINING_CONFIG_H_

#include <string>

#include "tessera/base/document.h"
#include "tessera/result.h"
#include "tessera/train.h"

namespace tessera {

// As a JSON object, and back; unknown keys and wrong types are errors with their place.
std::string ToJsonText(const TrainingConfig& config);
Result<TrainingConfig> ReadTrainingConfig(const Node& node);

}  // namespace tessera

#endif  // TESSERA_TRAINING_CONFIG_H_
