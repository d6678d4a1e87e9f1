// Who says how wide an element is: the network, else the machine, else the words of the level.
#include "tessera/mapping/widths.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

int32_t FirstKnown(int32_t a, int32_t b) { return a != 0 ? a : b; }

int32_t MachineBits(const TensorBits& bits, TensorRole role) {
  switch (role) {
    case TensorRole::kWeight: return bits.weights;
    case TensorRole::kInput: return bits.inputs;
    case TensorRole::kOutput: return bits.outputs;
    case TensorRole::kOther: break;
  }
  return 0;
}

// 0: a word.
int32_t BitsOf(const LoopTensor& tensor, const TensorBits& machine, bool outermost) {
  const int32_t bits = FirstKnown(tensor.bits, MachineBits(machine, tensor.role));
  if (!tensor.read_write || outermost) return bits;
  const int32_t sums = tensor.role == TensorRole::kOutput ? machine.partial_sums : 0;
  return FirstKnown(FirstKnown(tensor.sum_bits, sums), bits);
}

}  // namespace

bool LevelWidths::plain(int num_tensors) const {
  return std::all_of(units.begin(), units.begin() + num_tensors,
                     [this](int64_t each) { return each == word_units; });
}

int64_t LevelWidths::least_units(int num_tensors) const {
  return *std::min_element(units.begin(), units.begin() + num_tensors);
}

LevelWidths WidthsAt(const LoopProblem& problem, const Hierarchy& hierarchy, size_t level) {
  const int64_t word_bits = hierarchy.levels[level].word_bits;
  const bool outermost = level + 1 == hierarchy.levels.size();
  LevelWidths widths{.word_units = word_bits, .unit_bits = word_bits};
  for (size_t v = 0; v < problem.tensor_view().size(); ++v) {
    const int32_t bits = BitsOf(problem.tensors[v], hierarchy.bits, outermost);
    widths.units[v] = bits != 0 ? bits : word_bits;
    widths.unit_bits = std::gcd(widths.unit_bits, widths.units[v]);
  }
  widths.word_units /= widths.unit_bits;
  for (size_t v = 0; v < problem.tensor_view().size(); ++v) widths.units[v] /= widths.unit_bits;
  return widths;
}

int64_t UsableUnits(const LevelWidths& widths, const MemoryLevel& level, int64_t entries) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (entries > kMost / widths.word_units) return kMost;
  return level.multiple_buffering.FloorQuotient(entries * widths.word_units);
}

}  // namespace tessera
