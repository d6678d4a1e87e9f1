// Collects layers into a network, which importers do one occurrence at a time.
#ifndef TESSERA_WORKLOAD_BUILDER_H_
#define TESSERA_WORKLOAD_BUILDER_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/network.h"
#include "tessera/result.h"
#include "tessera/workload/unique_names.h"

namespace tessera {

class NetworkBuilder {
 public:
  // Starts from a network without layers: its name, source and so on.
  explicit NetworkBuilder(Network header) : network_(std::move(header)) {}

  // Adds `count` occurrences of a layer, merged with an equal one. A name that is taken gets a
  // suffix ("conv~2"). The error is Validate's, with the layer's name in front, or an overflow of
  // the network's totals.
  Result<void> Add(std::string name, const Layer& layer, int64_t count = 1);

  // What the elements of the last layer's tensors are.
  void SetTypes(const ElementTypes& types);

  // The entry that the last layer has become a part of.
  size_t last() const { return last_; }

  // The finished network; the builder is empty afterwards.
  Network Take() { return std::move(network_); }

 private:
  Network network_;
  Checked macs_ = 0, parameters_ = 0;
  std::unordered_map<Layer, size_t, LayerHash> index_;
  UniqueNames names_;
  size_t last_ = 0;
};

// The batch size of networks whose format does not state it: N of the first layer that is not a
// matrix product, or 1.
int64_t UsualBatch(const Network& network);

// An error if there are bindings, for formats whose files have no names to bind.
Result<void> RefuseBindings(const Bindings& bindings, const std::string& file);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_BUILDER_H_
