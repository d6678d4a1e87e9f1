// JSON output. Integers stay integers and keep all digits, doubles are written with the fewest
// digits that read back as the same double, and keys stay in the order in which they were set.
//
// Only sources that build JSON include <nlohmann/json.hpp>: it is slow to compile.
#ifndef TESSERA_REPORT_JSON_H_
#define TESSERA_REPORT_JSON_H_

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "tessera/base/decimal.h"
#include "tessera/base/error.h"

namespace tessera {

using Json = nlohmann::ordered_json;

// The text of a value, over several lines and with a line end. Bytes that are not UTF-8, as in
// names of files, become U+FFFD; a number that is not finite becomes null.
std::string ToText(const Json& json);

// {"file", "line", "column", "message", "hint"}, with null for what is not known.
Json ToJson(const Error& error);

// An integer where it is one that fits, otherwise a double.
Json ToJson(const Decimal& decimal);

}  // namespace tessera

#endif  // TESSERA_REPORT_JSON_H_
