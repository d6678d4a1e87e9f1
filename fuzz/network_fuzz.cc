// One network format (TESSERA_FORMAT): any bytes give a network or an error; a network is valid,
// its totals can be computed, and what the format writes of it can be read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/network.h"
#include "tessera/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  static const NetworkFormat& format = **FindNetworkFormat(TESSERA_FORMAT);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<Network> network = format.read(bytes, "input", {});
  if (!network) {
    TESSERA_CHECK(network.error().where.file == "input");
    return 0;
  }
  for (const NetworkLayer& entry : network->layers) TESSERA_CHECK(Validate(entry.layer).ok());
  TESSERA_CHECK(TotalMacs(*network) > 0 && TotalParameters(*network) >= 0);
  const Result<Export> exported = format.write(*network);
  if (!exported) {
    // Repeated layers or folded sizes may be too much for the format, and nothing else.
    TESSERA_CHECK(exported.error().kind == ErrorKind::kUnsupported);
    return 0;
  }
  for (const ExportedFile& file : exported->files) {
    TESSERA_CHECK(format.read(file.contents, file.name, {}).ok());
  }
  return 0;
}
