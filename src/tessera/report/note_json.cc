// Notes as JSON.
#include "tessera/report/note_json.h"

#include <nlohmann/json.hpp>

namespace tessera {

Json ToJson(const std::vector<Note>& notes) {
  Json json = Json::object();
  for (const Note& note : notes) {
    std::visit([&](const auto& value) { json[note.name] = value; }, note.value);
  }
  return json;
}

}  // namespace tessera
