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

#include <string>
#include <string_view>

#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

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
