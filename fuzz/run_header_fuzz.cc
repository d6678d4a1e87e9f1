// run.json: any text, as it is and with a seal that fits, gives a header or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tessera/base/sha256.h"
#include "tessera/record/run_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(ParseRunHeader(text, "run.json").ok());
  // As a forger would seal it; what nests too deep for that is refused before its seal is looked
  // at.
  if (!text.starts_with('{') || size > 10'000) return 0;
  auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return 0;
  json.erase("seal");
  json["seal"] = Sha256Hex(json.dump());
  static_cast<void>(ParseRunHeader(json.dump(), "run.json").ok());
  return 0;
}
