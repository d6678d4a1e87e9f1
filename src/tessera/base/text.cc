// Numbers and words in text.
#include "tessera/base/text.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace tessera {
namespace {

Error BadNumber(std::string_view text, std::string_view what) {
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("{} is not {}", Quoted(text), what)};
}

}  // namespace

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Result<int64_t> ParseInt(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc::result_out_of_range) {
    return Error{.kind = ErrorKind::kOverflow,
                 .message = fmt::format("{} does not fit in 64 bits", Quoted(text))};
  }
  if (code != std::errc() || end != digits.data() + digits.size()) {
    return BadNumber(text, "an integer");
  }
  return value;
}

Result<double> ParseDouble(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) {
    return BadNumber(text, "a finite number");
  }
  return value;
}

std::string WithThousands(int64_t value) {
  std::string digits = fmt::format("{}", value);
  const size_t first = value < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string YamlScalar(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/';
  };
  const auto is_inner = [&](char c) { return is_plain(c) || c == '-' || c == '~'; };
  bool plain = !text.empty() && is_plain(text[0]);
  for (const char c : text) plain = plain && is_inner(c);
  for (const std::string_view word : {"null", "Null", "NULL"}) plain = plain && text != word;
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

size_t Utf8Length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

namespace {

// The character at `at`, escaped if need be; moves `at` behind it.
std::string PrintableCharacter(std::string_view text, size_t& at) {
  const size_t length = Utf8Length(text, at);
  const auto byte = static_cast<unsigned char>(text[at]);
  if (length == 0 || byte < 0x20 || byte == 0x7f) {
    ++at;
    return fmt::format("\\x{:02x}", byte);
  }
  at += length;
  return std::string(text.substr(at - length, length));
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t at = 0; at < text.size();) printable += PrintableCharacter(text, at);
  return printable;
}

std::string Quoted(std::string_view text, size_t max) {
  std::string quoted = "'";
  for (size_t at = 0; at < text.size();) {
    if (quoted.size() > max) return quoted + "...'";
    quoted += PrintableCharacter(text, at);
  }
  return quoted + "'";
}

std::string SafeFileName(std::string_view name) {
  constexpr size_t kLongest = 200;  // file systems take 255 bytes, extensions included
  std::string safe;
  for (const char c : name.substr(0, kLongest)) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    safe += kept ? c : '_';
  }
  if (safe.empty() || safe[0] == '.') safe.insert(0, "_");
  return safe;
}

}  // namespace tessera
