// Values of the library as JSON.
#ifndef TESSERA_REPORT_JSON_H_
#define TESSERA_REPORT_JSON_H_

#include "tessera/base/json_text.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// {"file", "line", "column", "message", "hint"}, with null for what is not known.
Json ToJson(const Error& error);

// An integer where it is one that fits, otherwise a double.
Json ToJson(const Decimal& decimal);

}  // namespace tessera

#endif  // TESSERA_REPORT_JSON_H_
