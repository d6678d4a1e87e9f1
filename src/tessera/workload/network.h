// A network: its layers with how often each occurs. Layers of equal sizes are one entry, because a
// mapping found for one of them holds for all.
#ifndef TESSERA_WORKLOAD_NETWORK_H_
#define TESSERA_WORKLOAD_NETWORK_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/result.h"
#include "tessera/workload/layer.h"
#include "tessera/workload/unique_names.h"

namespace tessera {

struct NetworkLayer {
  std::string name = {};               // of the first occurrence; unique in its network
  Layer layer = {};                    // valid
  int64_t count = 1;                   // occurrences
  std::vector<std::string> also = {};  // names of further occurrences, where they have one

  friend bool operator==(const NetworkLayer&, const NetworkLayer&) = default;
};

struct Network {
  std::string name = {};
  std::string source = {};   // where the sizes come from, for people; may be empty
  std::string variant = {};  // "gamma": no strides, modelled at input size; otherwise empty
  int64_t batch = 1;
  std::vector<NetworkLayer> layers = {};  // in the order of first occurrence

  // Operators of an imported graph that carry no MACs, and those that the importer does not know,
  // with how often each occurs.
  std::map<std::string, int64_t> ignored = {};
  std::map<std::string, int64_t> unknown = {};

  friend bool operator==(const Network&, const Network&) = default;
};

// Collects layers into a network, which importers do one occurrence at a time.
class NetworkBuilder {
 public:
  // Starts from a network without layers: its name, source and so on.
  explicit NetworkBuilder(Network header) : network_(std::move(header)) {}

  // Adds `count` occurrences of a layer, merged with an equal one. A name that is taken gets a
  // suffix ("conv~2"). The error is Validate's, with the layer's name in front, or an overflow of
  // the network's totals.
  Result<void> Add(std::string name, const Layer& layer, int64_t count = 1);

  // Operators that gave no layer (Network::ignored, Network::unknown).
  void Ignore(const std::string& op) { ++network_.ignored[op]; }
  void DoNotUnderstand(const std::string& op) { ++network_.unknown[op]; }

  bool HasName(const std::string& name) const { return names_.Has(name); }

  // The finished network; the builder is empty afterwards.
  Network Take() { return std::move(network_); }

 private:
  Network network_;
  Checked macs_ = 0, parameters_ = 0;
  std::unordered_map<Layer, size_t, LayerHash> index_;
  UniqueNames names_;
};

int64_t TotalMacs(const Network& network);
int64_t TotalParameters(const Network& network);
int64_t TotalLayers(const Network& network);  // occurrences

// The batch size of networks whose format does not state it: N of the first layer that is not a
// matrix product, or 1.
int64_t UsualBatch(const Network& network);

// The entry that `selector` names: a layer's name (any occurrence's), or its 1-based index.
Result<const NetworkLayer*> FindLayer(const Network& network, std::string_view selector);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_NETWORK_H_
