// Kernels: each one against a slow, obvious twin in double, and all tables against each other, bit
// for bit.
#include "tessera/nn/kernels.h"

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/nn/kernels_for_tests.h"
#include "tessera/part.h"

namespace tessera {
namespace {

std::vector<float> Randoms(int64_t count, uint64_t stream, double scale = 1.0) {
  CounterRng rng(/*seed=*/1, stream);
  std::vector<float> values(static_cast<size_t>(count + kSlackFloats));
  for (float& value : values) value = static_cast<float>(scale * rng.Normal());
  return values;
}

// Runs `compute` with every table and expects one result.
template <typename Compute>
std::vector<float> SameEverywhere(Compute compute) {
  const std::vector<const Kernels*> tables = TablesForTests();
  const std::vector<float> first = compute(*tables[0]);
  for (const Kernels* table : tables) {
    const std::vector<float> other = compute(*table);
    EXPECT_EQ(0, std::memcmp(first.data(), other.data(), first.size() * sizeof(float)))
        << table->name << " differs from " << tables[0]->name;
  }
  return first;
}

struct GemmShape {
  int64_t m, n, k;
};

class GemmTest : public testing::TestWithParam<GemmShape> {};

TEST_P(GemmTest, EqualsTheSumOfProductsWithEveryEpilogue) {
  const auto [m, n, k] = GetParam();
  const std::vector<float> a = Randoms(m * k, 1), b = Randoms(k * n, 2), bias = Randoms(m + n, 3),
                           gate = Randoms(m * n, 4);
  for (const Epilogue epilogue : {Epilogue::kStore, Epilogue::kBias, Epilogue::kBiasRelu,
                                  Epilogue::kBiasTanh, Epilogue::kGateRelu, Epilogue::kGateTanh}) {
    const GemmSegment segments[] = {{0, 0, k / 3}, {k / 3, k / 3 * n, k - k / 3}};
    const std::vector<float> c = SameEverywhere([&](const Kernels& kernels) {
      std::vector<float> result(static_cast<size_t>(m * n + 1), -7.0f);
      kernels.gemm({.m = m,
                    .n = n,
                    .a = a.data(),
                    .a_row = k,
                    .b = b.data(),
                    .b_step = n,
                    .segments = segments,
                    .num_segments = 2,
                    .c = result.data(),
                    .c_row = n,
                    .epilogue = epilogue,
                    .bias = bias.data(),
                    .gate = gate.data(),
                    .gate_row = n});
      return result;
    });
    EXPECT_EQ(c.back(), -7.0f) << "written past the end";
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += static_cast<double>(a[static_cast<size_t>(i * k + p)]) *
                 b[static_cast<size_t>(p * n + j)];
        }
        const double g = gate[static_cast<size_t>(i * n + j)];
        const double biased = sum + bias[static_cast<size_t>(i)];
        const double expected = epilogue == Epilogue::kStore      ? sum
                                : epilogue == Epilogue::kBias     ? biased
                                : epilogue == Epilogue::kBiasRelu ? std::max(biased, 0.0)
                                : epilogue == Epilogue::kBiasTanh ? std::tanh(biased)
                                : epilogue == Epilogue::kGateRelu ? (g > 0 ? sum : 0)
                                                                  : sum * (1 - g * g);
        const double size = 1 + std::sqrt(static_cast<double>(k)) * (1 + g * g);
        ASSERT_NEAR(c[static_cast<size_t>(i * n + j)], expected, 1e-5 * size)
            << "at " << i << ", " << j << ", epilogue " << static_cast<int>(epilogue);
      }
    }
  }
}

