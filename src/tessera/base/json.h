// JSON input as the same trees that base/document.h makes of YAML, many times faster: for files
// with one JSON value per line, which programs write and read by the thousand.
#ifndef TESSERA_BASE_JSON_H_
#define TESSERA_BASE_JSON_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// Parses one JSON value. Numbers stay as they were written; null is an empty node. All nodes stand
// at `line` of `file`, for within a line only the first error's column is known. Limits and
// duplicate keys as in ParseDocument.
Result<Node> ParseJson(std::string_view text, const std::string& file, int64_t line = 1,
                       const DocumentLimits& limits = {});

}  // namespace tessera

#endif  // TESSERA_BASE_JSON_H_
