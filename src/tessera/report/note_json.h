// What search methods say about themselves, as JSON.
#ifndef TESSERA_REPORT_NOTE_JSON_H_
#define TESSERA_REPORT_NOTE_JSON_H_

#include <vector>

#include "tessera/report/json.h"
#include "tessera/search.h"

namespace tessera {

// {"warmup_samples": 2000, ...}.
Json ToJson(const std::vector<Note>& notes);

}  // namespace tessera

#endif  // TESSERA_REPORT_NOTE_JSON_H_
