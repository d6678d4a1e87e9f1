// run.json: what a run was asked for, and what its files held when it ended. Enough to do the same
// again anywhere, and to notice any change.
//
//   {"format": "tessera-run-2", "kind": "map", "version": "0.2.0", "id": "5d41402abc4b2a76",
//    "command": ["map", "alexnet", ...], "settings": {...}, "seed": 1,
//    "inputs": {"inputs/network.yaml": "<sha256>", ...},
//    "results": {"result.json": "<sha256>", ...}, "seal": "<sha256>"}
//
// Results are there once the run has ended. The seal is SHA-256 over everything else, written
// without blanks. It tells damage and careless edits; it is no signature.
#ifndef TESSERA_RECORD_RUN_HEADER_H_
#define TESSERA_RECORD_RUN_HEADER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

// Who starts a run: nothing that its result depends on.
struct RunOrigin {
  std::string version = {};               // of the program
  std::vector<std::string> command = {};  // the words of the command line
};

struct RunHeader {
  std::string kind = {};  // "map", "compare", "cooptimize", "train"
  RunOrigin origin = {};
  std::string settings = {};  // a JSON object, in the words of the kind
  int64_t seed = 1;
  std::map<std::string, std::string> inputs = {};   // file of the folder -> SHA-256
  std::map<std::string, std::string> results = {};  // of a run that has ended
  // Kind, settings, seed and inputs of the run when it was made, as 16 digits: journals start with
  // it, and temporary files have it in their names.
  std::string id = {};

  bool ended() const { return !results.empty(); }
};

// The id of a header without one.
std::string RunId(const RunHeader& header);

std::string ToJsonText(const RunHeader& header);

// Errors: another format, with the version that reads it, a seal that does not fit, and values of
// the wrong type.
Result<RunHeader> ParseRunHeader(std::string_view text, const std::string& file);

// times.json, {"sittings": [{...}, ...], "seal": "<sha256>"}, with one more sitting, an object; an
// earlier text whose seal does not fit is begun anew. And whether the seal of a text fits.
std::string WithSitting(std::string_view earlier, std::string_view sitting);
bool SealFits(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_RECORD_RUN_HEADER_H_
