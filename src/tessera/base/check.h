// TESSERA_CHECK(condition): stops the program on a programmer's error. Never for user input, which
// gives an Error instead.
#ifndef TESSERA_BASE_CHECK_H_
#define TESSERA_BASE_CHECK_H_

namespace tessera {

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace tessera

#define TESSERA_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::tessera::CheckFailed(#condition, __FILE__, __LINE__))

#endif  // TESSERA_BASE_CHECK_H_
