// Checks a mapping run from its files alone. Every reported mapping is read from its text, checked
// for legality and priced again; bounds, gaps, statuses and totals are computed again; every
// journalled evaluation is repeated; exported files are compared with the mappings.
#ifndef TESSERA_RUN_VERIFY_H_
#define TESSERA_RUN_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/run/run_directory.h"

namespace tessera {

// Something that is not what it should be.
struct Discrepancy {
  std::string what;  // "layer 'conv1': cycles"
  std::string reported;
  std::string computed;
};

// What was checked of a layer.
struct LayerVerification {
  std::string name = {};
  int64_t numbers = 0;  // of the report, computed again
  int64_t trials = 0;   // of the journal, evaluated again
  int64_t files = 0;    // of the mapping, compared
};

struct Verification {
  std::vector<LayerVerification> layers = {};
  int64_t total_numbers = 0;  // of the network
  std::vector<Discrepancy> discrepancies = {};
  std::vector<std::string> unchecked = {};  // and why
};

// Errors: files that are missing or cannot be read. Wrong numbers are discrepancies.
Result<Verification> VerifyRun(const RunDirectory& directory, int threads);

}  // namespace tessera

#endif  // TESSERA_RUN_VERIFY_H_
