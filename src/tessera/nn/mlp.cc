// Forward and backward passes as sequences of the products in nn/kernels.h.
#include "tessera/nn/mlp.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/nn/wide_gemm.h"
#include "tessera/result.h"

namespace tessera {
namespace {

// Up to this many outputs, a layer's weight gradient is a set of dot products.
constexpr int64_t kNarrow = 8;
// Layers of a network, the output layer included; more would be a mistake of the caller.
constexpr int64_t kMaxLayers = 16;
// Rows of a weight gradient that one task computes.
constexpr int64_t kGradientRows = 48;
constexpr int64_t kGradientColumns = 16;

Epilogue HiddenEpilogue(Activation activation) {
  return activation == Activation::kRelu ? Epilogue::kBiasRelu : Epilogue::kBiasTanh;
}
Epilogue GateEpilogue(Activation activation) {
  return activation == Activation::kRelu ? Epilogue::kGateRelu : Epilogue::kGateTanh;
}

void ParallelFor(ThreadPool* pool, int64_t count, auto&& body) {
  if (pool == nullptr || pool->threads() == 1) {
    body(0, count, 0);
  } else {
    pool->ParallelFor(count, 1, std::ref(body));  // a reference: std::function would allocate
  }
}

}  // namespace

MlpLayout::MlpLayout(MlpShape shape) : shape_(std::move(shape)) {
  TESSERA_CHECK(shape_.inputs >= 0 && shape_.outputs > 0);
  int64_t inputs = shape_.inputs;
  std::vector<int64_t> widths = shape_.hidden;
  widths.push_back(shape_.outputs);
  for (const int64_t width : widths) {
    TESSERA_CHECK(width > 0);
    const std::string number = std::to_string(layers_.size() + 1);
    const int64_t weights = size_, bias = size_ + inputs * width;
    tensors_.push_back({"w" + number, weights, inputs, width});
    tensors_.push_back({"b" + number, bias, 1, width});
    layers_.push_back({inputs, width, weights, bias});
    size_ = bias + width;
    inputs = width;
  }
  skips_zeros_ = shape_.activation == Activation::kRelu && !shape_.hidden.empty() &&
                 std::ranges::all_of(shape_.hidden, [](int64_t width) {
                   return width % kSkipGroup == 0 && width < kWideRows;
                 });
}

void SaveNet(const std::string& name, const MlpLayout& layout, std::span<const float> parameters,
             TensorWriter& writer) {
  for (const TensorInfo& tensor : layout.tensors()) {
    writer.Add(
        name + "." + tensor.name,
        parameters.subspan(static_cast<size_t>(tensor.offset), static_cast<size_t>(tensor.size())),
        tensor.rows == 1 ? std::vector<int64_t>{tensor.columns}
                         : std::vector<int64_t>{tensor.rows, tensor.columns});
  }
}

Result<void> LoadNet(const std::string& name, const MlpLayout& layout, std::span<float> parameters,
                     const TensorReader& reader) {
  for (const TensorInfo& tensor : layout.tensors()) {
    if (Result<void> read = reader.Read(name + "." + tensor.name,
                                        parameters.subspan(static_cast<size_t>(tensor.offset),
                                                           static_cast<size_t>(tensor.size())));
        !read) {
      return read;
    }
  }
  return {};
}

Result<void> CheckNet(const std::string& name, const MlpLayout& layout,
                      const TensorReader& reader) {
  for (const TensorInfo& tensor : layout.tensors()) {
    const std::string array = name + "." + tensor.name;
    const Result<int64_t> count = reader.Count(array);
    if (!count) return count.error();
    if (*count == tensor.size()) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("array '{}' has {} values, but {} are needed", array,
                                        *count, tensor.size())};
  }
  return {};
}

int64_t ForwardRowsScratch(const MlpLayout& layout, int64_t rows) {
  int64_t widest = 1;
  for (const MlpLayout::Layer& layer : layout.layers()) widest = std::max(widest, layer.outputs);
  return 2 * rows * widest + kSlackFloats;
}

