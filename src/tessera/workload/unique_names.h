// Names that are taken get a suffix: "conv", "conv~2", "conv~3".
#ifndef TESSERA_WORKLOAD_UNIQUE_NAMES_H_
#define TESSERA_WORKLOAD_UNIQUE_NAMES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tessera {

class UniqueNames {
 public:
  // Takes the name, with a suffix if it is taken, and returns it. An empty name is "layer".
  std::string Add(std::string name);

 private:
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int64_t> next_suffix_;  // so that many equal names stay cheap
};

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_UNIQUE_NAMES_H_
