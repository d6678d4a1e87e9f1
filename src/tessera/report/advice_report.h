// What `tessera map --explain-method` says.
#ifndef TESSERA_REPORT_ADVICE_REPORT_H_
#define TESSERA_REPORT_ADVICE_REPORT_H_

#include <string>

#include <nlohmann/json.hpp>

#include "tessera/map.h"
#include "tessera/report/json.h"
#include "tessera/result.h"

namespace tessera {

struct AdviceView {
  // The advice with its reasons, what is not worth it, and a table of everything compared.
  std::string text = {};
  // "method", "samples", "why", "then", "then_why", "provable", "evaluation_seconds", "log10_size"
  // [least, most], "not_worth_it" [{"method", "why"}], "options" [{"method", "samples", "ratio",
  // "worst", "seconds"}].
  Json json = {};
};

// Which method and budget a job is worth. Errors: layers that cannot be mapped.
Result<AdviceView> AdviceFor(const MapJob& job);

}  // namespace tessera

#endif  // TESSERA_REPORT_ADVICE_REPORT_H_
