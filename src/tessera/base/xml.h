// Text inside SVG and HTML.
#ifndef TESSERA_BASE_XML_H_
#define TESSERA_BASE_XML_H_

#include <string>
#include <string_view>

namespace tessera {

// The text with <, >, & and " as entities, and control characters and what is not UTF-8 escaped
// ("\\x1b"), which XML cannot hold: safe between tags and in quoted attributes.
std::string EscapedXml(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_BASE_XML_H_
