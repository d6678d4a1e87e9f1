// Multilayer perceptrons: shapes, where their tensors lie, and passes over batches.
#ifndef TESSERA_NN_MLP_H_
#define TESSERA_NN_MLP_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/aligned_buffer.h"
#include "tessera/nn/batch.h"
#include "tessera/nn/input_map.h"
#include "tessera/nn/kernels.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

enum class Activation { kRelu, kTanh };

// Outputs are linear; what they mean is the business of nn/heads.h.
struct MlpShape {
  int64_t inputs = 1;
  std::vector<int64_t> hidden = {64, 64};
  int64_t outputs = 1;
  Activation activation = Activation::kRelu;

  friend bool operator==(const MlpShape&, const MlpShape&) = default;
};

// One weight matrix [rows x columns] = [inputs x outputs], or a bias (rows = 1), in the vector of
// all parameters of a network.
struct TensorInfo {
  std::string name;  // "w1", "b1", "w2", ...
  int64_t offset, rows, columns;

  int64_t size() const { return rows * columns; }
};

class MlpLayout {
 public:
  struct Layer {
    int64_t inputs, outputs, weights, bias;  // the last two are offsets
  };

  explicit MlpLayout(MlpShape shape);

  const MlpShape& shape() const { return shape_; }
  std::span<const Layer> layers() const { return layers_; }
  std::span<const TensorInfo> tensors() const { return tensors_; }
  int64_t size() const { return size_; }
  // Whether passes leave out activations that are zero: hidden layers of 64, 128 or 192 ReLUs.
  // About half of such activations are zero, so their products take half the time.
  bool skips_zeros() const { return skips_zeros_; }
  // Memory for parameters, moments or gradients of this layout.
  AlignedBuffer<float> Allocate() const { return AlignedBuffer<float>(size_ + kSlackFloats); }

 private:
  MlpShape shape_;
  std::vector<Layer> layers_;
  std::vector<TensorInfo> tensors_;
  int64_t size_ = 0;
  bool skips_zeros_ = false;
};

// The tensors of a network as arrays "name.w1", "name.b1", ... of a file.
void SaveNet(const std::string& name, const MlpLayout& layout, std::span<const float> parameters,
             TensorWriter& writer);
Result<void> LoadNet(const std::string& name, const MlpLayout& layout, std::span<float> parameters,
                     const TensorReader& reader);
// Whether a file has all of them in these sizes: before memory is taken for them.
Result<void> CheckNet(const std::string& name, const MlpLayout& layout, const TensorReader& reader);

// The outputs [rows x outputs] of a few rows that are x_row floats apart: acting. `scratch` has at
// least ForwardRowsScratch floats. Same numbers as MlpPass, bit for bit.
void ForwardRows(const Kernels& kernels, const MlpLayout& layout, const float* parameters,
                 int64_t rows, const float* x, int64_t x_row, float* y, std::span<float> scratch);
int64_t ForwardRowsScratch(const MlpLayout& layout, int64_t rows);

// Memory for passes in training over batches of up to max_rows rows. Networks that differ in their
// inputs only can share one, if they take turns: what a backward pass reads is what the last
// forward pass left.
struct MlpWorkspace {
  MlpWorkspace(const MlpLayout& layout, int64_t max_rows);

  FeatureBatch output;
  // Activations of each hidden layer and d loss / d (their sums before activation): feature by
  // feature, or row by row in each block if the layout skips zeros.
  std::vector<FeatureBatch> hidden, delta;
  std::vector<GemmSegment> row_segments;

  std::vector<AlignedBuffer<float>> delta_rows;  // delta row by row, for dense weight gradients

  // For layouts that skip zeros: which activations of each hidden layer are positive, and weight
  // gradients [outputs x inputs] of the output layer and of first layers of batches by rows.
  std::vector<AlignedBuffer<uint64_t>> masks;
  AlignedBuffer<float> turned_gradient, turned_first;
};

// Memory for the hidden layers of one block per worker. Passes for kForward that take turns share
// it, so that it stays in the nearest cache.
class BlockScratch {
 public:
  explicit BlockScratch(int workers) : workers_(static_cast<size_t>(workers)) {}
  void Reserve(int64_t floats);  // at least that many per worker
  float* Of(int worker) { return workers_[static_cast<size_t>(worker)].data(); }

 private:
  std::vector<AlignedBuffer<float>> workers_;
};

// Passes of one network over batches of up to max_rows rows. Networks that skip zeros take batches
// by rows, too, and are faster with them.
//
// Contract:
//   Threads      one thread at a time uses a pass; the pool's threads work inside its calls.
//   Determinism  the same bits for any number of threads and every table of kernels.
//   Memory       all of it is allocated by the constructor.
class MlpPass {
 public:
  enum class Mode {
    kForward,  // keeps outputs only
    kTrain,    // keeps what Backward needs
  };

