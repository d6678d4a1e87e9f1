// Errors are values. Result<T> is a T or the Error that prevented it, with its kind, its place in
// the input and what to try instead. The library never prints, exits or throws on a user's input.
//
//   const Result<Network> network = LoadNetwork("resnet18");
//   if (!network) return network.error();
//   Use(*network);
#ifndef TESSERA_RESULT_H_
#define TESSERA_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

// ---- Programming errors ------------------------------------------------------------------------
//
// TESSERA_CHECK(condition): stops the program on a programmer's error. Never for user input, which
// gives an Error instead.

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace tessera

#define TESSERA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::tessera::CheckFailed(#condition, __FILE__, __LINE__))

namespace tessera {

// ---- Errors ------------------------------------------------------------------------------------
//
// What went wrong, where, and what to do about it. The command line turns a kind into an exit code.

enum class ErrorKind {
  kUsage,        // the command line is wrong
  kIo,           // a file cannot be read or written
  kSyntax,       // the input does not follow its format's grammar
  kUnknownName,  // a key, dimension, layer, method, ... that does not exist
  kBadValue,     // a value of the wrong type or outside its range
  kOverflow,     // a product or sum of the input exceeds 64 bits
  kUnsupported,  // well-formed, but outside what Tessera models
  kInfeasible,   // a constraint cannot be met; the message holds the violated inequality
  kBudget,       // the budget ended without a solution
  kInterrupted,  // somebody asked to stop before there was a result
  kInternal,     // a defect of Tessera
};

// A place in an input. An empty file or a zero line means "not known"; both count from 1.
struct Where {
  std::string file = {};
  int64_t line = 0;
  int64_t column = 0;

  friend bool operator==(const Where&, const Where&) = default;
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message = {};
  Where where = {};
  std::string hint = {};  // what to try: "did you mean 'K'?"
  // Infeasible constraints: a smallest set of them that cannot hold together, one text each.
  std::vector<std::string> conflict = {};
};

// "net.m:1:47: unknown dimension 'KK'; did you mean 'K'?", without the parts that are not known.
std::string ToString(const Where& where);
std::string ToString(const Error& error);
std::ostream& operator<<(std::ostream& out, const Error& error);

// "did you mean 'K'?" for the candidate nearest to `word`, or a list of the candidates if none is
// near and there are at most `few`, or nothing.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       size_t few = 12);
std::string DidYouMean(std::string_view word, std::span<const std::string> candidates,
                       size_t few = 12);

// ---- Results -----------------------------------------------------------------------------------
//
// A T or the Error that prevented it. Callers pass an error up in one visible line.

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

#endif  // TESSERA_RESULT_H_
