// What the networks of a learner take, from its settings alone: asked before anything is made.
#ifndef TESSERA_RL_NETWORK_MEMORY_H_
#define TESSERA_RL_NETWORK_MEMORY_H_

#include <cstdint>

namespace tessera {

// A network of `layers` hidden layers of `hidden` units.
struct NetworkSize {
  int64_t inputs = 0, outputs = 0, hidden = 0, layers = 0;

  double parameters() const;

  // Bytes of the parameters with what training keeps beside them: gradients, the moments of Adam,
  // `copies` more such as targets, and what `rows` rows leave behind on their way through.
  double TrainingBytes(double rows, double copies) const;
};

}  // namespace tessera

#endif  // TESSERA_RL_NETWORK_MEMORY_H_
