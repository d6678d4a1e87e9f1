// Which method and budget a mapping problem is worth.
#ifndef TESSERA_MAPPER_ADVICE_H_
#define TESSERA_MAPPER_ADVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/map.h"
#include "tessera/result.h"

namespace tessera {

// A method with a budget, and what it is expected to reach on a layer.
struct MethodOption {
  std::string method = {};
  int64_t samples = 0;
  double ratio = 0;    // cost over the best known, geometric mean of the measured layers
  double worst = 0;    // of those
  double seconds = 0;  // per layer: evaluations and the method itself
};

struct Advice {
  double evaluation_seconds = 0;           // measured here and now
  double log10_least = 0, log10_most = 0;  // sizes of the layers' spaces
  bool provable = false;
  std::string method = {};  // what to use
  int64_t samples = 0;
  std::string why = {};
  std::string then = {}, then_why = {};  // what to use for a proof; empty: there is none
  struct NotWorthIt {
    std::string method = {}, why = {};
  };
  std::vector<NotWorthIt> not_worth_it = {};
  std::vector<MethodOption> options = {};  // everything that was compared
};

// Which method and budget a job is worth, from what an evaluation costs and curves that were
// measured before (data/advice). Evaluates a few random mappings, or one if that takes long.
Result<Advice> AdviseMethod(const MapJob& job);

}  // namespace tessera

#endif  // TESSERA_MAPPER_ADVICE_H_
