// JSON output. Integers stay integers and keep all digits, doubles are written with the fewest
// digits that read back as the same double, and keys stay in the order in which they were set.
//
// Only sources that build JSON include <nlohmann/json.hpp>: it is slow to compile.
#ifndef TESSERA_BASE_JSON_TEXT_H_
#define TESSERA_BASE_JSON_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "tessera/result.h"

namespace tessera {

using Json = nlohmann::ordered_json;

// The text of a value, over several lines and with a line end. Bytes that are not UTF-8, as in
// names of files, become U+FFFD; a number that is not finite becomes null.
std::string ToText(const Json& json);

// The same on one line, without blanks.
std::string ToLine(const Json& json);

// The value that a text stands for, of which it is the whole; is_discarded() where it is no JSON.
// It is for texts of our own: ParseJson (base/json.h) says what is wrong with those of others.
// Sources call it instead of Json::parse because compiling the parser once is enough.
Json FromText(std::string_view text);

// The value that a file holds, with the limits of ParseJson, which FromText does not know.
Result<Json> ReadJson(const std::string& file);

// What an object holds at a key, for files that somebody may have changed since they were written:
// null, no number, or no text, where there is no such key, no such type, or no object at all.
const Json& ValueAt(const Json& json, std::string_view key);
std::optional<double> NumberAt(const Json& json, std::string_view key);
std::string TextAt(const Json& json, std::string_view key);

}  // namespace tessera

#endif  // TESSERA_BASE_JSON_TEXT_H_
