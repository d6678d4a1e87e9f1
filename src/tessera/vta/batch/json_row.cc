#include "tessera/vta/batch/json_row.h"

#include <fmt/format.h>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"

namespace tessera::vta {

JsonRow::JsonRow(std::string_view row, const Where& where) : where_(where), row_(FromText(row)) {
  if (row_.is_discarded() || !row_.is_object()) Fail("not a JSON object", ErrorKind::kSyntax);
}

void JsonRow::Fail(std::string message, ErrorKind kind, std::string hint) {
  if (!ok()) return;
  error_ =
      Error{.kind = kind, .message = std::move(message), .where = where_, .hint = std::move(hint)};
}

const Json* JsonRow::Find(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (object.is_object() && found != object.end()) return &*found;
  Fail(fmt::format("row lacks '{}'", key));
  return nullptr;
}

uint64_t JsonRow::Unsigned(const Json& object, const char* key, uint64_t most) {
  const Json* value = Find(object, key);
  if (value == nullptr) return 0;
  const bool is_unsigned = value->is_number_unsigned();
  if (!is_unsigned || value->get<uint64_t>() > most) {
    Fail(fmt::format("'{}' is {}, not an integer from 0 to {}", key, Quoted(value->dump()), most));
    return 0;
  }
  return value->get<uint64_t>();
}

std::string JsonRow::String(const Json& object, const char* key) {
  const Json* value = Find(object, key);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    Fail(fmt::format("'{}' is {}, not a string", key, Quoted(value->dump())));
    return {};
  }
  return value->get<std::string>();
}

Config JsonRow::ConfigOf(const ConfigTable& configs) {
  if (!ok() || !row_.contains("config")) return {};
  const std::string name = String(row_, "config");
  const auto found = configs.find(name);
  if (found != configs.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, config] : configs) names.push_back(known);
  Fail(fmt::format("unknown VTA configuration {}", Quoted(name)), ErrorKind::kUnknownName,
       DidYouMean(name, names));
  return {};
}

}  // namespace tessera::vta