void ForwardRows(const Kernels& kernels, const MlpLayout& layout, const float* parameters,
                 int64_t rows, const float* x, int64_t x_row, float* y, std::span<float> scratch) {
  TESSERA_CHECK(std::ssize(scratch) >= ForwardRowsScratch(layout, rows));
  const int64_t half = (std::ssize(scratch) - kSlackFloats) / 2;
  const float* input = x;
  for (size_t l = 0; l < layout.layers().size(); ++l) {
    const MlpLayout::Layer& layer = layout.layers()[l];
    const bool last = l + 1 == layout.layers().size();
    float* const output = last ? y : scratch.data() + (l % 2) * static_cast<size_t>(half);
    const GemmSegment segment{0, 0, layer.inputs};
    RunGemm(kernels,
            {.m = rows,
             .n = layer.outputs,
             .a = input,
             .a_row = l == 0 ? x_row : layer.inputs,
             .b = parameters + layer.weights,
             .b_step = layer.outputs,
             .segments = &segment,
             .num_segments = 1,
             .c = output,
             .c_row = layer.outputs,
             .epilogue = last ? Epilogue::kBias : HiddenEpilogue(layout.shape().activation),
             .bias = parameters + layer.bias,
             .bias_per_column = true});
    input = output;
  }
}

MlpWorkspace::MlpWorkspace(const MlpLayout& layout, int64_t max_rows)
    : output(layout.shape().outputs, max_rows) {
  const int64_t blocks = CeilDiv(max_rows, kBlockRows), layers = std::ssize(layout.layers());
  for (const int64_t width : layout.shape().hidden) {
    hidden.emplace_back(width, max_rows);
    delta.emplace_back(width, max_rows);
  }
  row_segments.resize(static_cast<size_t>(blocks * layers));
  for (int64_t l = 0; l < layers; ++l) {
    const int64_t outputs = layout.layers()[static_cast<size_t>(l)].outputs;
    const bool dots = layout.skips_zeros() || (l > 0 && outputs <= kNarrow);
    delta_rows.emplace_back(dots ? 0 : blocks * kBlockRows * outputs + kSlackFloats);
  }
  if (!layout.skips_zeros()) return;
  for (const int64_t width : layout.shape().hidden) {
    masks.emplace_back(blocks * kBlockRows / kSkipGroup * width);
  }
  turned_gradient = AlignedBuffer<float>(layout.shape().outputs * layout.shape().hidden.back());
}

MlpPass::MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, int64_t max_rows)
    : MlpPass(kernels, layout, std::move(inputs),
              std::make_shared<MlpWorkspace>(layout, max_rows)) {}

MlpPass::MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs,
                 std::shared_ptr<MlpWorkspace> workspace)
    : MlpPass(kernels, layout, std::move(inputs), Mode::kTrain) {
  space_ = std::move(workspace);
  TESSERA_CHECK(std::ssize(space_->delta_rows) == num_layers());
  if (!layout_.skips_zeros()) return;
  turned_weights_ = AlignedBuffer<float>(layout_.size() - layout_.layers()[1].weights);
  const int64_t turned = layout_.layers()[0].outputs * CeilDiv(InputsOf(0), 16) * 16;
  if (space_->turned_first.size() < turned) space_->turned_first = AlignedBuffer<float>(turned);
}

MlpPass::MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, int64_t max_rows,
                 int workers)
    : MlpPass(kernels, layout, std::move(inputs), max_rows,
              std::make_shared<BlockScratch>(workers)) {}

MlpPass::MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, int64_t max_rows,
                 std::shared_ptr<BlockScratch> scratch)
    : MlpPass(kernels, layout, std::move(inputs), Mode::kForward) {
  output_ = FeatureBatch(layout_.shape().outputs, max_rows);
  int64_t widths = 0;
  for (const int64_t hidden : layout_.shape().hidden) widths += hidden;
  scratch_ = std::move(scratch);
  scratch_->Reserve(widths * kBlockRows + kSlackFloats);
}

void BlockScratch::Reserve(int64_t floats) {
  for (AlignedBuffer<float>& worker : workers_) {
    if (worker.size() < floats) worker = AlignedBuffer<float>(floats);
  }
}

MlpPass::MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, Mode mode)
    : kernels_(kernels), layout_(layout), map_(std::move(inputs)), mode_(mode) {
  TESSERA_CHECK(map_.inputs() == layout_.shape().inputs);
  TESSERA_CHECK(num_layers() <= kMaxLayers);
  const int64_t width = layout_.layers()[0].outputs;
  chunks_ = {0};
  int64_t column = 0, next = -1;
  for (const int64_t feature : map_.features()) {
    const int64_t offset = feature * kBlockRows;
    feature_offsets_.push_back(offset);
    if (layout_.skips_zeros()) {
      const bool cut = column > 0 && column % kInputChunk == 0;
      if (cut) chunks_.push_back(std::ssize(row_segments_));
      if (feature != next || cut) row_segments_.push_back({feature, column, 0});
      ++row_segments_.back().count;
    } else {
      if (feature != next) feature_segments_.push_back({column * width, offset, 0});
      ++feature_segments_.back().count;
    }
    next = feature + 1;
    ++column;
  }
  if (layout_.skips_zeros()) {
    chunks_.push_back(std::ssize(row_segments_));
    panels_ = AlignedBuffer<float>(column * width);
  }
  if (map_.is_range()) return;
  collapsed_ = AlignedBuffer<float>((column + 1) * width + kSlackFloats);
  collapsed_gradient_ = AlignedBuffer<float>(column * width + kSlackFloats);
}

