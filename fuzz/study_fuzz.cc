// Study files and records of units: any text gives a study, a record or an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/base/file.h"
#include "tessera/study/study_file.h"
#include "tessera/study/unit_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const Result<std::string> text =
      ToText(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!text) return 0;
  static_cast<void>(ParseStudyFile(*text, "input").ok());
  static_cast<void>(CheckRecord(*text, {.file = "input"}).ok());
  return 0;
}