  // For kTrain, with memory of its own or shared.
  MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, int64_t max_rows);
  MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs,
          std::shared_ptr<MlpWorkspace> workspace);
  // For kForward; ForwardBlock may run on as many threads as there are workers.
  MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, int64_t max_rows,
          int workers);
  MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, int64_t max_rows,
          std::shared_ptr<BlockScratch> scratch);

  // Takes the parameters that the next passes use. They must stay where they are, and a change of
  // them must be told by another Bind: an affine input map collapses the first layer here.
  void Bind(const float* parameters);

  // Computes the outputs of all rows of x. With a pool, blocks are spread over its threads.
  void Forward(const FeatureBatch& x, ThreadPool* pool = nullptr);
  // The same for one block, written to out [outputs x kBlockRows]. Mode kForward only; different
  // workers may run at once.
  void ForwardBlock(const FeatureBatch& x, int64_t block, float* out, int worker = 0);

  FeatureBatch& output() { return mode_ == Mode::kTrain ? space_->output : output_; }
  const FeatureBatch& output() const { return mode_ == Mode::kTrain ? space_->output : output_; }

  // Gradients of sum(output * output_gradient) after Forward on the same x. Writes all parameter
  // gradients to `gradient` (layout order); null skips them.
  void Backward(const FeatureBatch& x, const FeatureBatch& output_gradient, float* gradient,
                ThreadPool* pool = nullptr);
  // After Backward: gradients of features first .. first+count-1, which the input map reads, in one
  // block, to out [count x kBlockRows].
  void InputGradient(int64_t block, int64_t first, int64_t count, float* out) const;

  const MlpLayout& layout() const { return layout_; }
  const std::shared_ptr<MlpWorkspace>& workspace() const { return space_; }
  // Multiplications and additions per row of a forward pass, which are those of the weight
  // gradients, too; and of the backward pass through the hidden layers.
  int64_t FlopsPerRow() const;
  int64_t DeltaFlopsPerRow() const;

 private:
  MlpPass(const Kernels& kernels, const MlpLayout& layout, InputMap inputs, Mode mode);
  void ForwardLayers(const FeatureBatch& x, int64_t block, float* out, float* const* hidden);
  void ForwardSkipping(const FeatureBatch& x, int64_t block, float* out, float* const* hidden);
  // Rows first .. first+rows-1 of a block through the first layer, to c.
  void FirstLayer(const FeatureBatch& x, int64_t block, int64_t first, int64_t rows,
                  float* c) const;
  // The runs of used features in one chunk of the first layer's inputs.
  std::span<const GemmSegment> RunsOf(size_t chunk) const;
  // C [m x rows] = A [m x k] times the transpose of a block's rows [rows x k].
  void TimesRows(Gemm gemm, int64_t rows, int64_t k, const float* values) const;
  void BackwardBlock(const FeatureBatch& output_gradient, int64_t block, bool weights);
  void BackwardSkipping(const FeatureBatch& output_gradient, int64_t block, bool weights);
  void TurnWeights();
  void FillPanels();
  void SkippingWeightGradient(const FeatureBatch& output_gradient, int64_t layer, int64_t begin,
                              int64_t end, float* gradient);
  // Columns begin .. end-1 of the first layer's weight gradient; x by rows.
  void SkippingFirstGradient(const FeatureBatch& x, int64_t begin, int64_t end, float* gradient);
  // Where the first layer's weight gradient goes, as the kernels see that layer.
  float* FirstGradient(float* gradient) {
    return map_.is_range() ? gradient + layout_.layers()[0].weights : collapsed_gradient_.data();
  }
  void FillRowSegments(const FeatureBatch& x);
  void WeightGradient(const FeatureBatch& x, const FeatureBatch& output_gradient, int64_t layer,
                      int64_t begin, int64_t end, float* gradient);
  void BiasGradients(const FeatureBatch& output_gradient, float* gradient) const;
  int64_t InputsOf(int64_t layer) const;
  int64_t num_layers() const { return std::ssize(layout_.layers()); }

  const Kernels& kernels_;
  const MlpLayout layout_;
  const InputMap map_;
  const Mode mode_;
  const float* parameters_ = nullptr;

  // The first layer as the kernels see it: on features, collapsed unless the map is a range.
  std::vector<int64_t> feature_offsets_;       // of each used feature in a block
  std::vector<GemmSegment> feature_segments_;  // runs of used features, as the first layer's B
  // Where zeros are skipped: the runs of used features in a row of all (b: used ones before them),
  // cut after each kInputChunk used ones; where each chunk starts among them, and the last one
  // ends; and the weights in panels.
  static constexpr int64_t kInputChunk = 160;
  std::vector<GemmSegment> row_segments_;
  std::vector<int64_t> chunks_;
  AlignedBuffer<float> panels_;
  AlignedBuffer<float> collapsed_, collapsed_gradient_;
  const float* first_weights_ = nullptr;
  const float* first_bias_ = nullptr;
  AlignedBuffer<float>
      turned_weights_;  // kTrain, skipping: of all layers but the first, transposed

  std::shared_ptr<MlpWorkspace> space_;  // kTrain
  FeatureBatch output_;                  // kForward, as the next
  std::shared_ptr<BlockScratch> scratch_;
};

}  // namespace tessera

#endif  // TESSERA_NN_MLP_H_
