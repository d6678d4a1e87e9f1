// Passes of multilayer perceptrons: gradients against finite differences of a plain network in
// double, collapsed first layers against dense ones, and equal bits on all kernels and threads.
#include "tessera/nn/mlp.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/nn/init.h"
#include "tessera/nn/kernels_for_tests.h"
#include "tessera/nn/wide_gemm.h"
#include "tessera/part.h"

namespace tessera {
namespace {

// The network as a textbook writes it, in double: y = (... f(x W1 + b1) ...) Wn + bn.
std::vector<double> PlainForward(const MlpLayout& layout, const std::vector<double>& parameters,
                                 std::vector<double> x) {
  for (size_t l = 0; l < layout.layers().size(); ++l) {
    const MlpLayout::Layer& layer = layout.layers()[l];
    std::vector<double> y;
    for (int64_t j = 0; j < layer.outputs; ++j) {
      double sum = parameters[static_cast<size_t>(layer.bias + j)];
      for (int64_t i = 0; i < layer.inputs; ++i) {
        sum += x[static_cast<size_t>(i)] *
               parameters[static_cast<size_t>(layer.weights + i * layer.outputs + j)];
      }
      const bool last = l + 1 == layout.layers().size();
      const bool relu = layout.shape().activation == Activation::kRelu;
      y.push_back(last ? sum : relu ? std::max(sum, 0.0) : std::tanh(sum));
    }
    x = y;
  }
  return x;
}

// A network, a batch of features and a loss sum(output * weights), all random.
struct Example {
  MlpLayout layout;
  InputMap map;
  int64_t features;
  AlignedBuffer<float> parameters;
  FeatureBatch x, output_gradient;

  Example(MlpShape shape, InputMap input_map, int64_t num_features, int64_t rows)
      : layout(shape),
        map(std::move(input_map)),
        features(num_features),
        parameters(layout.Allocate()),
        x(num_features, rows),
        output_gradient(shape.outputs, rows) {
    InitGlorotUniform(layout, /*seed=*/1, /*stream=*/2, parameters.span());
    CounterRng rng(/*seed=*/3, /*stream=*/4);
    for (const TensorInfo& tensor : layout.tensors()) {
      if (tensor.rows > 1) continue;
      for (int64_t i = 0; i < tensor.size(); ++i) {
        parameters[tensor.offset + i] = static_cast<float>(0.1 * rng.Normal());
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t f = 0; f < features; ++f) x.Set(r, f, static_cast<float>(rng.Normal()));
      for (int64_t o = 0; o < shape.outputs; ++o) {
        output_gradient.Set(r, o, static_cast<float>(rng.Normal()));
      }
    }
    output_gradient.ZeroPadding();
  }

