// What `tessera verify` finds out about a run of any kind: what was computed again, what does not
// agree, and what had to be believed.
#ifndef TESSERA_RECORD_VERIFICATION_H_
#define TESSERA_RECORD_VERIFICATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// Something that is not what it should be.
struct Discrepancy {
  std::string what;  // "layer 'conv1': cycles"
  std::string reported;
  std::string computed;
};

// What was checked of a part of the run, such as a layer.
struct CheckedPart {
  std::string name = {};
  int64_t numbers = 0;                    // of the report, computed again
  int64_t trials = 0;                     // of the journal, evaluated again
  int64_t files = 0;                      // compared
  std::vector<std::string> remarks = {};  // one per column of Verification::remarks
};

struct Verification {
  std::string part = "part";              // what a part is: "layer"
  std::vector<std::string> remarks = {};  // columns: "mapping", "bound"
  std::vector<CheckedPart> parts = {};
  int64_t total_numbers = 0;  // of the whole
  int64_t total_files = 0;
  std::vector<Discrepancy> discrepancies = {};
  std::vector<std::string> trusted = {};  // what was not computed again, and why
};

struct VerifyOptions {
  int threads = 0;  // 0: one per core. Default: 0.

  // Time for proofs and training to be repeated; what does not fit is listed as trusted.
  // Default: 10.
  double seconds = 10;

  // Random mappings per pruning rule and layer below what proofs left out. Default: 0 (none).
  int64_t audit = 0;
};

}  // namespace tessera

#endif  // TESSERA_RECORD_VERIFICATION_H_
