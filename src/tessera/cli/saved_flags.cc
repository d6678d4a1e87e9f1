#include "tessera/cli/saved_flags.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

template <typename T>
struct Held {
  using Type = T;
};
template <typename T>
struct Held<std::optional<T>> {
  using Type = T;
};

// Whether JSON holds what a flag takes; numbers of either kind will do for a double.
template <typename T>
bool Fits(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) return value.is_boolean();
  if constexpr (std::is_same_v<T, std::string>) return value.is_string();
  if constexpr (std::is_same_v<T, int64_t>) return value.is_number_integer();
  if constexpr (std::is_same_v<T, double>) return value.is_number();
  if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return value.is_array() &&
           std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); });
  }
  return false;
}

}  // namespace

Json SaveFlags(std::span<const Flag> flags) {
  Json saved = Json::object();
  for (const Flag& flag : flags) {
    std::visit(
        [&]<typename T>(const T* target) {
          if constexpr (std::is_same_v<T, typename Held<T>::Type>) {
            saved[std::string(flag.name)] = *target;
          } else if (*target) {
            saved[std::string(flag.name)] = **target;
          }
        },
        flag.target);
  }
  return saved;
}

Result<void> RestoreFlags(const Json& saved, std::span<const Flag> flags) {
  for (const auto& [name, value] : saved.items()) {
    const auto flag =
        std::find_if(flags.begin(), flags.end(), [&name](const Flag& f) { return f.name == name; });
    const bool taken = flag != flags.end() && std::visit(
                                                  [&]<typename T>(T* target) {
                                                    using Type = typename Held<T>::Type;
                                                    if (!Fits<Type>(value)) return false;
                                                    *target = value.template get<Type>();
                                                    return true;
                                                  },
                                                  flag->target);
    if (!taken) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("flag {} cannot be {}", name, value.dump())};
    }
  }
  return {};
}

}  // namespace tessera
