// Which GEMM instructions multiply a chunk of input blocks with its weights: what their loops run
// over and what their micro-ops list.
#ifndef TESSERA_VTA_CODEGEN_PRODUCTS_H_
#define TESSERA_VTA_CODEGEN_PRODUCTS_H_

#include <compare>
#include <cstdint>
#include <vector>

#include "tessera/vta/codegen/emitter.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Products of one tile of outputs with one chunk of inputs.
struct ProductTile {
  Window rows = {}, columns = {};      // of the inputs, in their buffer
  int64_t height = 1, width = 1;       // outputs
  int64_t kernel_h = 1, kernel_w = 1;  // taps
  int64_t ci = 1, co = 1;              // blocks of channels
  int64_t dst = 0, src = 0, wgt = 0;   // where sums, inputs and weights begin

  friend auto operator<=>(const ProductTile&, const ProductTile&) = default;
};

struct ProductOptions {
  // Taps that meet equally many outputs go into one instruction even if these outputs differ, and
  // rows are a loop wherever that takes fewer micro-ops. With `row_groups`, taps that meet
  // different numbers of rows get instructions of their own, so that this is more often so.
  bool short_lists = false, row_groups = false;

  // Where an instruction would use a sum again within two micro-ops: one per tap and input block in
  // its place, which uses every sum once.
  bool split = false;
};

struct Product {
  Loops loops = {};  // without the places of the micro-ops
  std::vector<Uop> uops = {};
  bool too_soon = false;  // a sum is used again within two micro-ops
};

std::vector<Product> ProductsOf(const ProductTile& tile, const ProductOptions& options);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_PRODUCTS_H_