  std::vector<double> Inputs(int64_t row) const {
    std::vector<float> all, inputs(static_cast<size_t>(map.inputs()));
    for (int64_t f = 0; f < features; ++f) all.push_back(x.Get(row, f));
    map.Apply(all.data(), inputs.data());
    return {inputs.begin(), inputs.end()};
  }
  std::vector<double> Parameters() const {
    return {parameters.data(), parameters.data() + layout.size()};
  }
  double Loss(const std::vector<double>& at) const {
    double loss = 0;
    for (int64_t r = 0; r < x.rows(); ++r) {
      const std::vector<double> y = PlainForward(layout, at, Inputs(r));
      for (size_t o = 0; o < y.size(); ++o) {
        loss += y[o] * output_gradient.Get(r, static_cast<int64_t>(o));
      }
    }
    return loss;
  }
  std::vector<float> Gradient(const Kernels& kernels, ThreadPool* pool = nullptr) const {
    MlpPass pass(kernels, layout, map, x.rows());
    pass.Bind(parameters.data());
    pass.Forward(x, pool);
    std::vector<float> gradient(static_cast<size_t>(layout.size()));
    pass.Backward(x, output_gradient, gradient.data(), pool);
    return gradient;
  }
};

// Differences of positions, as in a particle world: inputs are features minus feature 1.
InputMap Differences(int64_t inputs) {
  std::vector<InputMap::Term> terms;
  std::vector<float> offsets;
  for (int64_t i = 0; i < inputs; ++i) {
    terms.push_back({i, (3 * i) % (inputs + 2), 1.0f});
    if (i % 2 == 0) terms.push_back({i, 1, -1.0f});
    offsets.push_back(i == 2 ? 0.5f : 0.0f);
  }
  return InputMap::Affine(inputs, terms, offsets);
}

std::vector<Example> Examples() {
  std::vector<Example> examples;
  for (const Activation activation : {Activation::kRelu, Activation::kTanh}) {
    examples.emplace_back(MlpShape{7, {16, 12}, 5, activation}, InputMap::Range(2, 7), 10, 30);
    examples.emplace_back(MlpShape{6, {20}, 1, activation}, Differences(6), 8, 150);
    examples.emplace_back(MlpShape{4, {8, 8, 8}, 11, activation}, InputMap::Range(0, 4), 4, 17);
    examples.emplace_back(MlpShape{5, {}, 3, activation}, Differences(5), 7, 20);
    examples.emplace_back(MlpShape{5, {64, 64}, 5, activation}, Differences(5), 7, 21);
    examples.emplace_back(MlpShape{4, {128}, 1, activation}, InputMap::Range(2, 4), 6, 140);
    examples.emplace_back(MlpShape{4, {64, 128, 64}, 9, activation}, InputMap::Range(0, 4), 4, 17);
  }
  return examples;
}

TEST(MlpPass, OutputsEqualThePlainNetwork) {
  for (const Example& example : Examples()) {
    for (const Kernels* kernels : TablesForTests()) {
      for (const bool train : {false, true}) {
        MlpPass pass = train ? MlpPass(*kernels, example.layout, example.map, 200)
                             : MlpPass(*kernels, example.layout, example.map, 200, /*workers=*/1);
        pass.Bind(example.parameters.data());
        pass.Forward(example.x);
        for (int64_t r = 0; r < example.x.rows(); ++r) {
          const std::vector<double> y =
              PlainForward(example.layout, example.Parameters(), example.Inputs(r));
          for (size_t o = 0; o < y.size(); ++o) {
            ASSERT_NEAR(pass.output().Get(r, static_cast<int64_t>(o)), y[o], 1e-5);
          }
        }
      }
    }
  }
}

TEST(MlpPass, GradientsEqualFiniteDifferencesInDouble) {
  for (const Example& example : Examples()) {
    const std::vector<float> gradient = example.Gradient(BestKernels());
    std::vector<double> at = example.Parameters();
    // Many parameters of a small network; a hundred of a large one, from every tensor.
    for (size_t i = 0; i < at.size(); i += at.size() < 2000 ? 7 : 97) {
      const double step = 1e-6, value = at[i];
      at[i] = value + step;
      const double above = example.Loss(at);
      at[i] = value - step;
      const double below = example.Loss(at);
      at[i] = value;
      const double expected = (above - below) / (2 * step);
      ASSERT_NEAR(gradient[i], expected, 2e-4 * (1 + std::abs(expected))) << "parameter " << i;
    }
  }
}

TEST(MlpPass, AllKernelsAndThreadsGiveTheSameBits) {
  ThreadPool pool(3);
  for (const Example& example : Examples()) {
    const std::vector<float> expected = example.Gradient(*TablesForTests()[0]);
    for (const Kernels* kernels : TablesForTests()) {
      for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
        const std::vector<float> gradient = example.Gradient(*kernels, threads);
        EXPECT_EQ(0, std::memcmp(gradient.data(), expected.data(), expected.size() * sizeof(float)))
            << kernels->name;
      }
    }
  }
}

TEST(MlpPass, ACollapsedFirstLayerEqualsTheDenseOne) {
  const Example collapsed(MlpShape{30, {64, 64}, 1}, Differences(30), 32, 300);
  Example dense(MlpShape{30, {64, 64}, 1}, InputMap::Range(0, 30), 30, 300);
  for (int64_t r = 0; r < 300; ++r) {
    const std::vector<double> inputs = collapsed.Inputs(r);
    for (int64_t i = 0; i < 30; ++i) {
      dense.x.Set(r, i, static_cast<float>(inputs[static_cast<size_t>(i)]));
    }
    dense.output_gradient.Set(r, 0, collapsed.output_gradient.Get(r, 0));
  }
  std::copy_n(collapsed.parameters.data(), collapsed.layout.size(), dense.parameters.data());
  const std::vector<float> a = collapsed.Gradient(BestKernels());
  const std::vector<float> b = dense.Gradient(BestKernels());
  double norm = 0, distance = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    norm += std::pow(b[i], 2);
    distance += std::pow(a[i] - b[i], 2);
  }
  EXPECT_LT(std::sqrt(distance / norm), 2e-6);
}

