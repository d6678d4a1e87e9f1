// Command lines: any words, one per line of the input, give a command or an error. Nothing is run.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  std::vector<std::string> words;
  for (const std::string_view word :
       Split(std::string_view(reinterpret_cast<const char*>(data), size), '\n')) {
    words.emplace_back(word);
  }
  static_cast<void>(ParseLine(Commands(), words).ok());
  return 0;
}
