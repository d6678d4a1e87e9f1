// Integer expressions over named parameters, the sizes of native network files: "12*batch",
// "seq+past", "(Y+2)/2".
#ifndef TESSERA_WORKLOAD_EXPRESSION_H_
#define TESSERA_WORKLOAD_EXPRESSION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tessera/result.h"

namespace tessera {

// The value of `text`: integers, parameters, + - * / and parentheses. Division must be exact and
// nothing may overflow 64 bits. An error's column is its place within `text`, from 1.
Result<int64_t> EvaluateExpression(std::string_view text,
                                   const std::map<std::string, int64_t>& parameters);

// Whether `text` can name a parameter: a letter or '_', then letters, digits and '_'.
bool IsParameterName(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_EXPRESSION_H_