int64_t MlpPass::FlopsPerRow() const {
  int64_t flops = 0;
  for (int64_t l = 0; l < num_layers(); ++l) {
    flops += 2 * InputsOf(l) * layout_.layers()[static_cast<size_t>(l)].outputs;
  }
  return flops;
}

int64_t MlpPass::DeltaFlopsPerRow() const {
  return FlopsPerRow() - 2 * InputsOf(0) * layout_.layers()[0].outputs;
}

void MlpPass::Bind(const float* parameters) {
  parameters_ = parameters;
  const MlpLayout::Layer& first = layout_.layers()[0];
  if (map_.is_range()) {
    first_weights_ = parameters + first.weights;
    first_bias_ = parameters + first.bias;
  } else {
    float* const weights = collapsed_.data();
    float* const bias = weights + std::ssize(map_.features()) * first.outputs;
    map_.Collapse(kernels_, first.outputs, parameters + first.weights, parameters + first.bias,
                  weights, bias);
    first_weights_ = weights;
    first_bias_ = bias;
  }
  if (layout_.skips_zeros()) FillPanels();
}

// Layer by layer for one block; hidden[l] is where the activations of layer l go.
void MlpPass::ForwardLayers(const FeatureBatch& x, int64_t block, float* out,
                            float* const* hidden) {
  TESSERA_CHECK(parameters_ != nullptr);
  if (layout_.skips_zeros()) return ForwardSkipping(x, block, out, hidden);
  TESSERA_CHECK(!x.by_row());
  const float* input = x.At(block, 0);
  for (int64_t l = 0; l < num_layers(); ++l) {
    const MlpLayout::Layer& layer = layout_.layers()[static_cast<size_t>(l)];
    const bool last = l + 1 == num_layers();
    float* const output = last ? out : hidden[l];
    const GemmSegment whole{0, 0, layer.inputs};
    RunGemm(kernels_,
            {.m = layer.outputs,
             .n = RowsToCompute(x.RowsIn(block)),
             .a = l == 0 ? first_weights_ : parameters_ + layer.weights,
             .a_row = 1,
             .a_step = layer.outputs,
             .b = input,
             .b_step = kBlockRows,
             .segments = l == 0 ? feature_segments_.data() : &whole,
             .num_segments = l == 0 ? std::ssize(feature_segments_) : 1,
             .c = output,
             .c_row = kBlockRows,
             .epilogue = last ? Epilogue::kBias : HiddenEpilogue(layout_.shape().activation),
             .bias = l == 0 ? first_bias_ : parameters_ + layer.bias});
    input = output;
  }
}

void MlpPass::ForwardBlock(const FeatureBatch& x, int64_t block, float* out, int worker) {
  TESSERA_CHECK(mode_ == Mode::kForward);
  float* hidden[kMaxLayers] = {};
  float* at = scratch_->Of(worker);
  for (int64_t l = 0; l + 1 < num_layers(); ++l) {
    hidden[l] = at;
    at += layout_.layers()[static_cast<size_t>(l)].outputs * kBlockRows;
  }
  ForwardLayers(x, block, out, hidden);
}

void MlpPass::Forward(const FeatureBatch& x, ThreadPool* pool) {
  output().set_rows(x.rows());
  if (mode_ == Mode::kTrain) {
    for (FeatureBatch& hidden : space_->hidden) hidden.set_rows(x.rows());
  }
  ParallelFor(pool, x.blocks(), [&](int64_t begin, int64_t end, int worker) {
    for (int64_t b = begin; b < end; ++b) {
      if (mode_ == Mode::kForward) {
        ForwardBlock(x, b, output_.At(b, 0), worker);
        continue;
      }
      float* hidden[kMaxLayers];
      for (size_t l = 0; l < space_->hidden.size(); ++l) hidden[l] = space_->hidden[l].At(b, 0);
      ForwardLayers(x, b, space_->output.At(b, 0), hidden);
    }
  });
}

