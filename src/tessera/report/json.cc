// Conversions of values to JSON.
#include "tessera/report/json.h"

#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Json NullIfZero(int64_t value) { return value == 0 ? Json(nullptr) : Json(value); }
Json NullIfEmpty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Json ToJson(const Error& error) {
  Json json = {{"file", NullIfEmpty(error.where.file)},
               {"line", NullIfZero(error.where.line)},
               {"column", NullIfZero(error.where.column)},
               {"message", error.message},
               {"hint", NullIfEmpty(error.hint)}};
  if (!error.conflict.empty()) json["conflict"] = error.conflict;
  return json;
}

Json ToJson(const Decimal& decimal) {
  if (const Result<int64_t> whole = ParseInt(decimal.ToString())) return *whole;
  return decimal.ToDouble();
}

}  // namespace tessera
