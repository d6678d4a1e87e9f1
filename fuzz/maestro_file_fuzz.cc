// MAESTRO files with mappings: any bytes give a value or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/base/file.h"
#include "tessera/workload/maestro_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const tessera::Result<std::string> text = tessera::ToText(bytes, "input");
  if (text) static_cast<void>(tessera::ParseMaestroFile(*text, "input").ok());
  return 0;
}