TEST(PanelGemm, GivesTheBitsOfTheDenseProduct) {
  for (const int64_t m : {16, 32, 80, 128}) {
    const int64_t n = 128, k = 27, a_row = 40;
    const std::vector<float> a = Randoms(m * a_row, 1), b = Randoms(k * n, 2), bias = Randoms(n, 3);
    std::vector<float> panels(b.size());
    for (int64_t p = 0; p < k; ++p) {
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = j / kPanelColumns * k * kPanelColumns + p * kPanelColumns;
        panels[static_cast<size_t>(at + j % kPanelColumns)] = b[static_cast<size_t>(p * n + j)];
      }
    }
    // Columns 3 .. 22 and 30 .. 36 of A; in one product, and in two of which the second adds.
    const GemmSegment segments[] = {{3, 0, 20}, {30, 20 * n, 7}};
    std::vector<float> c(static_cast<size_t>(m * n)), parts = c, dense = c;
    for (const Kernels* kernels : TablesForTests()) {
      PanelGemm gemm{.m = m,
                     .n = n,
                     .a = a.data(),
                     .a_row = a_row,
                     .segments = segments,
                     .num_segments = 2,
                     .panels = panels.data(),
                     .panel = k * kPanelColumns,
                     .c = c.data(),
                     .bias = bias.data()};
      kernels->panel_gemm(gemm);
      gemm.c = parts.data();
      gemm.num_segments = 1;
      gemm.bias = nullptr;
      kernels->panel_gemm(gemm);
      gemm.segments = segments + 1;
      gemm.panels += 20 * kPanelColumns;
      gemm.add = true;
      gemm.bias = bias.data();
      kernels->panel_gemm(gemm);
      kernels->gemm({.m = m,
                     .n = n,
                     .a = a.data(),
                     .a_row = a_row,
                     .b = b.data(),
                     .b_step = n,
                     .segments = segments,
                     .num_segments = 2,
                     .c = dense.data(),
                     .c_row = n,
                     .epilogue = Epilogue::kBiasRelu,
                     .bias = bias.data(),
                     .bias_per_column = true});
      EXPECT_EQ(c, dense) << kernels->name;
      EXPECT_EQ(parts, dense) << kernels->name;
    }
  }
}

// The dense product that a skipping one stands for; gate null: bias and ReLU.
std::vector<float> Dense(const Kernels& kernels, const SkipGemm& g) {
  const GemmSegment whole{0, 0, g.k};
  std::vector<float> c(static_cast<size_t>(g.m * g.n));
  kernels.gemm({.m = g.m,
                .n = g.n,
                .a = g.a,
                .a_row = g.k,
                .b = g.b,
                .b_step = g.n,
                .segments = &whole,
                .num_segments = 1,
                .c = c.data(),
                .c_row = g.n,
                .epilogue = g.gate == nullptr ? Epilogue::kBiasRelu : Epilogue::kGateRelu,
                .bias = g.bias,
                .bias_per_column = true,
                .gate = g.gate,
                .gate_row = g.n});
  return c;
}

TEST(SkipGemm, GivesTheBitsOfTheDenseProduct) {
  for (const auto& [m, n, k] : {GemmShape{37, 64, 64}, GemmShape{5, 128, 192}}) {
    std::vector<float> a = Randoms(m * k, 1);
    const std::vector<float> pattern = Randoms(m * k, 5), b = Randoms(k * n, 2),
                             bias = Randoms(n, 3), gate = Randoms(m * n, 4);
    for (size_t i = 0; i < a.size(); ++i) a[i] = pattern[i] > 0 ? a[i] : 0.0f;
    for (const bool gated : {false, true}) {
      std::vector<float> c(static_cast<size_t>(m * n));
      const SkipGemm gemm{.m = m,
                          .n = n,
                          .k = k,
                          .a = a.data(),
                          .pattern = pattern.data(),
                          .b = b.data(),
                          .c = c.data(),
                          .bias = bias.data(),
                          .gate = gated ? gate.data() : nullptr};
      for (const Kernels* kernels : TablesForTests()) {
        kernels->skip_gemm(gemm);
        EXPECT_EQ(c, Dense(*kernels, gemm)) << kernels->name;
      }
    }
  }
}

