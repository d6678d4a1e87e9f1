// How a policy's networks learn from lessons.
#ifndef TESSERA_POLICY_LEARN_H_
#define TESSERA_POLICY_LEARN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/nn/adam.h"
#include "tessera/nn/batch.h"
#include "tessera/nn/mlp.h"
#include "tessera/part.h"
#include "tessera/policy/networks.h"
#include "tessera/policy/play.h"
#include "tessera/result.h"

namespace tessera::policy {

// The same networks for any number of threads. Used by one thread at a time.
class Student {
 public:
  // The networks outlive it.
  Student(Networks& networks, double learning_rate);

  void set_learning_rate(double rate);

  // One step of every network towards its lessons; `entropy` rewards being unsure. Returns the mean
  // loss, -log p(target), of each kind. None, and no network has changed, if an AbandonScope said
  // on the way that nobody wants them.
  std::optional<std::array<double, kAgentKinds>> Learn(const Lessons& lessons, double entropy,
                                                       ThreadPool& pool);

  void Save(TensorWriter& writer) const;
  Result<void> Load(const TensorReader& reader);

 private:
  static constexpr int64_t kMostRows = 16'384;  // of a pass

  // The gradient of a kind's lessons, in `sum` of its part. The mean loss; none if abandoned.
  std::optional<double> GradientOf(size_t kind, const Lessons::Turns& turns, double entropy,
                                   ThreadPool& pool);

  struct Part {
    std::unique_ptr<Adam> adam;
    std::unique_ptr<MlpPass> pass;
    FeatureBatch x, gradient;
    AlignedBuffer<float> step, sum;
  };

  Networks& networks_;
  std::vector<Part> parts_;
};

}  // namespace tessera::policy

#endif  // TESSERA_POLICY_LEARN_H_
