// Result<T>: a T or the Error that prevented it. Callers pass an error up in one visible line:
//
//   const Result<Network> network = LoadNetwork(path);
//   if (!network) return network.error();
#ifndef TESSERA_BASE_RESULT_H_
#define TESSERA_BASE_RESULT_H_

#include <optional>
#include <utility>
#include <variant>

#include "tessera/base/check.h"
#include "tessera/base/error.h"

namespace tessera {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // The value; only if ok().
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& value() const {
    TESSERA_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  T& value() {
    TESSERA_CHECK(ok());
    return *std::get_if<0>(&state_);
  }

  // The error; only if not ok().
  const Error& error() const {
    TESSERA_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    TESSERA_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_RESULT_H_
