// Sizes of memories as people write them: 65536, "64Kword", "128KB", "2 MiB", "512 Kbit".
#ifndef TESSERA_ARCH_SIZES_H_
#define TESSERA_ARCH_SIZES_H_

#include <cstdint>

#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// Words of `word_bits` bits. A number alone is words. Units are word(s), bit(s) and B (8 bits),
// after K, M, G or Ki, Mi, Gi, which are all powers of 1024, as memories are made. Sizes that are
// no whole number of words are errors, and so is a lower-case k, which might mean 1000.
Result<int64_t> ReadWords(const Node& node, int64_t word_bits);

}  // namespace tessera

#endif  // TESSERA_ARCH_SIZES_H_
