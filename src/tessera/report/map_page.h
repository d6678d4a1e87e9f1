// A mapping run as one page that a browser opens without anything else: totals, layers, how the
// search went, a roofline, and every mapping.
#ifndef TESSERA_REPORT_MAP_PAGE_H_
#define TESSERA_REPORT_MAP_PAGE_H_

#include <string>

#include "tessera/map.h"
#include "tessera/result.h"

namespace tessera {

// HTML; the same run gives the same page.
Result<std::string> MapPage(const MapJob& job, const NetworkMapping& mapping);

}  // namespace tessera

#endif  // TESSERA_REPORT_MAP_PAGE_H_
