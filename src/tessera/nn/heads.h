// What the outputs of a policy network mean: distributions over actions, with exact
// log-probabilities and entropies, and the gradients of both. All functions work on one block of a
// batch (feature-major, nn/batch.h). They compute whole blocks, or RowsToCompute(rows) where they
// are told how many rows count, because a search learns from a few rows at a time; callers ignore
// the others.
#ifndef TESSERA_NN_HEADS_H_
#define TESSERA_NN_HEADS_H_

#include <cstdint>
#include <span>

#include "tessera/nn/kernels.h"

namespace tessera {

// Standard Gumbel noise for `count` values (a multiple of 64), from words `first` .. of the stream
// (seed, stream, step). `first` is a multiple of 64, too: parts of one stream can be drawn apart.
void FillGumbel(const Kernels& kernels, uint64_t seed, uint64_t stream, uint64_t step,
                int64_t first, int64_t count, float* noise);

// ---- Categorical over `choices` logits -------------------------------------------------------

// The choice that maximises logit + noise is a draw of the categorical distribution; without noise
// (null) it is the most probable choice. Writes choices as floats [kBlockRows].
void CategoricalChoose(int64_t choices, int64_t rows, const float* logits, const float* noise,
                       float* chosen);

// log p(chosen) and the entropy of each row. `probabilities` [choices x kBlockRows] is for the
// gradient.
void CategoricalEvaluate(const Kernels& kernels, int64_t choices, int64_t rows, const float* logits,
                         const float* chosen, float* probabilities, float* log_probability,
                         float* entropy);

// d/d logits of sum(a * log p(chosen) + b * entropy) with per-row factors a and b; without b (null)
// of the first term alone.
void CategoricalGradient(const Kernels& kernels, int64_t choices, int64_t rows,
                         const float* probabilities, const float* chosen, const float* entropy,
                         const float* a, const float* b, float* logits_gradient);

// ---- Gumbel-softmax: a soft choice, differentiable -------------------------------------------

// y = softmax((logits + noise) / temperature).
void GumbelSoftmax(const Kernels& kernels, int64_t choices, const float* logits, const float* noise,
                   float temperature, float* y);
// d loss/d logits from y and d loss/d y.
void GumbelSoftmaxGradient(int64_t choices, const float* y, const float* y_gradient,
                           float temperature, float* logits_gradient);

// ---- Diagonal Gaussian with one log-deviation per dimension ----------------------------------

// action = mean + exp(log_deviation) * noise; a null noise gives the mean.
void GaussianChoose(const Kernels& kernels, int64_t dimensions, const float* mean,
                    const float* log_deviation, const float* noise, float* action);
// log density of each row's action; the entropy is the same for all rows.
void GaussianEvaluate(const Kernels& kernels, int64_t dimensions, const float* mean,
                      const float* log_deviation, const float* action, float* log_probability);
float GaussianEntropy(std::span<const float> log_deviation);
// d/d mean of sum(a * log p); adds d/d log_deviation over the first `rows` rows.
void GaussianGradient(const Kernels& kernels, int64_t dimensions, int64_t rows, const float* mean,
                      const float* log_deviation, const float* action, const float* a,
                      float* mean_gradient, float* log_deviation_gradient);

}  // namespace tessera

#endif  // TESSERA_NN_HEADS_H_
