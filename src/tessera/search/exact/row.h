// Mapping problems as rows of text, one JSON object each: `id`, `problem` and `arch` as in rows of
// `tessera evaluate --batch`, and `keep`: per level, inner to outer, the tensors that it holds.
#ifndef TESSERA_SEARCH_EXACT_ROW_H_
#define TESSERA_SEARCH_EXACT_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/mapping.h"
#include "tessera/result.h"

namespace tessera::exact {

struct ProblemRow {
  std::string id = {};
  LoopProblem problem = {};
  Accelerator machine = {};        // with a hierarchy
  std::vector<uint8_t> keep = {};  // as MapperOptions::keep
};

// Other keys of the row are left alone. Errors name the row's id and its line.
Result<ProblemRow> ReadProblemRow(const Node& node);

}  // namespace tessera::exact

#endif  // TESSERA_SEARCH_EXACT_ROW_H_
