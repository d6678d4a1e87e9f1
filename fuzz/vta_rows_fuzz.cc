// Rows of `--batch`: any line is answered with one JSON object or refused with an error. The first
// byte picks the kind of row.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/result.h"
#include "tessera/vta/batch/rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  using namespace tessera::vta;
  if (size < 2 || size > 1 << 14) return 0;
  static const ConfigTable configs = PresetTable();
  const std::string_view row(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Where where = {.file = "rows", .line = 1};
  const auto answer = [&]() -> Result<std::string> {
    switch (data[0] % 4) {
      case 0: return AnswerProgram(row, configs, {}, where);
      case 1: {
        BestTable unused;
        return AnswerConv(row, RowGenerator::kReference, unused, configs, {}, where);
      }
      case 2: return AnswerEncode(row, configs, where);
      default: return AnswerDecode(row, configs, where);
    }
  }();
  if (answer) {
    TESSERA_CHECK(answer->front() == '{' && answer->back() == '}' &&
                  answer->find('\n') == std::string::npos);
  } else {
    TESSERA_CHECK(!answer.error().message.empty() && answer.error().where.line == 1);
  }
  return 0;
}