TEST(SkipOuter, GivesTheBitsOfTheDenseProduct) {
  const int64_t rows = 112, n = 272, k = 128, b_row = 280;
  std::vector<float> a = Randoms(rows * k, 1);
  const std::vector<float> b = Randoms(rows * b_row, 2);
  for (float& value : a) value = std::max(value, 0.0f);
  for (const Kernels* kernels : TablesForTests()) {
    std::vector<uint64_t> masks(static_cast<size_t>(2 * k));
    kernels->skip_masks(rows, k, a.data(), masks.data());
    for (int64_t r = 0; r < 128; ++r) {
      for (int64_t p = 0; p < k; ++p) {
        const uint64_t word = masks[static_cast<size_t>(r / 64 * k + p)];
        ASSERT_EQ((word >> (r % 64) & 1) != 0, r < rows && a[static_cast<size_t>(r * k + p)] > 0);
      }
    }
    std::vector<float> c(static_cast<size_t>(k * n)), dense = c;
    for (const int64_t begin : {0, 48}) {
      kernels->skip_outer({.rows = rows,
                           .n = n,
                           .k = k,
                           .begin = begin,
                           .end = begin == 0 ? 48 : k,
                           .a = a.data(),
                           .masks = masks.data(),
                           .b = b.data(),
                           .b_row = b_row,
                           .c = c.data(),
                           .c_row = n});
    }
    const GemmSegment whole{0, 0, rows};
    kernels->gemm({.m = k,
                   .n = n,
                   .a = a.data(),
                   .a_row = 1,
                   .a_step = k,
                   .b = b.data(),
                   .b_step = b_row,
                   .segments = &whole,
                   .num_segments = 1,
                   .c = dense.data(),
                   .c_row = n});
    EXPECT_EQ(c, dense) << kernels->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmTest,
                         testing::Values(GemmShape{1, 1, 1}, GemmShape{1, 64, 16},
                                         GemmShape{64, 128, 63}, GemmShape{5, 128, 64},
                                         GemmShape{7, 13, 9}, GemmShape{64, 5, 64},
                                         GemmShape{13, 40, 1700}, GemmShape{100, 33, 3100}));

TEST(Kernels, GemmReadsTransposedAndSelectedRows) {
  const int64_t m = 11, n = 32, k = 20;
  const std::vector<float> a = Randoms(40 * k, 5), b = Randoms(k * n, 6);
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < m; ++i) offsets.push_back((3 * i) * k);
  const GemmSegment segment{0, 0, k};
  const std::vector<float> c = SameEverywhere([&](const Kernels& kernels) {
    std::vector<float> result(static_cast<size_t>(2 * m * n));
    kernels.gemm({.m = m,
                  .n = n,
                  .a = a.data(),
                  .a_rows = offsets.data(),
                  .b = b.data(),
                  .b_step = n,
                  .segments = &segment,
                  .num_segments = 1,
                  .c = result.data(),
                  .c_row = n});
    kernels.gemm({.m = m,
                  .n = n,
                  .a = a.data(),
                  .a_row = 1,
                  .a_step = 40,
                  .b = b.data(),
                  .b_step = n,
                  .segments = &segment,
                  .num_segments = 1,
                  .c = result.data() + m * n,
                  .c_row = n});
    return result;
  });
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double selected = 0, transposed = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double right = b[static_cast<size_t>(p * n + j)];
        selected += a[static_cast<size_t>(3 * i * k + p)] * right;
        transposed += a[static_cast<size_t>(p * 40 + i)] * right;
      }
      EXPECT_NEAR(c[static_cast<size_t>(i * n + j)], selected, 1e-5);
      EXPECT_NEAR(c[static_cast<size_t>((m + i) * n + j)], transposed, 1e-5);
    }
  }
}

TEST(Kernels, AnEmptySumIsZeroPlusBias) {
  const float bias = 2.5f;
  const std::vector<float> c = SameEverywhere([&](const Kernels& kernels) {
    std::vector<float> result(20, -1.0f);
    kernels.gemm({.m = 1,
                  .n = 20,
                  .c = result.data(),
                  .c_row = 20,
                  .epilogue = Epilogue::kBias,
                  .bias = &bias});
    return result;
  });
  for (const float value : c) EXPECT_EQ(value, 2.5f);
}

