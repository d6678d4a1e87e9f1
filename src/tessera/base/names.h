// Words for the values of an enum: one table per enum, `constexpr std::array<std::string_view, n>`
// in the order of its values, that --help, files and messages all read.
#ifndef TESSERA_BASE_NAMES_H_
#define TESSERA_BASE_NAMES_H_

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera {

// The position of a word in a table. The error is about `what`: "unknown objective 'latnecy'; did
// you mean 'latency'?", of kind kUsage.
Result<size_t> FindPosition(std::string_view what, std::string_view word,
                            std::span<const std::string_view> names);

// The value of an enum that a word names.
template <typename Enum, size_t kCount>
Result<Enum> FindName(std::string_view what, std::string_view word,
                      const std::array<std::string_view, kCount>& names) {
  const Result<size_t> position = FindPosition(what, word, names);
  if (!position) return position.error();
  return static_cast<Enum>(*position);
}

// The word for a value.
template <typename Enum, size_t kCount>
constexpr std::string_view NameOf(Enum value, const std::array<std::string_view, kCount>& names) {
  return names[static_cast<size_t>(value)];
}

}  // namespace tessera

#endif  // TESSERA_BASE_NAMES_H_
