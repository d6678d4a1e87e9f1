// Graphs of ONNX files: which operator is what, and what is left out.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "tessera/network.h"
#include "tessera/workload/onnx/test_graph.h"

namespace tessera::onnx {
namespace {

// "y=conv(x,w)" for every node, views in brackets; or the error.
std::string GraphOf(std::string_view text) {
  const Result<Network> network = Import(text);
  if (!network) return ToString(network.error());
  EXPECT_TRUE(ValidateGraph(*network));
  std::string result;
  const Graph& graph = network->graph;
  for (const GraphNode& node : graph.nodes) {
    std::string reads, writes;
    for (const int32_t input : node.inputs) {
      reads += (reads.empty() ? "" : ",") + graph.tensors[static_cast<size_t>(input)].name;
    }
    for (const int32_t output : node.outputs) {
      writes += (writes.empty() ? "" : ",") + graph.tensors[static_cast<size_t>(output)].name;
    }
    const std::string line = fmt::format("{}={}({})", writes, node.type, reads);
    result += (result.empty() ? "" : " ") + (node.view ? "[" + line + "]" : line);
  }
  return result;
}

TEST(OnnxEdges, LayersViewsAndVectorNodes) {
  EXPECT_EQ(GraphOf("input x [1,3,8,8] weight w [4,3,3,3] weight b [4] weight s [1,4,1,1] output o "
                    "a = Conv<pads=[1,1,1,1]>(x, w, b)  n = BatchNormalization(a, b, b, b, b) "
                    "r = Relu(n)  m = Mul(r, s)  p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(m) "
                    "g = GlobalAveragePool(p)  o = Flatten(g)"),
            "a=conv(x,w) [n=batchnorm(a)] [r=relu(n)] [m=scale(r)] p=maxpool(m) g=avgpool(p) "
            "[o=flatten(g)]");
}

TEST(OnnxEdges, BranchesJoin) {
  EXPECT_EQ(GraphOf("input x [1,4,8,8] weight w [4,4,1,1] output o "
                    "a = Conv(x, w)  s = Add(a, x)  t = Add(s, s)  c = Concat<axis=1>(t, x) "
                    "o = Softmax(c)"),
            "a=conv(x,w) s=add(a,x) [t=bias(s)] c=concat(t,x) o=softmax(c)");
}

TEST(OnnxEdges, ShapesConstantsAndWhatNobodyReadsAreNoNodes) {
  EXPECT_EQ(GraphOf("input x [2,3,4] weight w [12,5] output o "
                    "n = Shape(x)  f = Gather<axis=0>(n, {0})  l = Concat<axis=0>(f, {-1}) "
                    "v = Reshape(x, l)  unused = Relu(x)  ww = Neg(w)  o = MatMul(v, ww)"),
            "[v=reshape(x)] o=fc(v,ww)");
}

// A class token before a few tokens: some elements are known, and it is no constant for that.
TEST(OnnxEdges, ActivationsBehindConstantsStayActivations) {
  EXPECT_EQ(GraphOf("input x [4] weight w [6,3] weight p [6] output o "
                    "c = Concat<axis=0>({0.5,1.5}, x)  a = Add(c, p)  r = Reshape(a, {1,6}) "
                    "o = MatMul(r, w)"),
            "c=concat(operand1,x) [a=bias(c)] [r=reshape(a)] o=fc(r,w)");
}

TEST(OnnxEdges, TablesGiveTheRowsThatAreLookedUp) {
  EXPECT_EQ(GraphOf("input ids int64 [1,6] weight table [100,8] weight w [8,4] output o "
                    "e = Gather(table, ids)  o = MatMul(e, w)"),
            "e=embedding(ids,e.rows) o=fc(e,w)");
}

TEST(OnnxEdges, ProductsOfActivationsReadBoth) {
  EXPECT_EQ(GraphOf("input q [2,4,8] input k [2,6,8] output o "
                    "t = Transpose<perm=[0,2,1]>(k)  s = MatMul(q, t)  p = Softmax(s) "
                    "o = MatMul(p, k)"),
            "[t=transpose(k)] s=gemm(q,t) p=softmax(s) o=gemm(p,k)");
}

TEST(OnnxEdges, FusedAttentionIsItsProducts) {
  EXPECT_EQ(GraphOf("opset 23 input q [1,2,4,8] input k [1,2,6,8] input v [1,2,6,8] output o "
                    "o = Attention(q, k, v)"),
            "o/qk.out=gemm(q,k) o/softmax.out=softmax(o/qk.out) o=gemm(o/softmax.out,v)");
  EXPECT_EQ(GraphOf("input x [1,6,8] weight w [8,24] weight b [24] output o "
                    "o = com.microsoft.Attention<num_heads=2>(x, w, b)"),
            "o/qkv.out=fc(x,w) o/qk.out=gemm(o/qkv.out,o/qkv.out) "
            "o/softmax.out=softmax(o/qk.out) o=gemm(o/softmax.out,o/qkv.out)");
}

TEST(OnnxEdges, UnknownSizesGiveLayersOnly) {
  const Result<Network> network = Import(
      "input x [1,3,8,8] weight w [4,3,1,1] output o "
      "a = Conv(x, w)  z = NonZero(a)  o = Relu(z)");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers.size(), 1u);
  EXPECT_TRUE(network->graph.empty());
}

}  // namespace
}  // namespace tessera::onnx
