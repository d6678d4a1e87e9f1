// Data files that are compiled into a library, so that a binary needs no data folder:
// tessera_embed() in cmake/TesseraEmbed.cmake generates the function that returns them.
#ifndef TESSERA_BASE_EMBEDDED_H_
#define TESSERA_BASE_EMBEDDED_H_

#include <string_view>

namespace tessera {

struct EmbeddedFile {
  std::string_view name;  // without folder and extension: "resnet18"
  std::string_view contents;
};

}  // namespace tessera

#endif  // TESSERA_BASE_EMBEDDED_H_
