// SHA-256 (FIPS 180-4): how a run folder notices that one of its files is not what was written.
// Written by hand because the libraries that have it (OpenSSL, libgcrypt) would each be one more
// thing that the Python wheel has to carry, for eighty lines.
#ifndef TESSERA_BASE_SHA256_H_
#define TESSERA_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/result.h"

namespace tessera {

// Takes bytes in parts of any size. After Hex nothing more may be added.
class Sha256 {
 public:
  Sha256& Add(std::string_view bytes);
  std::string Hex();  // 64 lower-case digits

 private:
  void AddBlock(const unsigned char* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> rest_ = {};  // bytes that do not fill a block yet
  size_t rest_size_ = 0;
  uint64_t total_bytes_ = 0;
};

std::string Sha256Hex(std::string_view bytes);

// Of the bytes as they are on disk, however large the file is. Symbolic links are errors. `stops`:
// so is being asked to stop; what a run that was stopped leaves is hashed without.
Result<std::string> Sha256OfFile(const std::string& path, bool stops = false);

}  // namespace tessera

#endif  // TESSERA_BASE_SHA256_H_
