#include "tessera/base/json_text.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json.h"

namespace tessera {
namespace {

// Objects and lists of objects over several lines, lists of plain values such as [1, 1] on one.
void Write(const Json& json, size_t depth, std::string& text) {
  const bool plain_list =
      json.is_array() &&
      std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_primitive(); });
  if (json.is_primitive() || json.empty()) {
    text += ToLine(json);
    return;
  }
  const std::string_view separator = plain_list ? ", " : ",";
  const std::string line = plain_list ? "" : "\n" + std::string(2 * (depth + 1), ' ');
  text += json.is_array() ? '[' : '{';
  for (auto item = json.begin(); item != json.end(); ++item) {
    if (item != json.begin()) text += separator;
    text += line;
    if (json.is_object()) text += ToLine(Json(item.key())) + ": ";
    Write(*item, depth + 1, text);
  }
  if (!plain_list) text += "\n" + std::string(2 * depth, ' ');
  text += json.is_array() ? ']' : '}';
}

}  // namespace

std::string ToText(const Json& json) {
  std::string text;
  Write(json, 0, text);
  return text + "\n";
}

std::string ToLine(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json FromText(std::string_view text) {
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

Result<Json> ReadJson(const std::string& file) {
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  if (const Result<Node> node = ParseJson(*text, file); !node) return node.error();
  return FromText(*text);
}

const Json& ValueAt(const Json& json, std::string_view key) {
  static const Json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

std::optional<double> NumberAt(const Json& json, std::string_view key) {
  const Json& value = ValueAt(json, key);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string TextAt(const Json& json, std::string_view key) {
  const Json& value = ValueAt(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace tessera
