// What `tessera map --explain-method` says.
#ifndef TESSERA_REPORT_ADVICE_REPORT_H_
#define TESSERA_REPORT_ADVICE_REPORT_H_

#include <string>

#include "tessera/mapper/advice.h"
#include "tessera/report/json.h"

namespace tessera {

// The advice with its reasons, what is not worth it, and a table of everything that was compared.
std::string AdviceText(const Advice& advice);

// "method", "samples", "why", "then", "then_why", "provable", "evaluation_seconds",
// "log10_size" [least, most], "not_worth_it" [{"method", "why"}], "options" [{"method", "samples",
// "ratio", "worst", "seconds"}].
Json AdviceJson(const Advice& advice);

}  // namespace tessera

#endif  // TESSERA_REPORT_ADVICE_REPORT_H_
