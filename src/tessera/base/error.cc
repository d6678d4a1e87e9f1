// Printing of errors, and the nearest name for a misspelt one.
#include "tessera/result.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Edit distance with transpositions of neighbours as one edit, case ignored.
size_t Distance(std::string_view a_text, std::string_view b_text) {
  const std::string a = Lower(a_text), b = Lower(b_text);
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

namespace internal {

ErrorBox::ErrorBox(const Error& error) : error_(new Error(error)) {}
ErrorBox::ErrorBox(Error&& error) : error_(new Error(std::move(error))) {}
ErrorBox::ErrorBox(const ErrorBox& other)
    : error_(other.empty() ? nullptr : new Error(*other.error_)) {}
void ErrorBox::Free(const Error* error) { delete error; }

}  // namespace internal

std::string ToString(const Where& where) {
  const std::string file = Printable(where.file);  // a name may hold anything
  if (where.line == 0) return file;
  const std::string place = where.column == 0 ? fmt::format("{}", where.line)
                                              : fmt::format("{}:{}", where.line, where.column);
  return file.empty() ? place : fmt::format("{}:{}", file, place);
}

std::string ToString(const Error& error) {
  const std::string place = ToString(error.where);
  return fmt::format("{}{}{}{}{}", place, place.empty() ? "" : ": ", error.message,
                     error.hint.empty() ? "" : "; ", error.hint);
}

std::ostream& operator<<(std::ostream& out, const Error& error) { return out << ToString(error); }

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       size_t few) {
  constexpr size_t kLongestWord = 64;  // a distance is quadratic, and garbage is not a near miss
  if (candidates.empty()) return "";
  const std::string_view* nearest = nullptr;
  size_t nearest_distance = 0;
  if (word.size() <= kLongestWord) {
    for (const std::string_view& candidate : candidates) {
      const size_t distance = Distance(word, candidate);
      if (nearest == nullptr || distance < nearest_distance) {
        nearest = &candidate;
        nearest_distance = distance;
      }
    }
  }
  // One letter instead of another is a different name, not a misspelt one.
  if (nearest != nullptr && nearest_distance <= std::max<size_t>(1, nearest->size() / 3) &&
      nearest_distance < std::max(word.size(), nearest->size())) {
    return fmt::format("did you mean '{}'?", *nearest);
  }
  if (candidates.size() > few) return "";
  return fmt::format("known: {}", fmt::join(candidates, ", "));
}

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates, size_t few) {
  return DidYouMean(word, std::vector<std::string_view>(candidates.begin(), candidates.end()), few);
}

}  // namespace tessera
