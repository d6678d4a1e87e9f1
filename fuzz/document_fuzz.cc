// YAML and JSON documents: any bytes give a tree or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/base/document.h"
#include "tessera/base/file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const tessera::Result<std::string> text = tessera::ToText(bytes, "input");
  if (text) static_cast<void>(tessera::ParseDocument(*text, "input").ok());
  return 0;
}