TEST(Kernels, RowDotsEqualTheSumOfProducts) {
  const int64_t m = 9, rows = 128;
  for (const int64_t n : {int64_t{1}, int64_t{5}, int64_t{7}}) {
    const std::vector<float> a = Randoms(2 * m * rows, 7), b = Randoms(2 * n * rows, 8);
    const GemmSegment segments[] = {{0, 0, rows}, {m * rows, n * rows, rows}};
    const std::vector<float> c = SameEverywhere([&](const Kernels& kernels) {
      std::vector<float> result(static_cast<size_t>(m * n));
      kernels.row_dots({.m = m,
                        .n = n,
                        .a = a.data(),
                        .a_row = rows,
                        .b = b.data(),
                        .b_row = rows,
                        .segments = segments,
                        .num_segments = 2,
                        .c = result.data(),
                        .c_row = n});
      return result;
    });
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (const GemmSegment& s : segments) {
          for (int64_t r = 0; r < rows; ++r) {
            sum += static_cast<double>(a[static_cast<size_t>(s.a + i * rows + r)]) *
                   b[static_cast<size_t>(s.b + j * rows + r)];
          }
        }
        EXPECT_NEAR(c[static_cast<size_t>(i * n + j)], sum, 1e-4);
      }
    }
  }
}

TEST(Kernels, SumsAndNormsAgreeWithDoubles) {
  for (const int64_t n : {0, 1, 15, 16, 17, 1000}) {
    const std::vector<float> x = Randoms(n, 9);
    const std::vector<float> sums = SameEverywhere([&](const Kernels& kernels) {
      return std::vector<float>{kernels.sum(n, x.data()), kernels.squared_norm(n, x.data())};
    });
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += x[static_cast<size_t>(i)];
      squares += std::pow(x[static_cast<size_t>(i)], 2);
    }
    EXPECT_NEAR(sums[0], sum, 1e-4);
    EXPECT_NEAR(sums[1], squares, 1e-3);
  }
}

TEST(Kernels, TransposeAndGatherMoveEveryValue) {
  for (const int64_t rows : {1, 8, 13, 128}) {
    for (const int64_t columns : {1, 5, 8, 30}) {
      const std::vector<float> in = Randoms(rows * columns, 10);
      std::vector<const float*> pointers;
      for (int64_t i = 0; i < rows; ++i) pointers.push_back(in.data() + i * columns);
      const std::vector<float> out = SameEverywhere([&](const Kernels& kernels) {
        std::vector<float> result(static_cast<size_t>(2 * rows * columns));
        kernels.transpose(rows, columns, in.data(), columns, result.data(), rows);
        kernels.gather(rows, columns, pointers.data(), result.data() + rows * columns, rows);
        return result;
      });
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const float value = in[static_cast<size_t>(i * columns + j)];
          ASSERT_EQ(out[static_cast<size_t>(j * rows + i)], value);
          ASSERT_EQ(out[static_cast<size_t>((columns + j) * rows + i)], value);
        }
      }
    }
  }
}

TEST(Kernels, ElementaryFunctionsAreAccurate) {
  std::vector<float> x, positive;
  for (int i = -3000; i <= 3000; ++i) {
    x.push_back(static_cast<float>(i) * 0.025f);
    positive.push_back(std::exp2(static_cast<float>(i) * 0.03f));
    positive.push_back(1.0f + static_cast<float>(i) * 1e-4f);
  }
  const auto apply = [](auto function, const std::vector<float>& in) {
    return SameEverywhere([&](const Kernels& kernels) {
      std::vector<float> out(in.size());
      (kernels.*function)(static_cast<int64_t>(in.size()), in.data(), out.data());
      return out;
    });
  };
  const std::vector<float> exps = apply(&Kernels::exp, x), tanhs = apply(&Kernels::tanh, x),
                           logs = apply(&Kernels::log, positive);
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    EXPECT_NEAR(exps[i], exact, 3e-7 * exact) << x[i];
    EXPECT_NEAR(tanhs[i], std::tanh(static_cast<double>(x[i])),
                3e-7 * std::abs(std::tanh(static_cast<double>(x[i]))))
        << x[i];
  }
  for (size_t i = 0; i < positive.size(); ++i) {
    const double exact = std::log(static_cast<double>(positive[i]));
    EXPECT_NEAR(logs[i], exact, 2e-7 * std::abs(exact) + 1e-30) << positive[i];
  }
}

