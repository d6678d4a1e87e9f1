// What went wrong, where, and what to do about it. The library returns errors as values
// (base/result.h); it never prints, exits or throws on user input. cli/ turns a kind into an exit
// code.
#ifndef TESSERA_BASE_ERROR_H_
#define TESSERA_BASE_ERROR_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

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
  kInterrupted,  // somebody asked to stop (base/stop.h) before there was a result
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

}  // namespace tessera

#endif  // TESSERA_BASE_ERROR_H_
