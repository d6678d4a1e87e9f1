// Batch rows of both cost models: any line is answered or refused. The first byte chooses the
// model.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/cost/loopnest/row.h"
#include "tessera/cost/maestro/batch.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const std::string_view line(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    static_cast<void>(maestro::ReadRow(line, {}).ok());
    return 0;
  }
  const Result<Node> node = ParseJson(line, "input");
  if (node) static_cast<void>(loopnest::ReadRow(*node).ok());
  return 0;
}
