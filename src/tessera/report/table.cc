// The three forms of a table.
#include "tessera/report/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/result.h"

namespace tessera {
namespace {

// Columns on a terminal that a text takes: code points, which is right for everything but wide
// scripts.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string CsvText(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) line += ',';
    line += part;
  }
  return line + "\n";
}

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace

std::string Cell::ForPeople() const {
  return std::visit(Overloaded{[](std::monostate) { return std::string("-"); },
                               [](bool value) { return std::string(value ? "yes" : "no"); },
                               [](int64_t value) { return WithThousands(value); },
                               [](double value) { return fmt::format("{:.6g}", value); },
                               [](const std::string& value) { return Printable(value); }},
                    value_);
}

std::string Cell::ForCsv() const {
  return std::visit(Overloaded{[](std::monostate) { return std::string(); },
                               [](bool value) { return std::string(value ? "true" : "false"); },
                               [](int64_t value) { return fmt::format("{}", value); },
                               [](double value) { return fmt::format("{}", value); },
                               [](const std::string& value) { return CsvText(value); }},
                    value_);
}

Json Cell::ForJson() const {
  return std::visit(Overloaded{[](std::monostate) { return Json(nullptr); },
                               [](const auto& value) { return Json(value); }},
                    value_);
}

void Table::AddRow(std::vector<Cell> cells) {
  TESSERA_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string ToText(const Table& table) {
  const size_t columns = table.columns().size();
  std::vector<std::vector<std::string>> lines = {table.columns()};
  for (const std::vector<Cell>& row : table.rows()) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const Cell& cell : row) line.push_back(cell.ForPeople());
  }
  std::vector<size_t> widths(columns, 0);
  std::vector<bool> right(columns, false);
  for (size_t column = 0; column < columns; ++column) {
    for (const auto& line : lines) widths[column] = std::max(widths[column], Width(line[column]));
    right[column] = std::any_of(table.rows().begin(), table.rows().end(),
                                [&](const auto& row) { return row[column].IsNumber(); });
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string shown;
    for (size_t column = 0; column < columns; ++column) {
      const std::string padding(widths[column] - Width(line[column]), ' ');
      if (column > 0) shown += "  ";
      shown += right[column] ? padding + line[column] : line[column] + padding;
    }
    text += shown.substr(0, shown.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string ToCsv(const Table& table) {
  std::vector<std::string> names;
  for (const std::string& name : table.columns()) names.push_back(CsvText(name));
  std::string text = Joined(names);
  for (const std::vector<Cell>& row : table.rows()) {
    std::vector<std::string> cells;
    for (const Cell& cell : row) cells.push_back(cell.ForCsv());
    text += Joined(cells);
  }
  return text;
}

std::string ToMarkdown(const Table& table) {
  const auto escaped = [](const std::string& text) {
    std::string cell;
    for (const char c : text) {
      if (c == '|' || c == '\\' || c == '<' || c == '*' || c == '_' || c == '`') cell += '\\';
      cell += c == '\n' ? ' ' : c;
    }
    return cell;
  };
  std::string text = "|", rule = "|";
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const bool numbers =
        std::any_of(table.rows().begin(), table.rows().end(),
                    [i](const std::vector<Cell>& row) { return row[i].IsNumber(); });
    text += " " + escaped(table.columns()[i]) + " |";
    rule += numbers ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::vector<Cell>& row : table.rows()) {
    text += "|";
    for (const Cell& cell : row) text += " " + escaped(cell.ForPeople()) + " |";
    text += "\n";
  }
  return text;
}

Json ToJson(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<Cell>& row : table.rows()) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); ++i) object[table.columns()[i]] = row[i].ForJson();
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace tessera
