// Components, and the sources of a machine's numbers, as `tessera component` and `tessera check
// --explain` show them.
#ifndef TESSERA_REPORT_COMPONENT_REPORT_H_
#define TESSERA_REPORT_COMPONENT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tessera/report/json.h"
#include "tessera/report/table.h"
#include "tessera/result.h"

namespace tessera {

// What is asked of a component, as somebody gives it.
struct ComponentQuestion {
  std::string name = {};
  std::optional<int64_t> bytes = {}, width_bits = {};
  std::optional<double> node_nm = {}, length_mm = {};
  std::optional<std::string> kind = {}, type = {};
};

struct ComponentAnswer {
  Json json = {};  // {"component", "read_pj", ..., "source", "scaling"}; null: not known
  Table table;     // a row per number that is known
  std::string source = {};
};

// Errors: unknown components, values that they need or do not take, and values out of range.
Result<ComponentAnswer> AnswerComponent(const ComponentQuestion& question);

// All components: what they take and where their numbers come from.
Table ComponentTable();

// Every number of the machine in a file, with its source and how it was scaled.
Result<Table> SourceTable(std::string_view bytes, const std::string& file);

}  // namespace tessera

#endif  // TESSERA_REPORT_COMPONENT_REPORT_H_
