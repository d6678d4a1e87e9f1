// How the search of a layer went, for its page: the best value so far, what became of samples, and
// how decisions settled.
#ifndef TESSERA_REPORT_SEARCH_DATA_H_
#define TESSERA_REPORT_SEARCH_DATA_H_

#include <string>
#include <vector>

#include "tessera/report/json.h"
#include "tessera/space.h"

namespace tessera {

// `trials` are those of a journal, in their order.
Json SearchJson(const std::string& layer, const DecisionSpace& space,
                const std::vector<Trial>& trials);

}  // namespace tessera

#endif  // TESSERA_REPORT_SEARCH_DATA_H_
