// Tables of measured points over one or more axes, read between the points: logarithms lie on
// straight lines from point to point, which is how energies and areas grow with sizes, widths and
// nodes.
#ifndef TESSERA_ARCH_COMPONENTS_LOG_TABLE_H_
#define TESSERA_ARCH_COMPONENTS_LOG_TABLE_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"

namespace tessera {

// A file of data/components: names and rows, and what its comments say about the source.
struct ComponentFile {
  std::string source = {};
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};

  // The position of a column; the files are ours, so it is there.
  size_t Column(std::string_view name) const;
};

// Lines of comma-separated values after lines of comments; a field in quotes may hold commas.
ComponentFile ReadComponentFile(std::string_view text);

// Contract: immutable once made; any thread may read.
class LogTable {
 public:
  // One positive value over positive coordinates, in the order of `axes`.
  LogTable(const ComponentFile& file, const std::vector<std::string_view>& axes,
           std::string_view value);

  // Makes values along an axis never fall, by the least change of their logarithms (pool adjacent
  // violators). For axes along which a part can only cost more.
  void MakeMonotone(size_t axis);

  // The value at a point. Outside of what was measured: an error with the range, never a guess.
  Result<double> At(const std::vector<double>& point) const;

 private:
  using Index = std::vector<size_t>;

  Result<void> CheckRange(const std::vector<double>& point) const;
  Error NoSuchLine(const std::vector<double>& point, const Index& corner) const;

  std::vector<std::string> names_;
  std::vector<std::vector<double>> axes_;  // coordinates, ascending
  std::map<Index, double> values_;
};

}  // namespace tessera

#endif  // TESSERA_ARCH_COMPONENTS_LOG_TABLE_H_
