// Passes that skip what a ReLU set to zero. Hidden activations and deltas lie row by row, so that a
// row's zeros are known from one mask; inputs and outputs stay feature by feature.
#include <algorithm>
#include <span>

#include "tessera/nn/mlp.h"
#include "tessera/nn/wide_gemm.h"

namespace tessera {
namespace {

// Rows that go through all layers together: two hidden layers of 64 and their weights stay in a
// nearest cache of 32 KiB.
constexpr int64_t kForwardRows = 64;

}  // namespace

// Few rows at a time: columns that are a block's rows apart would fall on few sets of the cache.
void MlpPass::TimesRows(Gemm gemm, int64_t rows, int64_t k, const float* values) const {
  constexpr int64_t kPiece = 16;
  float turned[kWideRows * kPiece + kSlackFloats];
  float* const c = gemm.c;
  gemm.b = turned;
  gemm.b_step = gemm.n = kPiece;
  for (int64_t r = 0; r < rows; r += kPiece) {
    kernels_.transpose(kPiece, k, values + r * k, k, turned, kPiece);
    gemm.c = c + r;
    kernels_.gemm(gemm);
  }
}

// The first layer's weights [features x width] in panels.
void MlpPass::FillPanels() {
  const int64_t features = InputsOf(0), width = layout_.layers()[0].outputs;
  float* to = panels_.data();
  for (int64_t j = 0; j < width; j += kPanelColumns) {
    for (int64_t f = 0; f < features; ++f, to += kPanelColumns) {
      std::copy_n(first_weights_ + f * width + j, kPanelColumns, to);
    }
  }
}

std::span<const GemmSegment> MlpPass::RunsOf(size_t chunk) const {
  return {row_segments_.begin() + chunks_[chunk], row_segments_.begin() + chunks_[chunk + 1]};
}

void MlpPass::FirstLayer(const FeatureBatch& x, int64_t block, int64_t first, int64_t rows,
                         float* c) const {
  alignas(64) float turned[kForwardRows * kInputChunk];
  const int64_t features = InputsOf(0), width = layout_.layers()[0].outputs;
  for (size_t chunk = 0; chunk + 1 < chunks_.size(); ++chunk) {
    const std::span<const GemmSegment> runs = RunsOf(chunk);
    const int64_t begin = static_cast<int64_t>(chunk) * kInputChunk;
    PanelGemm gemm{.m = rows,
                   .n = width,
                   .panels = panels_.data() + begin * kPanelColumns,
                   .panel = features * kPanelColumns,
                   .c = c,
                   .add = chunk > 0,
                   .bias = chunk + 2 == chunks_.size() ? first_bias_ : nullptr};
    const GemmSegment whole{0, 0, std::min(kInputChunk, features - begin)};
    if (x.by_row()) {
      gemm.a = x.Row(block * kBlockRows + first);
      gemm.a_row = x.row_size();
      gemm.segments = runs.data();
      gemm.num_segments = std::ssize(runs);
    } else {
      for (const GemmSegment& run : runs) {
        kernels_.transpose(run.count, rows, x.At(block, run.a) + first, kBlockRows,
                           turned + run.b - begin, whole.count);
      }
      gemm.a = turned;
      gemm.a_row = whole.count;
      gemm.segments = &whole;
      gemm.num_segments = 1;
    }
    kernels_.panel_gemm(gemm);
  }
}

// A few rows at a time through all layers, so that they stay in the nearest cache.
void MlpPass::ForwardSkipping(const FeatureBatch& x, int64_t block, float* out,
                              float* const* hidden) {
  const int64_t all = RowsToCompute(x.RowsIn(block));
  const MlpLayout::Layer& last = layout_.layers().back();
  const GemmSegment whole{0, 0, last.inputs};
  for (int64_t r = 0; r < all; r += kForwardRows) {
    const int64_t rows = std::min(kForwardRows, all - r);
    const int64_t kept = mode_ == Mode::kTrain ? r : 0;  // rows before these that are kept
    FirstLayer(x, block, r, rows, hidden[0] + kept * layout_.layers()[0].outputs);
    for (int64_t l = 1; l + 1 < num_layers(); ++l) {
      const MlpLayout::Layer& layer = layout_.layers()[static_cast<size_t>(l)];
      const float* const input = hidden[l - 1] + kept * layer.inputs;
      kernels_.skip_gemm({.m = rows,
                          .n = layer.outputs,
                          .k = layer.inputs,
                          .a = input,
                          .pattern = input,
                          .b = parameters_ + layer.weights,
                          .c = hidden[l] + kept * layer.outputs,
                          .bias = parameters_ + layer.bias});
    }
    // The output layer is narrow: its lanes are rows again.
    TimesRows({.m = last.outputs,
               .a = parameters_ + last.weights,
               .a_row = 1,
               .a_step = last.outputs,
               .segments = &whole,
               .num_segments = 1,
               .c = out + r,
               .c_row = kBlockRows,
               .epilogue = Epilogue::kBias,
               .bias = parameters_ + last.bias},
              rows, last.inputs, hidden[num_layers() - 2] + kept * last.inputs);
  }
}

// The weights of layer l, transposed, lie at the layer's place in the layout, less the first layer.
void MlpPass::TurnWeights() {
  const int64_t start = layout_.layers()[1].weights;
  for (const MlpLayout::Layer& layer : layout_.layers().subspan(1)) {
    kernels_.transpose(layer.inputs, layer.outputs, parameters_ + layer.weights, layer.outputs,
                       turned_weights_.data() + layer.weights - start, layer.inputs);
  }
}

void MlpPass::BackwardSkipping(const FeatureBatch& output_gradient, int64_t block, bool weights) {
  const int64_t rows = RowsToCompute(output_gradient.RowsIn(block));
  const float* const turned = turned_weights_.data() - layout_.layers()[1].weights;
  const MlpLayout::Layer& last = layout_.layers().back();
  const GemmSegment whole{0, 0, last.outputs};
  kernels_.gemm({.m = rows,
                 .n = last.inputs,
                 .a = output_gradient.At(block, 0),
                 .a_row = 1,
                 .a_step = kBlockRows,
                 .b = turned + last.weights,
                 .b_step = last.inputs,
                 .segments = &whole,
                 .num_segments = 1,
                 .c = space_->delta.back().At(block, 0),
                 .c_row = last.inputs,
                 .epilogue = Epilogue::kGateRelu,
                 .gate = space_->hidden.back().At(block, 0),
                 .gate_row = last.inputs});
  for (size_t l = space_->hidden.size() - 1; l > 0; --l) {
    const MlpLayout::Layer& layer = layout_.layers()[l];
    kernels_.skip_gemm({.m = rows,
                        .n = layer.inputs,
                        .k = layer.outputs,
                        .a = space_->delta[l].At(block, 0),
                        .pattern = space_->hidden[l].At(block, 0),
                        .b = turned + layer.weights,
                        .c = space_->delta[l - 1].At(block, 0),
                        .gate = space_->hidden[l - 1].At(block, 0)});
  }
  if (!weights) return;
  for (size_t l = 0; l == 0 || l + 1 < space_->hidden.size(); ++l) {
    const int64_t width = layout_.layers()[l].outputs;
    kernels_.skip_masks(rows, width, space_->hidden[l].At(block, 0),
                        space_->masks[l].data() + block * (kBlockRows / kSkipGroup) * width);
  }
}

// As the product of the deltas, which are zero where the activations are, with x.
void MlpPass::SkippingFirstGradient(const FeatureBatch& x, int64_t begin, int64_t end,
                                    float* gradient) {
  alignas(64) float packed[kBlockRows * kInputChunk];
  const int64_t features = InputsOf(0), width = layout_.layers()[0].outputs;
  const int64_t row = CeilDiv(features, 16) * 16;
  float* const turned = space_->turned_first.data();
  std::fill(turned + begin * row, turned + end * row, 0.0f);
  for (int64_t b = 0; b < x.blocks(); ++b) {
    const int64_t rows = RowsToCompute(x.RowsIn(b));
    for (size_t chunk = 0; chunk + 1 < chunks_.size(); ++chunk) {
      const std::span<const GemmSegment> runs = RunsOf(chunk);
      const int64_t first = static_cast<int64_t>(chunk) * kInputChunk;
      const int64_t columns = std::min(kInputChunk, row - first);
      const bool whole = runs.size() == 1;
      for (int64_t r = 0; !whole && r < rows; ++r) {
        const float* const from = x.Row(b * kBlockRows + r);
        float* const to = packed + r * kInputChunk;
        for (const GemmSegment& run : runs)
          std::copy_n(from + run.a, run.count, to + run.b - first);
        std::fill(to + std::min(columns, features - first), to + columns, 0.0f);
      }
      kernels_.skip_outer({.rows = rows,
                           .n = columns,
                           .k = width,
                           .begin = begin,
                           .end = end,
                           .a = space_->delta[0].At(b, 0),
                           .masks = space_->masks[0].data() + b * (kBlockRows / kSkipGroup) * width,
                           .b = whole ? x.Row(b * kBlockRows) + runs[0].a : packed,
                           .b_row = whole ? x.row_size() : kInputChunk,
                           .c = turned + first,
                           .c_row = row});
    }
  }
  kernels_.transpose(end - begin, features, turned + begin * row, row,
                     FirstGradient(gradient) + begin, width);
}

void MlpPass::SkippingWeightGradient(const FeatureBatch& output_gradient, int64_t layer,
                                     int64_t begin, int64_t end, float* gradient) {
  const size_t at = static_cast<size_t>(layer);
  const auto [inputs, outputs, weights, bias] = layout_.layers()[at];
  const FeatureBatch& input = space_->hidden[at - 1];
  float* const target = gradient + weights;
  if (layer + 1 < num_layers()) {
    std::fill_n(target + begin * outputs, (end - begin) * outputs, 0.0f);
    for (int64_t b = 0; b < output_gradient.blocks(); ++b) {
      kernels_.skip_outer(
          {.rows = RowsToCompute(output_gradient.RowsIn(b)),
           .n = outputs,
           .k = inputs,
           .begin = begin,
           .end = end,
           .a = input.At(b, 0),
           .masks = space_->masks[at - 1].data() + b * (kBlockRows / kSkipGroup) * inputs,
           .b = space_->delta[at].At(b, 0),
           .b_row = outputs,
           .c = target,
           .c_row = outputs});
    }
    return;
  }
  const int64_t max_blocks = std::ssize(space_->row_segments) / num_layers();
  float* const turned = space_->turned_gradient.data() + begin;
  kernels_.gemm({.m = outputs,
                 .n = end - begin,
                 .a = output_gradient.At(0, 0),
                 .a_row = kBlockRows,
                 .b = input.At(0, 0) + begin,
                 .b_step = inputs,
                 .segments = space_->row_segments.data() + layer * max_blocks,
                 .num_segments = output_gradient.blocks(),
                 .c = turned,
                 .c_row = inputs});
  kernels_.transpose(outputs, end - begin, turned, inputs, target + begin * outputs, outputs);
}

}  // namespace tessera
