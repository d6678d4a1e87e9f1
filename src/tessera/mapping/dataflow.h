// A mapping in MAESTRO's language: for each level of the array, outermost first, the order of the
// loops, the tile of each dimension, and which dimension is spread over the units of the level.
#ifndef TESSERA_MAPPING_DATAFLOW_H_
#define TESSERA_MAPPING_DATAFLOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tessera/base/check.h"
#include "tessera/base/result.h"

namespace tessera {

// Dimensions by MAESTRO's names, in the order in which it completes mappings. kXOut and kYOut are
// X' and Y', output sizes. kOther stands for any name that no layer has.
enum class DataflowDim : uint8_t { kC, kG, kK, kM, kN, kR, kS, kX, kY, kXOut, kYOut, kOther };
inline constexpr size_t kDataflowDims = 11;  // without kOther

std::string_view ToString(DataflowDim dim);                         // "K", "Y'"; "?" for kOther
std::optional<DataflowDim> FindDataflowDim(std::string_view name);  // "K", "Y'"

// One line of a dataflow. Sizes have 32 bits because MAESTRO's have.
struct DataflowDirective {
  enum class Kind : uint8_t { kTemporal, kSpatial, kCluster };

  Kind kind = Kind::kTemporal;
  DataflowDim dim = DataflowDim::kOther;  // maps only
  int32_t size = 1;                       // of the tile, or of the cluster; at least 1
  int32_t offset = 1;                     // from one tile to the next; maps only; at least 1

  friend bool operator==(const DataflowDirective&, const DataflowDirective&) = default;
};

constexpr DataflowDirective Temporal(int32_t size, int32_t offset, DataflowDim dim) {
  return {DataflowDirective::Kind::kTemporal, dim, size, offset};
}
constexpr DataflowDirective Spatial(int32_t size, int32_t offset, DataflowDim dim) {
  return {DataflowDirective::Kind::kSpatial, dim, size, offset};
}
constexpr DataflowDirective Cluster(int32_t size) {
  return {DataflowDirective::Kind::kCluster, DataflowDim::kOther, size, 1};
}

// Directives in file order; Cluster directives separate the levels. Trivially copyable, so that
// searches can keep many. Whether it makes sense for a layer is for the cost model to say.
class Dataflow {
 public:
  static constexpr size_t kCapacity = 64;

  std::span<const DataflowDirective> directives() const { return {directives_.data(), size_}; }
  size_t size() const { return size_; }
  bool full() const { return size_ == kCapacity; }

  // Only if not full().
  void Add(const DataflowDirective& directive) {
    TESSERA_CHECK(!full());
    directives_[size_++] = directive;
  }

  friend bool operator==(const Dataflow& a, const Dataflow& b);

 private:
  uint32_t size_ = 0;
  std::array<DataflowDirective, kCapacity> directives_ = {};
};
static_assert(std::is_trivially_copyable_v<Dataflow>);

struct DataflowHash {
  size_t operator()(const Dataflow& dataflow) const;
};

// MAESTRO's syntax, one line: "SpatialMap(1,1) K; TemporalMap(3,3) R; Cluster(64,P); ...". The
// indented form, one directive per line, is the inside of a Dataflow block of a mapping file.
std::string ToString(const Dataflow& dataflow);
std::string ToIndentedString(const Dataflow& dataflow, std::string_view indent);

// Reads either form. Blanks, line ends and any of `, ( ) ;` only separate. Errors carry line and
// column; `file` is the name for them, empty if the text is not from a file.
Result<Dataflow> ParseDataflow(std::string_view text, const std::string& file = "");

}  // namespace tessera

#endif  // TESSERA_MAPPING_DATAFLOW_H_
