// Interpolation in tables.
#include "tessera/arch/components/log_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tessera/part.h"

namespace tessera {
namespace {

constexpr std::string_view kSource = "# source: ";

std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

double NumberOf(const std::string& text) {
  const Result<Decimal> number = Decimal::Parse(text);
  TESSERA_CHECK(number.ok());  // the files are built in, and a test reads them all
  return number->ToDouble();
}

// Where a coordinate lies: between two entries, with the part of the second one.
struct Place {
  size_t below = 0, above = 0;
  double share = 0;
};

std::optional<Place> PlaceOf(const std::vector<double>& axis, double value) {
  const auto above = std::lower_bound(axis.begin(), axis.end(), value);
  if (above == axis.end()) return std::nullopt;
  const auto index = static_cast<size_t>(above - axis.begin());
  if (*above == value) return Place{index, index, 0};
  if (index == 0) return std::nullopt;
  const double low = std::log(axis[index - 1]), high = std::log(*above);
  return Place{index - 1, index, (std::log(value) - low) / (high - low)};
}

}  // namespace

size_t ComponentFile::Column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  TESSERA_CHECK(found != columns.end());
  return static_cast<size_t>(found - columns.begin());
}

ComponentFile ReadComponentFile(std::string_view text) {
  ComponentFile file;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with(kSource)) file.source = line.substr(kSource.size());
    if (line.empty() || line.front() == '#') continue;
    if (file.columns.empty()) {
      file.columns = Fields(line);
    } else {
      file.rows.push_back(Fields(line));
    }
  }
  return file;
}

LogTable::LogTable(const ComponentFile& file, const std::vector<std::string_view>& axes,
                   std::string_view value)
    : names_(axes.begin(), axes.end()) {
  std::vector<std::vector<double>> points;
  std::vector<std::set<double>> coordinates(axes.size());
  for (const std::vector<std::string>& row : file.rows) {
    std::vector<double>& point = points.emplace_back();
    for (size_t i = 0; i < axes.size(); ++i) {
      point.push_back(NumberOf(row[file.Column(axes[i])]));
      coordinates[i].insert(point.back());
    }
  }
  for (const std::set<double>& axis : coordinates) axes_.emplace_back(axis.begin(), axis.end());
  for (size_t row = 0; row < points.size(); ++row) {
    Index index;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const auto at = std::lower_bound(axes_[i].begin(), axes_[i].end(), points[row][i]);
      index.push_back(static_cast<size_t>(at - axes_[i].begin()));
    }
    values_[index] = NumberOf(file.rows[row][file.Column(value)]);
  }
}

void LogTable::MakeMonotone(size_t axis) {
  // Lines of points along the axis, by their other coordinates.
  std::map<Index, std::vector<std::pair<size_t, double*>>> lines;
  for (auto& [index, value] : values_) {
    Index others = index;
    others[axis] = 0;
    lines[others].emplace_back(index[axis], &value);
  }
  struct Block {
    double mean;  // of logarithms
    size_t size;
  };
  for (auto& [others, line] : lines) {
    std::sort(line.begin(), line.end());
    std::vector<Block> blocks;
    for (const auto& [position, value] : line) {
      blocks.push_back({std::log(*value), 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].mean > blocks.back().mean) {
        const Block last = blocks.back();
        blocks.pop_back();
        Block& merged = blocks.back();
        const auto a = static_cast<double>(merged.size), b = static_cast<double>(last.size);
        merged = {(merged.mean * a + last.mean * b) / (a + b), merged.size + last.size};
      }
    }
    size_t at = 0;
    for (const Block& block : blocks) {
      // What did not fall stays as it was published, to the last digit.
      for (size_t i = 0; i < block.size && block.size > 1; ++i) {
        *line[at + i].second = std::exp(block.mean);
      }
      at += block.size;
    }
  }
}

Result<void> LogTable::CheckRange(const std::vector<double>& point) const {
  for (size_t i = 0; i < axes_.size(); ++i) {
    const double low = axes_[i].front(), high = axes_[i].back();
    if (point[i] >= low && point[i] <= high) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} is {}, but the table goes from {} to {}", names_[i],
                                        point[i], low, high)};
  }
  return {};
}

// A corner that was not measured: the first axis is shorter there.
Error LogTable::NoSuchLine(const std::vector<double>& point, const Index& corner) const {
  double low = 0, high = 0;
  for (const auto& [index, value] : values_) {
    if (!std::equal(index.begin() + 1, index.end(), corner.begin() + 1)) continue;
    const double at = axes_[0][index[0]];
    low = low == 0 ? at : std::min(low, at);
    high = std::max(high, at);
  }
  std::vector<std::string> others;
  for (size_t i = 1; i < names_.size(); ++i) {
    others.push_back(fmt::format("{} {}", names_[i], axes_[i][corner[i]]));
  }
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("{} is {}, but for {} the table goes from {} to {}",
                                      names_[0], point[0], fmt::join(others, " and "), low, high)};
}

Result<double> LogTable::At(const std::vector<double>& point) const {
  TESSERA_CHECK(point.size() == axes_.size());
  if (Result<void> inside = CheckRange(point); !inside) return inside.error();
  std::vector<Place> places;
  for (size_t i = 0; i < axes_.size(); ++i) places.push_back(*PlaceOf(axes_[i], point[i]));
  double log = 0;
  // Every corner of the cell around the point, with its weight.
  for (size_t corner = 0; corner < size_t{1} << axes_.size(); ++corner) {
    double weight = 1;
    Index index;
    for (size_t i = 0; i < places.size(); ++i) {
      const bool above = (corner >> i & 1) != 0;
      weight *= above ? places[i].share : 1 - places[i].share;
      index.push_back(above ? places[i].above : places[i].below);
    }
    if (weight == 0) continue;
    const auto found = values_.find(index);
    if (found == values_.end()) return NoSuchLine(point, index);
    if (weight == 1) return found->second;
    log += weight * std::log(found->second);
  }
  return std::exp(log);
}

}  // namespace tessera
