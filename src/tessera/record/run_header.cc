// Headers of runs to and from JSON.
#include "tessera/record/run_header.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/base/sha256.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kFormat = "tessera-run-2";
constexpr std::string_view kOldFormat = "tessera-run-1";
constexpr std::string_view kSittings = "sittings";
constexpr size_t kIdDigits = 16;

// Null for what is not JSON, has a key twice, or nests so deep that writing it would take the
// stack.
Json ParseLimited(std::string_view text) {
  if (!ParseJson(text, "")) return nullptr;
  return FromText(text);
}

std::string WithSeal(Json json) {
  json["seal"] = Sha256Hex(ToLine(json));
  return json.dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

bool TakeSeal(Json& json) {
  if (!json.is_object() || !json.contains("seal") || !json["seal"].is_string()) return false;
  const std::string seal = json["seal"].get<std::string>();
  json.erase("seal");
  return seal == Sha256Hex(ToLine(json));
}

Json HashesJson(const std::map<std::string, std::string>& hashes) {
  Json json = Json::object();
  for (const auto& [name, hash] : hashes) json[name] = hash;
  return json;
}

// False if the value is not of the type.
bool Take(const Json& json, std::string& text) {
  if (!json.is_string()) return false;
  text = json.get<std::string>();
  return true;
}

// A name that leads out of the folder is none of ours.
bool Inside(const std::string& name) {
  return !name.empty() && name.front() != '/' && name.find("..") == std::string::npos;
}

bool Take(const Json& json, std::map<std::string, std::string>& hashes) {
  if (!json.is_object()) return false;
  for (const auto& [name, hash] : json.items()) {
    if (!hash.is_string() || !Inside(name)) return false;
    hashes[name] = hash.get<std::string>();
  }
  return true;
}

bool Take(const Json& json, std::vector<std::string>& words) {
  if (!json.is_array()) return false;
  for (const Json& word : json) {
    if (!word.is_string()) return false;
    words.push_back(word.get<std::string>());
  }
  return true;
}

Error OtherFormat(const Json& json, const std::string& file) {
  // Folders of the first version do not all say what they are.
  const std::string format = json.contains("format")
                                 ? (json["format"].is_string() ? json["format"].get<std::string>()
                                                               : ToLine(json["format"]))
                                 : std::string(kOldFormat);
  if (format == kOldFormat) {
    return Error{
        .kind = ErrorKind::kUnsupported,
        .message = fmt::format("made by tessera 0.1 (format {}); use that version", format),
        .where = {.file = file}};
  }
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("a run of format {}, but this program reads {}",
                                      Quoted(format), kFormat),
               .where = {.file = file},
               .hint = "use the version of tessera that made it"};
}

Json IdentityJson(const RunHeader& header) {
  return {{"kind", header.kind},
          {"settings", FromText(header.settings)},
          {"seed", header.seed},
          {"inputs", HashesJson(header.inputs)}};
}

}  // namespace

std::string RunId(const RunHeader& header) {
  return Sha256Hex(ToLine(IdentityJson(header))).substr(0, kIdDigits);
}

std::string ToJsonText(const RunHeader& header) {
  Json json = {{"format", kFormat},
               {"kind", header.kind},
               {"version", header.origin.version},
               {"id", header.id},
               {"command", header.origin.command},
               {"settings", FromText(header.settings)},
               {"seed", header.seed},
               {"inputs", HashesJson(header.inputs)}};
  if (header.ended()) json["results"] = HashesJson(header.results);
  return WithSeal(std::move(json));
}

Result<RunHeader> ParseRunHeader(std::string_view text, const std::string& file) {
  const auto bad = [&](std::string message) {
    return Error{
        .kind = ErrorKind::kBadValue, .message = std::move(message), .where = {file, 0, 0}};
  };
  Json json = ParseLimited(text);
  if (!json.is_object()) return bad("this is not the header of a run");
  if (json.value("format", Json()) != kFormat) return OtherFormat(json, file);
  if (!TakeSeal(json)) return bad("the header was changed: its seal does not fit");
  RunHeader header;
  const bool whole = Take(json["kind"], header.kind) &&
                     Take(json["version"], header.origin.version) && Take(json["id"], header.id) &&
                     Take(json["command"], header.origin.command) &&
                     Take(json["inputs"], header.inputs) && json["settings"].is_object() &&
                     json["seed"].is_number_integer() &&
                     (!json.contains("results") || Take(json["results"], header.results));
  if (!whole) return bad("this is not the header of a run");
  header.settings = ToLine(json["settings"]);
  header.seed = json["seed"].get<int64_t>();
  return header;
}

std::string WithSitting(std::string_view earlier, std::string_view sitting) {
  Json json = ParseLimited(earlier);
  if (!TakeSeal(json) || !json.contains(kSittings) || !json[kSittings].is_array()) {
    json = Json{{kSittings, Json::array()}};
  }
  json[kSittings].push_back(FromText(sitting));
  return WithSeal(std::move(json));
}

bool SealFits(std::string_view text) {
  Json json = ParseLimited(text);
  return TakeSeal(json);
}

}  // namespace tessera
