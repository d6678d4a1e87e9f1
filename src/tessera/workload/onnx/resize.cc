// Operators that resample images, and those that transform signals.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/workload/onnx/fold.h"
#include "tessera/workload/onnx/operators.h"

namespace tessera::onnx {
namespace {

// A size times a scale, in float as runtimes compute it.
Dim ScaledDim(Op& op, const Dim& dim, const Number& scale) {
  if (!dim.known()) return dim;
  if (!scale.known()) return {.reason = scale.reason};
  const float size = std::floor(static_cast<float>(dim.size) * static_cast<float>(scale.real));
  if (size >= 0 && size <= static_cast<float>(kMaxSize)) return {static_cast<int64_t>(size)};
  op.Fail(ErrorKind::kBadValue,
          fmt::format("the scale {} of the size {} gives no usable size", scale.real, dim.size));
  return {};
}

void ApplyScales(Op& op, const std::vector<size_t>& axes, const Numbers& scales) {
  if (scales.size() != axes.size()) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("{} scales for {} axes", scales.size(), axes.size()));
  }
  Dims dims = *op.Shape(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = ScaledDim(op, dims[axes[i]], scales[i]);
  }
  op.SetShape(0, std::move(dims));
}

// With a policy other than "stretch", all axes get the scale that the tightest (or widest) needs.
void KeepAspectRatio(Op& op, const std::vector<size_t>& axes, Dims& sizes) {
  const std::string policy = op.Text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return;
  const Dims& input = *op.Shape(0);
  double scale = policy == "not_larger" ? HUGE_VAL : 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!input[axes[i]].known() || !sizes[i].known() || input[axes[i]].size == 0) return;
    const double own =
        static_cast<double>(sizes[i].size) / static_cast<double>(input[axes[i]].size);
    scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const double size = std::floor(scale * static_cast<double>(input[axes[i]].size) + 0.5);
    if (!(size >= 0 && size <= static_cast<double>(kMaxSize))) {
      return op.Fail(ErrorKind::kBadValue, fmt::format("the scale {} gives no usable size", scale));
    }
    sizes[i] = {static_cast<int64_t>(size)};
  }
}

void ApplySizes(Op& op, const std::vector<size_t>& axes, Dims sizes) {
  if (sizes.size() != axes.size()) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  }
  KeepAspectRatio(op, axes, sizes);
  Dims dims = *op.Shape(0);
  for (size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = sizes[i];
  op.SetShape(0, std::move(dims));
}

std::vector<size_t> ResizedAxes(Op& op, size_t rank) {
  std::vector<size_t> axes;
  if (const std::optional<std::vector<int64_t>> given = op.Ints("axes")) {
    for (const int64_t axis : *given) axes.push_back(op.Axis(axis, rank));
  } else {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  return axes;
}

// Whether an optional input is there and not the empty tensor that stands for "not given".
bool IsGiven(Op& op, size_t i) {
  if (!op.Has(i)) return false;
  const Dims* const shape = op.Shape(i);
  return shape == nullptr || !(shape->size() == 1 && shape->front().Is(0));
}

// Crops first: the region's extent along an axis multiplies its scale.
void ApplyRegion(Op& op, const std::vector<size_t>& axes, Numbers& scales) {
  if (op.Text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize") return;
  const std::optional<Numbers> region = op.Has(1) ? op.Elements(1) : std::nullopt;
  if (!region || region->size() != 2 * axes.size() || scales.size() != axes.size()) return;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Number &start = (*region)[i], &end = (*region)[i + axes.size()];
    if (!end.known() || !start.known()) {
      scales[i] = {.reason = start.known() ? end.reason : start.reason};
    } else {
      scales[i].real *= end.real - start.real;
    }
  }
}

// Version 10: input, scales. Later: input, region, scales, sizes.
void Resize(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  const std::vector<size_t> axes = ResizedAxes(op, input->size());
  if (op.failed()) return;
  const size_t scales_at = op.opset() < 11 ? 1 : 2;
  if (op.opset() >= 11 && IsGiven(op, 3)) {
    std::optional<Dims> sizes = op.ElementsAsDims(3);
    if (sizes) return ApplySizes(op, axes, *std::move(sizes));
  } else if (IsGiven(op, scales_at)) {
    std::optional<Numbers> scales = op.Elements(scales_at);
    if (scales) {
      ApplyRegion(op, axes, *scales);
      return ApplyScales(op, axes, *scales);
    }
  } else {
    return op.Fail(ErrorKind::kSyntax, "neither scales nor sizes are given");
  }
  if (!op.failed()) op.SetShape(0, Dims(input->size(), Dim{.reason = op.DataDependent()}));
}

void Upsample(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr) return;
  std::optional<Numbers> scales;
  if (op.opset() >= 9) {
    scales = op.Elements(1);
  } else if (op.opset() >= 7) {
    scales.emplace();
    for (const double scale : op.Floats("scales").value_or(std::vector<double>())) {
      scales->push_back({.real = scale});
    }
  } else {
    scales = Numbers{{.real = 1},
                     {.real = 1},
                     {.real = op.Float("height_scale", 1)},
                     {.real = op.Float("width_scale", 1)}};
  }
  if (scales) ApplyScales(op, ResizedAxes(op, input->size()), *scales);
}

