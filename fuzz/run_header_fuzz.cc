// run.json: any text, as it is and with a seal that fits, gives a header or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tessera/record/run_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(ParseRunHeader(text, "run.json").ok());
  if (!text.starts_with('{') || !nlohmann::json::accept(text)) return 0;
  static_cast<void>(ParseRunHeader(Sealed(text), "run.json").ok());
  return 0;
}
