// The improved convolution generator: tiles of any size, operands kept on chip for as long as they
// are needed, no products with padding, bias added by the matrix unit.
#ifndef TESSERA_VTA_CODEGEN_TILED_H_
#define TESSERA_VTA_CODEGEN_TILED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"

namespace tessera::vta {

struct TiledSchedule {
  // Largest tile; the last one of each dimension takes what is left. Rows and columns of outputs,
  // blocks of channels.
  int64_t tile_h = 1, tile_w = 1, tile_ci = 1, tile_co = 1;

  // Blocks of the first channel tile, at most tile_co; 0 means tile_co. The matrix unit starts when
  // the first operands are there, so a small first tile saves time.
  int64_t lead_co = 0;

  // Parts of the INP and WGT buffers that hold one operand tile each. A tile stays in its slot
  // until another one needs the room; the one whose next use is furthest goes first.
  int64_t inp_slots = 2, wgt_slots = 2;

  // Channel tiles in the outermost loop: weights stay, inputs pass by. Otherwise the reverse.
  bool channels_outermost = false;

  // Leave out products with padding above and below, and to the left and right. Each needs more
  // micro-ops, the second one more instructions as well.
  bool trim_rows = true, trim_columns = true;

  // Adds the bias as a product instead of an ALU addition with twice the cycles. Not for biases
  // over MaxGemmBias.
  bool gemm_bias = true;

  // Ways of ProductOptions to get along with fewer micro-ops and instructions.
  bool short_lists = false, row_groups = false;

  // Sums of the first two tiles are cleared while the first operands come in, and the last tile is
  // stored in parts that shrink.
  bool quick_ends = false;

  // The last tile ends with a tile of its own: the last so many rows, or else blocks of channels.
  // The larger part goes out while the matrix unit works on it. 0 means none.
  int64_t tail_co = 0, tail_rows = 0;

  // Micro-ops are loaded in so many pieces: those of the first uop_steps steps before all else,
  // those of the first tile after them, the rest after that tile; with two, all others after them.
  int64_t uop_pieces = 1, uop_steps = 1;

  // The first tile begins with lead_repeat chunks of lead_ci input blocks, whose weights come
  // lead_part channel blocks at a time; then every lead_repeat chunks have one input block more, up
  // to tile_ci. The matrix unit starts early, and loads get ahead of it. 0 means tile_ci, 1 and
  // tile_co.
  int64_t lead_ci = 0, lead_repeat = 0, lead_part = 0;

  // Parts grow by so many percent of the weights before them, until they are those of the tile: as
  // far as the matrix unit is slower than the loads. 0 means that the first lead_repeat chunks come
  // in equal parts, and the others do not.
  int64_t lead_growth = 0;

  // Where an instruction would use a sum again within two micro-ops, as with very few outputs: one
  // instruction per tap and input block in its place, which uses every sum once. Each takes its
  // own start-up time and micro-ops, so this is for layers that no other schedule fits.
  bool split_products = false;

  friend bool operator==(const TiledSchedule&, const TiledSchedule&) = default;
};
std::string ToString(const TiledSchedule& schedule);  // "tile_h=8,tile_w=56,..."
Result<TiledSchedule> ParseTiledSchedule(std::string_view text);

// The program of a valid shape, or the limit that the schedule exceeds: buffer depths, micro-ops,
// or, unless products are split, sums that would be used again within two micro-ops, which the HLS
// design cannot do.
Result<Kernel> GenerateTiled(const ConvShape& shape, const TiledSchedule& schedule,
                             const Config& config, const Epilogue& epilogue = {});

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_TILED_H_
