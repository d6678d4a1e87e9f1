// What a fuzzer has made up, as a file for code that reads files.
#ifndef TESSERA_FUZZ_INPUT_FILE_H_
#define TESSERA_FUZZ_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "tessera/base/temporary_folder.h"

namespace tessera {

// The file is the same for every input, and goes with the program.
inline std::string InputFile(const uint8_t* data, size_t size) {
  static const TemporaryFolder folder;
  std::string path = folder.File("input");
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path;
}

}  // namespace tessera

#endif  // TESSERA_FUZZ_INPUT_FILE_H_
