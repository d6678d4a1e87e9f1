// Runs a search method on a problem within a budget. This is the only place that counts samples and
// reads the clock, so every method is measured alike.
#ifndef TESSERA_SEARCH_DRIVER_H_
#define TESSERA_SEARCH_DRIVER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/search.h"
#include "tessera/search/evaluator.h"

namespace tessera {

// Errors: a budget without samples, recorded trials that the method does not propose, or what the
// observer returned. A run without a feasible point is not an error here: `best` is empty.
Result<SearchResult> RunSearch(Searcher& searcher, Evaluator& evaluator,
                               const SearchOptions& options, SearchObserver* observer = nullptr);

// The same for a method that has yet to be made, which counts: networks take time. What time or a
// stop cuts off in the middle of learning or making is left unfinished.
Result<SearchResult> RunMethod(const MethodChoice& method, const SearchSetup& setup,
                               Evaluator& evaluator, const SearchOptions& options,
                               SearchObserver* observer = nullptr);

}  // namespace tessera

#endif  // TESSERA_SEARCH_DRIVER_H_
