// Which tiles of outputs a convolution is cut into, in the order in which they are made, and in
// which steps each of them is multiplied.
#ifndef TESSERA_VTA_CODEGEN_TILE_PLAN_H_
#define TESSERA_VTA_CODEGEN_TILE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/codegen/geometry.h"
#include "tessera/vta/codegen/tiled.h"

namespace tessera::vta {

struct OutputTile {
  int64_t n = 0, h = 0, w = 0, c = 0;  // which batch block and which pieces
  Extent rows, columns, channels;

  int64_t pixels() const { return rows.size() * columns.size(); }
  int64_t sums() const { return pixels() * channels.size(); }
};

// Input blocks, and the channel blocks of a tile that are multiplied with them.
struct TileStep {
  Extent chunk = {}, part = {};
  int64_t inputs = 0;   // number of the chunk that `chunk` is or belongs to
  int64_t weights = 0;  // number of the chunk: those of all tiles, then the others
};

class TilePlan {
 public:
  // Refuses plans of too many steps before it lists them.
  static Result<TilePlan> Make(const ConvShape& shape, const TiledSchedule& schedule,
                               const Config& config);

  const std::vector<OutputTile>& tiles() const { return tiles_; }
  const std::vector<Extent>& chunks() const { return chunks_; }
  int64_t widest() const { return widest_; }  // blocks of the largest channel tile

  // The inputs of a tile, as they lie in the buffer.
  struct Inputs {
    const Window& rows;
    const Window& columns;
    int64_t tiles() const { return rows.size() * columns.size(); }  // per channel block
  };
  Inputs InputsOf(const OutputTile& tile) const {
    return {row_windows_[static_cast<size_t>(tile.h)],
            column_windows_[static_cast<size_t>(tile.w)]};
  }

  size_t StepsOf(size_t t) const;
  TileStep StepOf(size_t t, size_t k) const;

  // Numbers that are equal where the operands of two steps are the same.
  int32_t InputTag(const OutputTile& tile, const TileStep& step) const;
  int32_t WeightTag(const OutputTile& tile, const TileStep& step) const;

  // Whether the last tile is a piece cut from a larger one. It may have chunks of its own, which
  // are larger than those of all tiles.
  bool has_tail() const { return has_tail_; }
  bool HasOwnChunks(size_t t) const { return !tail_chunks_.empty() && t + 1 == tiles_.size(); }
  void CutTailInto(int64_t blocks);

 private:
  TilePlan(const ConvShape& shape, const TiledSchedule& schedule, const Config& config);
  void ListTiles(bool channels_outermost);
  void ListFirstSteps(const TiledSchedule& schedule);
  void CutTail(const ConvShape& shape, const TiledSchedule& schedule);

  int64_t batches_;
  std::vector<Extent> rows_, columns_, channels_, chunks_;
  int64_t widest_, channel_pieces_;
  std::vector<Window> row_windows_, column_windows_;
  std::vector<OutputTile> tiles_;
  std::vector<TileStep> first_steps_;  // of the first tile
  int64_t own_chunks_ = 0;             // chunks of them that no other tile has
  std::vector<Extent> tail_chunks_;
  bool has_tail_ = false;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_TILE_PLAN_H_