TEST(Kernels, SoftmaxSumsToOneAndKnowsItsNorm) {
  const int64_t choices = 5, rows = 32;
  const std::vector<float> logits = Randoms(choices * rows, 11, 4.0);
  const std::vector<float> out = SameEverywhere([&](const Kernels& kernels) {
    std::vector<float> result(static_cast<size_t>((choices + 1) * rows));
    kernels.softmax(choices, rows, rows, logits.data(), result.data(),
                    result.data() + choices * rows);
    return result;
  });
  for (int64_t r = 0; r < rows; ++r) {
    double norm = 0;
    for (int64_t c = 0; c < choices; ++c) {
      norm += std::exp(static_cast<double>(logits[static_cast<size_t>(c * rows + r)]));
    }
    EXPECT_NEAR(out[static_cast<size_t>(choices * rows + r)], std::log(norm), 2e-6);
    for (int64_t c = 0; c < choices; ++c) {
      const size_t at = static_cast<size_t>(c * rows + r);
      EXPECT_NEAR(out[at], std::exp(static_cast<double>(logits[at])) / norm, 1e-6);
    }
  }
}

TEST(Kernels, AdamAndBlendFollowTheirFormulas) {
  const int64_t n = 37;
  const std::vector<float> g = Randoms(n, 12);
  const AdamStep step{.step = 0.01f,
                      .root_scale = 2.0f,
                      .epsilon = 1e-3f,
                      .beta1 = 0.9f,
                      .beta2 = 0.999f,
                      .gradient_scale = 0.5f};
  const std::vector<float> out = SameEverywhere([&](const Kernels& kernels) {
    std::vector<float> state(static_cast<size_t>(4 * n), 0.25f);
    kernels.adam(n, step, g.data(), state.data(), state.data() + n, state.data() + 2 * n);
    kernels.blend(n, 0.1f, g.data(), state.data() + 3 * n);
    return state;
  });
  for (int64_t i = 0; i < n; ++i) {
    const double gradient = 0.5 * g[static_cast<size_t>(i)];
    const double mean = 0.9 * 0.25 + 0.1 * gradient;
    const double variance = 0.999 * 0.25 + 0.001 * gradient * gradient;
    EXPECT_NEAR(out[static_cast<size_t>(i)], 0.25 - 0.01 * mean / (std::sqrt(variance) * 2 + 1e-3),
                1e-6);
    EXPECT_NEAR(out[static_cast<size_t>(n + i)], mean, 1e-6);
    EXPECT_NEAR(out[static_cast<size_t>(2 * n + i)], variance, 1e-6);
    EXPECT_NEAR(out[static_cast<size_t>(3 * n + i)], 0.9 * 0.25 + 0.1 * g[static_cast<size_t>(i)],
                1e-6);
  }
}

TEST(Kernels, PhiloxWordsAreThoseOfTheBaseLibrary) {
  const CounterRng rng(/*seed=*/5, StreamId("noise"));
  const std::array<uint32_t, 2> key = rng.key();
  const uint64_t step = 0x123456789ab, first = (uint64_t{1} << 32) - 5;
  for (const Kernels* table : TablesForTests()) {
    std::vector<uint32_t> words(128);
    table->philox(key.data(), step, first, 2, words.data());
    for (uint64_t g = 0; g < 2; ++g) {
      for (uint64_t lane = 0; lane < 16; ++lane) {
        const uint64_t block = first + 16 * g + lane;
        const std::array<uint32_t, 4> expected =
            Philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                        static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                       key);
        for (uint64_t w = 0; w < 4; ++w) ASSERT_EQ(words[64 * g + 16 * w + lane], expected[w]);
      }
    }
  }
}

TEST(Kernels, GumbelNoiseHasItsMeanAndIsFinite) {
  std::vector<uint32_t> words = {0, 0xffffffffu};
  CounterRng rng(/*seed=*/3, /*stream=*/1);
  for (int i = 0; i < 100'001; ++i) words.push_back(rng.Bits32());
  const std::vector<float> noise = SameEverywhere([&](const Kernels& kernels) {
    std::vector<float> out(words.size());
    kernels.gumbel(static_cast<int64_t>(words.size()), words.data(), out.data());
    return out;
  });
  EXPECT_NEAR(noise[0], -std::log(-std::log(0x1.0p-24)), 1e-5);
  EXPECT_NEAR(noise[1], -std::log(-std::log1p(-0x1.0p-24)), 1e-5);
  double sum = 0;
  for (const float value : noise) sum += value;
  EXPECT_NEAR(sum / static_cast<double>(noise.size()), 0.5772, 0.02);  // Euler's constant
}

}  // namespace
}  // namespace tessera
