// Schedules of VTA programs, of both templates: any text gives one or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/codegen/tiled.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(vta::ParseKnobs(text).ok());
  static_cast<void>(vta::ParseTiledSchedule(text).ok());
  return 0;
}