// Gradients with respect to the layers' sums, from the last layer down; for weight gradients row
// by row, too.
void MlpPass::BackwardBlock(const FeatureBatch& output_gradient, int64_t block, bool weights) {
  const int64_t rows = RowsToCompute(output_gradient.RowsIn(block));
  for (int64_t l = num_layers() - 1; l >= 0; --l) {
    const size_t at = static_cast<size_t>(l);
    const MlpLayout::Layer& layer = layout_.layers()[at];
    const float* delta =
        l + 1 == num_layers() ? output_gradient.At(block, 0) : space_->delta[at].At(block, 0);
    if (weights && space_->delta_rows[at].size() > 0) {
      kernels_.transpose(layer.outputs, rows, delta, kBlockRows,
                         space_->delta_rows[at].data() + block * kBlockRows * layer.outputs,
                         layer.outputs);
    }
    if (l == 0) break;
    const GemmSegment whole{0, 0, layer.outputs};
    RunGemm(kernels_, {.m = layer.inputs,
                       .n = rows,
                       .a = parameters_ + layer.weights,
                       .a_row = layer.outputs,
                       .b = delta,
                       .b_step = kBlockRows,
                       .segments = &whole,
                       .num_segments = 1,
                       .c = space_->delta[at - 1].At(block, 0),
                       .c_row = kBlockRows,
                       .epilogue = GateEpilogue(layout_.shape().activation),
                       .gate = space_->hidden[at - 1].At(block, 0),
                       .gate_row = kBlockRows});
  }
}

int64_t MlpPass::InputsOf(int64_t layer) const {
  return layer == 0 ? std::ssize(map_.features())
                    : layout_.layers()[static_cast<size_t>(layer)].inputs;
}

// Rows begin .. end-1 of one layer's weight gradient, or columns of the first one's if x lies by
// rows; FillRowSegments has run.
void MlpPass::WeightGradient(const FeatureBatch& x, const FeatureBatch& output_gradient,
                             int64_t layer, int64_t begin, int64_t end, float* gradient) {
  if (layout_.skips_zeros() && layer > 0) {
    return SkippingWeightGradient(output_gradient, layer, begin, end, gradient);
  }
  if (x.by_row()) return SkippingFirstGradient(x, begin, end, gradient);
  const size_t at = static_cast<size_t>(layer);
  const int64_t outputs = layout_.layers()[at].outputs;
  const FeatureBatch& input = layer == 0 ? x : space_->hidden[at - 1];
  float* const target =
      layer == 0 ? FirstGradient(gradient) : gradient + layout_.layers()[at].weights;
  const GemmSegment* const segments =
      space_->row_segments.data() + layer * (std::ssize(space_->row_segments) / num_layers());
  const bool dots = !layout_.skips_zeros() && space_->delta_rows[at].size() == 0;
  if (dots) {
    const FeatureBatch& delta = layer + 1 == num_layers() ? output_gradient : space_->delta[at];
    kernels_.row_dots({.m = end - begin,
                       .n = outputs,
                       .a = input.At(0, begin),
                       .a_row = kBlockRows,
                       .b = delta.At(0, 0),
                       .b_row = kBlockRows,
                       .segments = segments,
                       .num_segments = x.blocks(),
                       .c = target + begin * outputs,
                       .c_row = outputs});
    return;
  }
  RunGemm(kernels_,
          {.m = end - begin,
           .n = outputs,
           .a = layer == 0 ? input.At(0, 0) : input.At(0, begin),
           .a_rows = layer == 0 ? feature_offsets_.data() + begin : nullptr,
           .a_row = kBlockRows,
           .b = layout_.skips_zeros() ? space_->delta[at].data() : space_->delta_rows[at].data(),
           .b_step = outputs,
           .segments = segments,
           .num_segments = x.blocks(),
           .c = target + begin * outputs,
           .c_row = outputs});
}

void MlpPass::BiasGradients(const FeatureBatch& output_gradient, float* gradient) const {
  for (int64_t l = 0; l < num_layers(); ++l) {
    const size_t at = static_cast<size_t>(l);
    const FeatureBatch& delta = l + 1 == num_layers() ? output_gradient : space_->delta[at];
    float* const bias = gradient + layout_.layers()[at].bias;
    if (layout_.skips_zeros() && l + 1 < num_layers()) {
      const int64_t width = layout_.layers()[at].outputs;
      std::fill_n(bias, width, 0.0f);
      for (int64_t b = 0; b < output_gradient.blocks(); ++b) {
        kernels_.add_rows(RowsToCompute(output_gradient.RowsIn(b)), width, delta.At(b, 0), bias);
      }
      continue;
    }
    for (int64_t n = 0; n < layout_.layers()[at].outputs; ++n) {
      bias[n] = 0;
      for (int64_t b = 0; b < output_gradient.blocks(); ++b) {
        bias[n] += kernels_.sum(RowsToCompute(output_gradient.RowsIn(b)), delta.At(b, n));
      }
    }
  }
}

