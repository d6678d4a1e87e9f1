// What a format cannot hold: lines for Export::lost, and the error where nothing can be written.
#ifndef TESSERA_WORKLOAD_LOSSES_H_
#define TESSERA_WORKLOAD_LOSSES_H_

#include <string>
#include <utility>
#include <vector>

#include "tessera/network.h"

namespace tessera {

// Collects the lines of Export::lost.
class Losses {
 public:
  // Something of one layer; layers that lose the same thing share a line.
  void Add(const std::string& what, const std::string& layer);

  // Something of the network as a whole.
  void Add(const std::string& what);

  // What no format but the native one has room for: the source, and operators without MACs.
  void AddHeader(const Network& network);

  // "bias: conv1, conv2 and 18 more layers", in the order of first mention.
  std::vector<std::string> Lines() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> entries_;
};

// The error of formats that write a layer once per occurrence, for networks that would fill more
// than a text file may have.
Error TooManyLayers(const Network& network);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_LOSSES_H_