TEST(MlpPass, InputGradientsEqualFiniteDifferences) {
  Example example(MlpShape{6, {24, 16}, 2, Activation::kTanh}, InputMap::Range(1, 6), 8, 140);
  MlpPass pass(BestKernels(), example.layout, example.map, 140);
  pass.Bind(example.parameters.data());
  pass.Forward(example.x);
  pass.Backward(example.x, example.output_gradient, nullptr);
  std::vector<float> gradient(static_cast<size_t>(2 * kBlockRows));
  pass.InputGradient(/*block=*/1, /*first=*/3, /*count=*/2, gradient.data());
  for (const int64_t row : {128, 131, 139}) {
    for (int64_t f = 0; f < 2; ++f) {
      std::vector<double> inputs = example.Inputs(row);
      const auto loss = [&](double shift) {
        std::vector<double> moved = inputs;
        moved[static_cast<size_t>(2 + f)] += shift;  // feature 3 is input 2
        const std::vector<double> y = PlainForward(example.layout, example.Parameters(), moved);
        return y[0] * example.output_gradient.Get(row, 0) +
               y[1] * example.output_gradient.Get(row, 1);
      };
      EXPECT_NEAR(gradient[static_cast<size_t>(f * kBlockRows + row - 128)],
                  (loss(1e-6) - loss(-1e-6)) / 2e-6, 1e-4);
    }
  }
}

TEST(ForwardRows, GivesTheBitsOfAPass) {
  const Example example(MlpShape{10, {64, 64}, 5}, InputMap::Range(0, 10), 10, 33);
  MlpPass pass(BestKernels(), example.layout, example.map, 33, /*workers=*/1);
  pass.Bind(example.parameters.data());
  pass.Forward(example.x);
  std::vector<float> rows, y(33 * 5 + kSlackFloats);
  for (int64_t r = 0; r < 33; ++r) {
    for (int64_t f = 0; f < 10; ++f) rows.push_back(example.x.Get(r, f));
  }
  std::vector<float> scratch(static_cast<size_t>(ForwardRowsScratch(example.layout, 33)));
  for (const Kernels* kernels : TablesForTests()) {
    for (const int64_t batch : {int64_t{1}, int64_t{33}}) {
      for (int64_t r = 0; r < 33; r += batch) {
        ForwardRows(*kernels, example.layout, example.parameters.data(), batch,
                    rows.data() + 10 * r, 10, y.data() + 5 * r, scratch);
      }
      for (int64_t r = 0; r < 33; ++r) {
        for (int64_t o = 0; o < 5; ++o) {
          ASSERT_EQ(y[static_cast<size_t>(5 * r + o)], pass.output().Get(r, o));
        }
      }
    }
  }
}

// A batch of the same values in the other order.
FeatureBatch ByRow(const FeatureBatch& x) {
  FeatureBatch rows(x.features(), x.rows(), FeatureBatch::Order::kByRow);
  for (int64_t r = 0; r < x.rows(); ++r) {
    for (int64_t f = 0; f < x.features(); ++f) rows.Set(r, f, x.Get(r, f));
  }
  return rows;
}

