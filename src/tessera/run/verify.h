// Checks a finished mapping run from its files alone: every reported number is computed again from
// the reported mapping, and every journalled evaluation is repeated.
#ifndef TESSERA_RUN_VERIFY_H_
#define TESSERA_RUN_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/run/run_directory.h"

namespace tessera {

// A number that is not what it should be.
struct Discrepancy {
  std::string what;  // "layer 'conv1': cycles"
  std::string reported;
  std::string computed;
};

struct LayerVerification {
  std::string name = {};
  int64_t numbers = 0;  // compared in the report
  int64_t trials = 0;   // of the journal, evaluated again
};

struct Verification {
  std::vector<LayerVerification> layers = {};
  std::vector<Discrepancy> discrepancies = {};
};

// Errors: files that are missing or cannot be read. Wrong numbers are discrepancies.
Result<Verification> VerifyRun(const RunDirectory& directory, int threads);

}  // namespace tessera

#endif  // TESSERA_RUN_VERIFY_H_
