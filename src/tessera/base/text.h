// Small pieces of text handling that several parsers share.
#ifndef TESSERA_BASE_TEXT_H_
#define TESSERA_BASE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

std::string_view Trim(std::string_view text);  // without blanks, tabs and line ends around it
std::vector<std::string_view> Split(std::string_view text, char separator);

// A decimal integer and nothing else: "64", "-3", "+7". Fractions, exponents, other bases, blanks
// and values outside 64 bits are errors (kBadValue, kOverflow) that quote the text.
Result<int64_t> ParseInt(std::string_view text);

// A finite decimal number and nothing else: "0.5", "1e-3".
Result<double> ParseDouble(std::string_view text);

// 1814073344 -> "1,814,073,344".
std::string WithThousands(int64_t value);

// The same for a sum of whole numbers that may exceed 64 bits, of which six digits are then shown.
std::string WholeText(double value);

// `text` as a YAML scalar that reads back the same: plain where that is safe anywhere.
std::string YamlScalar(std::string_view text);

// Length of the UTF-8 sequence at `at`, or 0 if it is not valid.
size_t Utf8Length(std::string_view text, size_t at);

// `text` with everything escaped that a terminal, an editor or an XML reader would take for more
// than a character: control characters ("\\x1b", "\\u009b"), marks that turn the direction of
// writing, and what is not UTF-8. For names that come from elsewhere.
std::string Printable(std::string_view text);

// The same for a text of several lines: line ends and tabs stay.
std::string PrintableLines(std::string_view text);

// `text` cut after about `max` bytes, with a word about how much is missing.
std::string Shortened(std::string_view text, size_t max);

// `text` in quotes for an error message: made printable, and cut after about `max` bytes.
std::string Quoted(std::string_view text, size_t max = 40);

// A file name that is safe on every system, from a name that may hold anything: characters other
// than letters, digits and "_-." become '_', and the name neither starts with a dot nor is empty.
std::string SafeFileName(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_BASE_TEXT_H_
