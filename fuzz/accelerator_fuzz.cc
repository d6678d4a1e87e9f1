// Feeds arbitrary bytes to every accelerator format: each returns a valid machine or an error that
// names the file. What can be written reads back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tessera/accelerator.h"
#include "tessera/result.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const tessera::AcceleratorFormat* format : tessera::AcceleratorFormats()) {
    const tessera::Result<tessera::Accelerator> read = format->read(bytes, "fuzz");
    if (!read) {
      TESSERA_CHECK(read.error().where.file == "fuzz" && !read.error().message.empty());
      continue;
    }
    TESSERA_CHECK(tessera::Validate(*read).ok());
    const tessera::AcceleratorFormat& native = *tessera::AcceleratorFormats().front();
    const tessera::Result<tessera::Accelerator> again =
        native.read(tessera::AcceleratorText(*read), "again");
    TESSERA_CHECK(again.ok() && *again == *read);
  }
  return 0;
}