// The rows of the batch as the inner dimension of each layer's weight gradient.
void MlpPass::FillRowSegments(const FeatureBatch& x) {
  const int64_t max_blocks = std::ssize(space_->row_segments) / num_layers();
  for (int64_t l = 0; l < num_layers(); ++l) {
    const size_t at = static_cast<size_t>(l);
    const int64_t input_block = (l == 0 ? x : space_->hidden[at - 1]).block_size();
    const int64_t delta_block = kBlockRows * layout_.layers()[at].outputs;
    // The output layer's gradient is computed transposed where zeros are skipped.
    const bool turned = layout_.skips_zeros() && l + 1 == num_layers();
    for (int64_t b = 0; b < x.blocks(); ++b) {
      GemmSegment segment{b * input_block, b * delta_block, RowsToCompute(x.RowsIn(b))};
      if (turned) std::swap(segment.a, segment.b);
      space_->row_segments[static_cast<size_t>(l * max_blocks + b)] = segment;
    }
  }
}

void MlpPass::Backward(const FeatureBatch& x, const FeatureBatch& output_gradient, float* gradient,
                       ThreadPool* pool) {
  TESSERA_CHECK(mode_ == Mode::kTrain && x.rows() == space_->output.rows());
  TESSERA_CHECK(output_gradient.rows() == x.rows());
  for (FeatureBatch& delta : space_->delta) delta.set_rows(x.rows());
  if (layout_.skips_zeros()) TurnWeights();
  ParallelFor(pool, x.blocks(), [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t b = begin; b < end; ++b) {
      if (layout_.skips_zeros()) {
        BackwardSkipping(output_gradient, b, gradient != nullptr);
      } else {
        BackwardBlock(output_gradient, b, gradient != nullptr);
      }
    }
  });
  if (gradient == nullptr) return;
  FillRowSegments(x);
  // Rows of each weight gradient, or columns of the first one's where x lies by rows; one task each
  // kGradientRows, but all columns are one where there is one thread: the task reads all of x.
  const bool one_thread = pool == nullptr || pool->threads() == 1;
  const int64_t first_width = layout_.layers()[0].outputs;
  const auto extent = [&](int64_t l) { return l == 0 && x.by_row() ? first_width : InputsOf(l); };
  const auto piece = [&](int64_t l) {
    return l > 0 || !x.by_row() ? kGradientRows : one_thread ? first_width : kGradientColumns;
  };
  int64_t tasks = 0;
  for (int64_t l = 0; l < num_layers(); ++l) tasks += CeilDiv(extent(l), piece(l));
  ParallelFor(pool, tasks, [&](int64_t begin, int64_t end, int /*worker*/) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t layer = 0, chunk = task;
      while (chunk >= CeilDiv(extent(layer), piece(layer))) {
        chunk -= CeilDiv(extent(layer), piece(layer));
        ++layer;
      }
      const int64_t from = chunk * piece(layer);
      WeightGradient(x, output_gradient, layer, from, std::min(from + piece(layer), extent(layer)),
                     gradient);
    }
  });
  BiasGradients(output_gradient, gradient);
  if (!map_.is_range()) {
    const MlpLayout::Layer& first = layout_.layers()[0];
    map_.Expand(kernels_, first.outputs, collapsed_gradient_.data(), gradient + first.bias,
                gradient + first.weights);
  }
}

void MlpPass::InputGradient(int64_t block, int64_t first, int64_t count, float* out) const {
  TESSERA_CHECK(num_layers() > 1);
  const auto at = std::lower_bound(map_.features().begin(), map_.features().end(), first);
  TESSERA_CHECK(at != map_.features().end() && *at == first);
  const int64_t width = layout_.layers()[0].outputs;
  const GemmSegment whole{0, 0, width};
  const int64_t rows = RowsToCompute(space_->delta[0].RowsIn(block));
  const float* const delta = space_->delta[0].At(block, 0);
  const Gemm gemm{.m = count,
                  .n = rows,
                  .a = first_weights_ + (at - map_.features().begin()) * width,
                  .a_row = width,
                  .b = delta,
                  .b_step = kBlockRows,
                  .segments = &whole,
                  .num_segments = 1,
                  .c = out,
                  .c_row = kBlockRows};
  if (layout_.skips_zeros()) {
    TimesRows(gemm, rows, width, delta);
  } else {
    RunGemm(kernels_, gemm);
  }
}

}  // namespace tessera
