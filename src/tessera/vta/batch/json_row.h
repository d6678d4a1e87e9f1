// Reading keys of a JSON row: the first thing that is wrong is remembered and reported once.
#ifndef TESSERA_VTA_BATCH_JSON_ROW_H_
#define TESSERA_VTA_BATCH_JSON_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/result.h"
#include "tessera/vta/batch/record.h"
#include "tessera/vta/config.h"

namespace tessera::vta {

class JsonRow {
 public:
  // Parses the row; not a JSON object is an error like all others.
  JsonRow(std::string_view row, const Where& where);

  const Json& row() const { return row_; }
  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }
  void Fail(std::string message, ErrorKind kind = ErrorKind::kBadValue, std::string hint = "");

  // Values of keys that must be there; after a failure something empty.
  const Json* Find(const Json& object, const char* key);
  uint64_t Unsigned(const Json& object, const char* key, uint64_t most);
  std::string String(const Json& object, const char* key);

  // The configuration that "config" names; the default one without that key.
  Config ConfigOf(const ConfigTable& configs);

 private:
  const Where where_;
  Json row_;
  std::optional<Error> error_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_BATCH_JSON_ROW_H_