// The grid's axes after the first are the output's size.
void GridSample(Op& op) {
  const Dims *const input = op.Shape(0), *const grid = op.Shape(1);
  if (input == nullptr || grid == nullptr || input->size() < 3 || grid->size() != input->size()) {
    return;
  }
  Dims dims = {(*input)[0], (*input)[1]};
  dims.insert(dims.end(), grid->begin() + 1, grid->end() - 1);
  op.SetShape(0, std::move(dims));
}

// The size N, C, [D,] H, W becomes a grid N, [D,] H, W, 2 or 3.
void AffineGrid(Op& op) {
  const std::optional<Dims> size = op.ElementsAsDims(1);
  if (!size || (size->size() != 4 && size->size() != 5)) return;
  Dims dims = {size->front()};
  dims.insert(dims.end(), size->begin() + 2, size->end());
  dims.push_back({std::ssize(*size) - 2});
  op.SetShape(0, std::move(dims));
}

void CenterCropPad(Op& op) {
  const Dims* const input = op.Shape(0);
  const std::optional<Dims> sizes = op.ElementsAsDims(1);
  if (input == nullptr || !sizes) return;
  const std::vector<size_t> axes = ResizedAxes(op, input->size());
  if (op.failed()) return;
  if (sizes->size() != axes.size()) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("{} sizes for {} axes", sizes->size(), axes.size()));
  }
  Dims dims = *input;
  for (size_t i = 0; i < axes.size(); ++i) dims[axes[i]] = (*sizes)[i];
  op.SetShape(0, std::move(dims));
}

// Puts blocks (N x C*R*S x L) back into an image of the given size.
void Col2Im(Op& op) {
  const Dims* const input = op.Shape(0);
  const std::optional<Dims> image = op.ElementsAsDims(1);
  const std::optional<std::vector<int64_t>> block = op.Integers(2);
  if (input == nullptr || input->size() != 3 || !image || !block) return;
  Checked area = 1;
  for (const int64_t size : *block) area = area * size;
  Dim channels = (*input)[1];
  if (channels.known()) {
    if (!area.ok() || area.value() < 1 || channels.size % area.value() != 0) {
      return op.Fail(ErrorKind::kBadValue,
                     fmt::format("the block does not divide {} channels", channels.size));
    }
    channels.size /= area.value();
  }
  Dims dims = {input->front(), channels};
  dims.insert(dims.end(), image->begin(), image->end());
  op.SetShape(0, std::move(dims));
}

// The last axis holds real and imaginary part; a one-sided spectrum has half the length plus one.
void Dft(Op& op) {
  const Dims* const input = op.Shape(0);
  if (input == nullptr || input->size() < 2) return;
  int64_t axis = op.Int("axis", 1);
  if (op.opset() >= 20) {
    const std::optional<std::vector<int64_t>> given =
        op.Has(2) ? op.Integers(2) : std::vector<int64_t>{-2};
    if (!given || given->size() != 1) return;
    axis = given->front();
  }
  const size_t at = op.Axis(axis, input->size());
  Dims dims = *input;
  if (op.Has(1)) {
    const std::optional<Number> length = op.Scalar(1);
    dims[at] = length ? Dim{length->integer, length->reason} : Dim{.reason = op.DataDependent()};
  }
  const bool one_sided = op.Int("onesided", 0) != 0, inverse = op.Int("inverse", 0) != 0;
  if (one_sided && dims[at].known()) {
    // From half a spectrum back to the signal, unless a length was given.
    if (!inverse) dims[at].size = dims[at].size / 2 + 1;
    if (inverse && !op.Has(1)) dims[at].size = (dims[at].size - 1) * 2;
  }
  dims.back() = {one_sided && inverse ? 1 : 2};
  op.SetShape(0, std::move(dims));
}

// Frames of a signal (N x length x 1): N x frames x bins x 2.
void Stft(Op& op) {
  const Dims* const signal = op.Shape(0);
  const std::optional<Number> step = op.Scalar(1);
  if (signal == nullptr || signal->size() < 2 || !step || !step->known()) return;
  Dim length{.reason = op.DataDependent()};
  if (op.Has(3)) {
    const std::optional<Number> given = op.Scalar(3);
    if (given) length = {given->integer, given->reason};
  } else if (op.Has(2) && op.Shape(2) != nullptr && op.Shape(2)->size() == 1) {
    length = op.Shape(2)->front();
  }
  const Dim& samples = (*signal)[1];
  if (!length.known() || !samples.known()) return;
  if (step->integer < 1 || length.size < 1 || length.size > samples.size) {
    return op.Fail(ErrorKind::kBadValue,
                   fmt::format("frames of {} with step {} do not fit {} samples", length.size,
                               step->integer, samples.size));
  }
  const int64_t bins = op.Int("onesided", 1) != 0 ? length.size / 2 + 1 : length.size;
  op.SetShape(0, {signal->front(), Dim{(samples.size - length.size) / step->integer + 1}, Dim{bins},
                  Dim{2}});
}

constexpr Operator kOperators[] = {
    {"Resize", Resize},
    {"Upsample", Upsample},
    {"GridSample", GridSample},
    {"AffineGrid", AffineGrid},
    {"CenterCropPad", CenterCropPad},
    {"Col2Im", Col2Im},
    {"DFT", Dft},
    {"STFT", Stft},
};

}  // namespace

std::span<const Operator> ResizeOperators() { return kOperators; }

}  // namespace tessera::onnx
