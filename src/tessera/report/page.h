// A page that a browser opens without anything else: a heading, text as it stands, drawings.
#ifndef TESSERA_REPORT_PAGE_H_
#define TESSERA_REPORT_PAGE_H_

#include <string>
#include <string_view>

namespace tessera {

// Title and text may hold anything; `drawings` is SVG.
std::string Page(std::string_view title, std::string_view text, std::string_view drawings);

}  // namespace tessera

#endif  // TESSERA_REPORT_PAGE_H_
