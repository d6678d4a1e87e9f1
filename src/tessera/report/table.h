// A table of results: shown with aligned columns to people, as JSON or CSV to programs. Cells keep
// their values, so that nothing is rounded before it reaches a file.
#ifndef TESSERA_REPORT_TABLE_H_
#define TESSERA_REPORT_TABLE_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/report/json.h"

namespace tessera {

// Nothing (shown as "-"), a truth value, an integer, a double or text.
class Cell {
 public:
  Cell() = default;
  Cell(bool value) : value_(value) {}                           // NOLINT: implicit
  Cell(double value) : value_(value) {}                         // NOLINT: implicit
  Cell(std::string value) : value_(std::move(value)) {}         // NOLINT: implicit
  Cell(std::string_view value) : value_(std::string(value)) {}  // NOLINT: implicit
  Cell(const char* value) : value_(std::string(value)) {}       // NOLINT: implicit
  template <std::integral Integer>
  Cell(Integer value) : value_(static_cast<int64_t>(value)) {}  // NOLINT: implicit

  bool IsNumber() const { return value_.index() == 2 || value_.index() == 3; }
  std::string ForPeople() const;  // 1,814,073,344 and six digits of a double
  std::string ForCsv() const;     // all digits, quoted where CSV needs it
  Json ForJson() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string> value_;
};

class Table {
 public:
  // Column names are the keys of the JSON form: lower case, with the unit.
  explicit Table(std::initializer_list<std::string_view> columns)
      : columns_(columns.begin(), columns.end()) {}
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  // Adds a row with one cell per column.
  template <typename... Cells>
  void Add(Cells&&... cells) {
    AddRow({Cell(std::forward<Cells>(cells))...});
  }
  void AddRow(std::vector<Cell> cells);

  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Aligned columns under their names; numbers to the right, text to the left.
std::string ToText(const Table& table);

// RFC 4180 with LF line ends: a line of names, then the rows.
std::string ToCsv(const Table& table);

// A table of GitHub's Markdown, for issues and papers.
std::string ToMarkdown(const Table& table);

// A list with one object per row.
Json ToJson(const Table& table);

}  // namespace tessera

#endif  // TESSERA_REPORT_TABLE_H_
