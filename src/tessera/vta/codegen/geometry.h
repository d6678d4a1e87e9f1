// How a convolution is cut into tiles: which outputs a tile has, which part of the input it needs,
// and which taps of the kernel meet real data there.
#ifndef TESSERA_VTA_CODEGEN_GEOMETRY_H_
#define TESSERA_VTA_CODEGEN_GEOMETRY_H_

#include <compare>
#include <cstdint>
#include <vector>

namespace tessera::vta {

// A half-open range of outputs or blocks.
struct Extent {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

// [0, total) in pieces of `piece`; the last one may be smaller, and the first one is `lead` long if
// that is above 0 and below both.
std::vector<Extent> Cut(int64_t total, int64_t piece, int64_t lead = 0);

// One dimension of a convolution.
struct Axis {
  int64_t size = 1;  // of the input
  int64_t kernel = 1, stride = 1, pad = 0;
};

// The axes of a convolution's or a pooling layer's shape.
template <typename Shape>
Axis RowAxis(const Shape& shape) {
  return {shape.h, shape.kh, shape.stride_h, shape.pad_top};
}
template <typename Shape>
Axis ColumnAxis(const Shape& shape) {
  return {shape.w, shape.kw, shape.stride_w, shape.pad_left};
}

// The inputs that a range of outputs needs along one axis, as they will lie in the buffer.
struct Window {
  int64_t begin = 0;                      // first input that is loaded
  int64_t loaded = 0;                     // inputs that are loaded, one after another or
  int64_t load_step = 1;                  // this far apart
  int64_t pad_before = 0, pad_after = 0;  // zeros around them, where padding is not trimmed
  int64_t first_tap = 0;                  // place in the buffer of output 0, tap 0; may be < 0
  int64_t step = 1;                       // places from one output to the next

  int64_t size() const { return pad_before + loaded + pad_after; }
  friend auto operator<=>(const Window&, const Window&) = default;
};

// With `trim` padding is left out of the buffer; products that would meet it must not be made.
// `may_skip` allows loading only what is used where the kernel is 1 and the stride larger.
Window WindowOf(const Axis& axis, const Extent& outputs, bool trim, bool may_skip);

// Outputs of a tile (counted from its first) whose tap `tap` meets the buffer.
Extent OutputsOfTap(const Window& window, int64_t outputs, int64_t tap);

// Taps that meet equally many outputs, and the first of these for each.
struct TapGroup {
  std::vector<int64_t> taps = {}, first = {};
  int64_t outputs = 0;  // of each

  // Whether they are neighbours that meet the same outputs.
  bool Alike() const;
};

// All taps that meet an output. With `any_outputs` those of a group may meet different outputs;
// otherwise they are alike.
std::vector<TapGroup> GroupTaps(const Window& window, int64_t outputs, int64_t kernel,
                                bool any_outputs = false);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_GEOMETRY_H_
