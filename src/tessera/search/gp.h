// A Gaussian process: what a cost is likely to be where nothing was measured yet.
#ifndef TESSERA_SEARCH_GP_H_
#define TESSERA_SEARCH_GP_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tessera {

struct GpSettings {
  // Distance between rows at which the correlation has fallen to exp(-1/2). Default: 1.
  double length = 1.0;

  // Variance of what rows do not explain, as a part of the whole. Default: 0.01.
  double noise = 0.01;

  // Variance of the slope along each column, for costs that keep rising; 0: they level off far
  // from all that is known. Default: 0.
  double slope = 0;
};

// Costs are standardised inside; the kernel is squared-exponential in the distance of rows, plus
// the product of rows times `slope`.
// Deterministic; used by one thread at a time.
class GaussianProcess {
 public:
  explicit GaussianProcess(size_t columns);
  ~GaussianProcess();
  GaussianProcess(const GaussianProcess&) = delete;
  GaussianProcess& operator=(const GaussianProcess&) = delete;

  // Learns from `rows`, columns() numbers each, and their costs, replacing what it knew. Returns
  // the logarithm of the evidence, by which settings can be compared.
  double Fit(std::span<const double> rows, std::span<const double> costs,
             const GpSettings& settings);

  // Starts to consider candidates; ends consideration of earlier ones. Needs Fit.
  void Consider(std::span<const double> rows);
  size_t candidates() const;
  double mean(size_t candidate) const;
  double deviation(size_t candidate) const;

  // Acts as if the candidate had been measured with its mean as the result: means stay, deviations
  // of similar candidates shrink, so that a batch does not ask the same question twice.
  void Believe(size_t candidate);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How much lower than `best` a normal variable is expected to be, where it is lower.
double ExpectedImprovement(double best, double mean, double deviation);

}  // namespace tessera

#endif  // TESSERA_SEARCH_GP_H_
