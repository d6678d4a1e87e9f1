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

namespace internal {

// An Error, or none. It is one pointer wide and its code stands in one place: functions that return
// a Result would otherwise each carry the code that copies and destroys an Error's texts.
class ErrorBox {
 public:
  ErrorBox() noexcept = default;
  explicit ErrorBox(const Error& error);
  explicit ErrorBox(Error&& error);
  ErrorBox(const ErrorBox& other);
  ErrorBox(ErrorBox&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  ErrorBox& operator=(ErrorBox other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~ErrorBox() {
    if (error_ != nullptr) Free(error_);
  }

  bool empty() const { return error_ == nullptr; }
  const Error& operator*() const {
    TESSERA_CHECK(error_ != nullptr);
    return *error_;
  }

 private:
  static void Free(const Error* error);

  const Error* error_ = nullptr;
};

}  // namespace internal

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}        // NOLINT: implicit
  Result(const Error& error) : error_(error) {}        // NOLINT: implicit
  Result(Error&& error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // The value; only if ok().
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& value() const {
    TESSERA_CHECK(ok());
    return *value_;
  }
  T& value() {
    TESSERA_CHECK(ok());
    return *value_;
  }

  // The error; only if not ok().
  const Error& error() const { return *error_; }

 private:
  internal::ErrorBox error_;
  std::optional<T> value_;  // nothing if there is an error
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(const Error& error) : error_(error) {}        // NOLINT: implicit
  Result(Error&& error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return error_.empty(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  internal::ErrorBox error_;
};

}  // namespace tessera

#endif  // TESSERA_RESULT_H_
