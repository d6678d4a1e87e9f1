// Feeds arbitrary bytes to the ONNX importer: it returns a network or an error that names the file.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/onnx/onnx_format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const tessera::Result<tessera::Network> network = tessera::onnx::ReadOnnx(bytes, "fuzz.onnx", {});
  if (network) {
    TESSERA_CHECK(tessera::TotalMacs(*network) >= 0);
  } else {
    TESSERA_CHECK(network.error().where.file == "fuzz.onnx" && !network.error().message.empty());
  }
  return 0;
}
