// The micro-ops of a program: lists that instructions run through, each of them there once.
#ifndef TESSERA_VTA_CODEGEN_UOP_MEMORY_H_
#define TESSERA_VTA_CODEGEN_UOP_MEMORY_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

class UopMemory {
 public:
  // New micro-ops go behind `uops`. With `share` a list is looked for in what is there already,
  // and may begin with its end.
  UopMemory(std::vector<Uop>& uops, bool share) : uops_(uops), share_(share) {}

  // Where a list begins.
  int64_t PlaceOf(const std::vector<Uop>& list);

  // Where a single micro-op is.
  int64_t PlaceOf(int64_t dst, int64_t src, int64_t wgt);

 private:
  std::vector<Uop>& uops_;
  bool share_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, int64_t> singles_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_UOP_MEMORY_H_
