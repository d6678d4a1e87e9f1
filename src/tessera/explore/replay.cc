#include "tessera/explore/replay.h"

#include <string>

#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/part.h"

namespace tessera {

Result<Replay> ReplayOf(const RunDirectory& directory) {
  const std::string file = directory.File("result.json");
  const Result<std::string> text = ReadTextFile(file);
  if (!text) return text.error();
  const nlohmann::ordered_json json = FromText(*text);
  Replay replay;
  if (json.is_object() && json.contains("turns") && json["turns"].is_number_integer() &&
      json.contains("stopped_by") && json["stopped_by"].is_string()) {
    replay.turns = json["turns"].get<int64_t>();
    const Result<MapStop> stop =
        FindName<MapStop>("stop", json["stopped_by"].get<std::string>(), kMapStopNames);
    if (stop) {
      replay.stopped_by = *stop;
      return replay;
    }
  }
  return Error{.kind = ErrorKind::kSyntax,
               .message = "this is not the result of an exploration",
               .where = {.file = file}};
}

}  // namespace tessera
