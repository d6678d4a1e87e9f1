// Scaled dot-product attention as layers, for the operators that contain it.
#ifndef TESSERA_WORKLOAD_ONNX_ATTENTION_H_
#define TESSERA_WORKLOAD_ONNX_ATTENTION_H_

#include <cstdint>

#include "tessera/workload/onnx/op.h"

namespace tessera::onnx {

// Keys include those of the past. Key and value heads that are shared by several query heads count
// once per query head, as they are multiplied.
struct AttentionSizes {
  int64_t batch = 1, heads = 1;
  int64_t queries = 1, keys = 1;         // sequence lengths
  int64_t key_size = 1, value_size = 1;  // per head
};

// Adds the two layers of an attention, "/qk" (scores) and "/pv" (weighted values):
// batch * heads * queries * keys * (key_size + value_size) MACs together.
void AddAttention(Op& op, const AttentionSizes& sizes);

// The size of one of `heads` equal parts; fails if they are not equal.
int64_t PerHead(Op& op, int64_t size, int64_t heads);

}  // namespace tessera::onnx

#endif  // TESSERA_WORKLOAD_ONNX_ATTENTION_H_