TEST(MlpPass, RowsGiveTheBitsOfFeatures) {
  std::vector<Example> examples;
  examples.emplace_back(MlpShape{30, {64, 64}, 5}, Differences(30), 32, 300);
  examples.emplace_back(MlpShape{333, {64, 128}, 1}, InputMap::Range(3, 333), 340, 150);
  examples.emplace_back(MlpShape{9, {64}, 2}, InputMap::Range(0, 9), 9, 40);
  examples.emplace_back(MlpShape{170, {128, 64}, 3}, Differences(170), 172, 70);
  ThreadPool pool(3);
  for (const Example& example : examples) {
    const FeatureBatch rows = ByRow(example.x);
    const std::vector<float> expected = example.Gradient(BestKernels());
    for (ThreadPool* const threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      for (const Kernels* kernels : TablesForTests()) {
        MlpPass pass(*kernels, example.layout, example.map, rows.rows());
        pass.Bind(example.parameters.data());
        pass.Forward(rows, threads);
        std::vector<float> gradient(expected.size());
        pass.Backward(rows, example.output_gradient, gradient.data(), threads);
        EXPECT_EQ(gradient, expected) << kernels->name;
        MlpPass forward(*kernels, example.layout, example.map, rows.rows(), /*workers=*/3);
        forward.Bind(example.parameters.data());
        forward.Forward(rows, threads);
        for (int64_t r = 0; r < rows.rows(); ++r) {
          ASSERT_EQ(forward.output().Get(r, 0), pass.output().Get(r, 0));
        }
      }
    }
  }
}

TEST(WideGemm, AgreesWithTheKernelsToRounding) {
  const int64_t m = 300, n = 128, k = 400;
  std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n + kSlackFloats)),
      bias(static_cast<size_t>(m));
  CounterRng rng(/*seed=*/7, /*stream=*/7);
  for (std::vector<float>* values : {&a, &b, &bias}) {
    for (float& value : *values) value = static_cast<float>(rng.Normal());
  }
  for (const bool transposed : {false, true}) {
    const GemmSegment segments[] = {{0, 0, 100}, {transposed ? 100 * m : 100, 100 * n, k - 100}};
    std::vector<float> fast(static_cast<size_t>(m * n + kSlackFloats)), slow = fast;
    Gemm gemm{.m = m,
              .n = n,
              .a = a.data(),
              .a_row = transposed ? 1 : k,
              .a_step = transposed ? m : 1,
              .b = b.data(),
              .b_step = n,
              .segments = segments,
              .num_segments = 2,
              .c = fast.data(),
              .c_row = n,
              .epilogue = Epilogue::kBiasRelu,
              .bias = bias.data()};
    ASSERT_TRUE(IsWide(gemm));
    RunGemm(BestKernels(), gemm);
    gemm.c = slow.data();
    BestKernels().gemm(gemm);
    for (size_t i = 0; i < static_cast<size_t>(m * n); ++i) {
      ASSERT_NEAR(fast[i], slow[i], 2e-4);
    }
  }
}

TEST(MlpPass, WideLayersHaveTheSameGradients) {
  // 512 wide, so oneDNN computes the hidden layer; a few parameters are enough to compare.
  const Example example(MlpShape{8, {512, 512}, 2, Activation::kTanh}, InputMap::Range(0, 8), 8,
                        64);
  const std::vector<float> gradient = example.Gradient(BestKernels());
  std::vector<double> at = example.Parameters();
  for (size_t i = 5; i < at.size(); i += at.size() / 6) {
    const double step = 1e-5, value = at[i];
    at[i] = value + step;
    const double above = example.Loss(at);
    at[i] = value - step;
    const double expected = (above - example.Loss(at)) / (2 * step);
    at[i] = value;
    EXPECT_NEAR(gradient[i], expected, 5e-4 * (1 + std::abs(expected))) << "parameter " << i;
  }
}

}  // namespace
}  // namespace tessera
