// The frame of plain pages.
#include "tessera/report/page.h"

#include <fmt/format.h>

#include "tessera/base/xml.h"

namespace tessera {

std::string Page(std::string_view title, std::string_view text, std::string_view drawings) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>body{{font-family:sans-serif;margin:2em;max-width:70em}}pre{{overflow-x:auto}}"
      "</style></head><body>\n<h1>{0}</h1>\n<pre>{1}</pre>\n{2}</body></html>\n",
      EscapedXml(title), EscapedXml(text), drawings);
}

}  // namespace tessera
