// Numbers and words in text.
#include "tessera/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace tessera {
namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 0;  // 0: not UTF-8

  // What does more than to stand where it is: C0, DEL, C1, separators of lines and paragraphs,
  // marks of direction, and what XML does not allow.
  bool IsControl() const {
    return value < 0x20 || (value >= 0x7f && value <= 0x9f) ||
           (value >= 0x200e && value <= 0x200f) || (value >= 0x2028 && value <= 0x202e) ||
           (value >= 0x2066 && value <= 0x2069) || value == 0xfffe || value == 0xffff;
  }
};

CodePoint CodePointAt(std::string_view text, size_t at) {
  const size_t length = Utf8Length(text, at);
  if (length == 0) return {};
  constexpr uint32_t kLeadBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t value = static_cast<unsigned char>(text[at]) & kLeadBits[length];
  for (size_t i = 1; i < length; ++i) {
    value = value << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  return {value, surrogate ? 0 : length};
}

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

std::string WholeText(double value) {
  if (std::abs(value) < 0x1p62) return WithThousands(std::llround(value));
  return fmt::format("{:.6g}", value);
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
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (const CodePoint next = CodePointAt(text, at); next.length > 1 && next.IsControl()) {
      quoted += fmt::format("\\u{:04X}", next.value);
      at += next.length;
      continue;
    }
    ++at;
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

// Appends the character at `at`, escaped if need be; moves `at` behind it.
void AppendPrintable(std::string_view text, size_t& at, std::string& to) {
  const CodePoint next = CodePointAt(text, at);
  const auto byte = static_cast<unsigned char>(text[at]);
  if (next.length == 0 || byte < 0x20 || byte == 0x7f) {
    to += fmt::format("\\x{:02x}", byte);
  } else if (next.IsControl()) {
    to += fmt::format("\\u{:04x}", next.value);
  } else {
    to += text.substr(at, next.length);
  }
  at += std::max<size_t>(1, next.length);
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t at = 0; at < text.size();) AppendPrintable(text, at, printable);
  return printable;
}

std::string PrintableLines(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte == '\n' || byte == '\t' || (byte >= 0x20 && byte < 0x7f)) {
      printable += text[at++];
    } else if (byte == 0x7f) {  // a form that JSON knows, too
      printable += "\\u007f";
      ++at;
    } else {
      AppendPrintable(text, at, printable);
    }
  }
  return printable;
}

std::string Shortened(std::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return fmt::format("{}... ({} more bytes)", text.substr(0, end), text.size() - end);
}

std::string Quoted(std::string_view text, size_t max) {
  std::string quoted = "'";
  for (size_t at = 0; at < text.size();) {
    if (quoted.size() > max) return quoted + "...'";
    AppendPrintable(text, at, quoted);
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
