// Entities.
#include "tessera/base/xml.h"

#include "tessera/base/text.h"

namespace tessera {

std::string EscapedXml(std::string_view text) {
  std::string escaped;
  for (const char c : PrintableLines(text)) {
    switch (c) {
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '&': escaped += "&amp;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

}  // namespace tessera
