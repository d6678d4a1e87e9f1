// How many random cases a long test tries: a part of them in `make test`, all in `make test-full`.
#ifndef TESSERA_TESTS_THOROUGH_H_
#define TESSERA_TESTS_THOROUGH_H_

#include <cstdint>
#include <cstdlib>

namespace tessera {

// `all` where TESSERA_THOROUGH is set. The first `part` cases are the same in both.
inline uint64_t Thorough(uint64_t all, uint64_t part) {
  return std::getenv("TESSERA_THOROUGH") != nullptr ? all : part;
}

}  // namespace tessera

#endif  // TESSERA_TESTS_THOROUGH_H_
