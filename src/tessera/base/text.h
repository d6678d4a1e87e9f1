// Small pieces of text handling that several parsers share, beside those of tessera/part.h.
#ifndef TESSERA_BASE_TEXT_H_
#define TESSERA_BASE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/part.h"  // IWYU pragma: export
#include "tessera/result.h"

namespace tessera {

// `text` as a YAML scalar that reads back the same: plain where that is safe anywhere.
std::string YamlScalar(std::string_view text);

// Length of the UTF-8 sequence at `at`, or 0 if it is not valid.
size_t Utf8Length(std::string_view text, size_t at);

// A file name that is safe on every system, from a name that may hold anything: characters other
// than letters, digits and "_-." become '_', and the name neither starts with a dot nor is empty.
std::string SafeFileName(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_BASE_TEXT_H_
