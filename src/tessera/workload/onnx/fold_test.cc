// Integer arithmetic on shapes, and the chains of it that exporters write.
#include <gtest/gtest.h>

#include "tessera/workload/onnx/test_graph.h"

namespace tessera::onnx {
namespace {

TEST(OnnxFold, Arithmetic) {
  EXPECT_EQ(ValuesOfY("y = Add({1,2}, 10)"), "{11, 12}");
  EXPECT_EQ(ValuesOfY("y = Sub({1,2}, {3})"), "{-2, -1}");
  EXPECT_EQ(ValuesOfY("y = Mul({2,3}, {4,5})"), "{8, 15}");
  EXPECT_EQ(ValuesOfY("y = Div({7,-7}, 2)"), "{3, -3}");
  EXPECT_EQ(ValuesOfY("y = Mod({7,-7}, 3)"), "{1, 2}");
  EXPECT_EQ(ValuesOfY("y = Mod<fmod=1>({7,-7}, 3)"), "{1, -1}");
  EXPECT_EQ(ValuesOfY("y = Pow(3, 4)"), "{81}");
  EXPECT_EQ(ValuesOfY("y = Max({1,5}, {3,3}, {2,9})"), "{3, 9}");
  EXPECT_EQ(ValuesOfY("y = Neg({1,-2})"), "{-1, 2}");
  EXPECT_EQ(ValuesOfY("y = Sqrt({2.25})"), "{1.5}");
  EXPECT_EQ(ValuesOfY("y = Clip({-5,5,50}, 0, 10)"), "{0, 5, 10}");
  EXPECT_EQ(ValuesOfY("y = ReduceProd<keepdims=0>({2,3,4})"), "{24}");
  EXPECT_EQ(ValuesOfY("y = CumSum({2,3,4}, 0)"), "{2, 5, 9}");
}

TEST(OnnxFold, ComparisonsAndChoices) {
  EXPECT_EQ(ValuesOfY("y = Equal({1,-1}, -1)"), "{0, 1}");
  EXPECT_EQ(ValuesOfY("y = Less({1,3}, 2)"), "{1, 0}");
  EXPECT_EQ(ValuesOfY("y = GreaterOrEqual({1.0,2.0}, 2.0)"), "{0, 1}");
  EXPECT_EQ(ValuesOfY("y = Not({true,false})"), "{0, 1}");
  EXPECT_EQ(ValuesOfY("y = And({true,false}, true)"), "{1, 0}");
  EXPECT_EQ(ValuesOfY("y = Where({true,false}, {1,2}, {3,4})"), "{1, 4}");
}

TEST(OnnxFold, Conversions) {
  EXPECT_EQ(ValuesOfY("y = Cast<to=7>({2.9,-2.9})"), "{2, -2}");
  EXPECT_EQ(ValuesOfY("y = Cast<to=9>({0,5})"), "{0, 1}");
  EXPECT_EQ(ValuesOfY("y = Cast<to=1>({3})"), "{3}");
  // Scales are computed in float: 7/3 in float times 3 is 7, in double it is less.
  EXPECT_EQ(ValuesOfY("a = Cast<to=1>({7}) b = Cast<to=1>({3}) s = Div(a, b) t = Mul(s, b) "
                      "f = Floor(t) y = Cast<to=7>(f)"),
            "{7}");
}

TEST(OnnxFold, Rearrangement) {
  EXPECT_EQ(ValuesOfY("y = Concat<axis=0>({1}, {2,3})"), "{1, 2, 3}");
  EXPECT_EQ(ValuesOfY("y = Gather({5,6,7}, {-1,0})"), "{7, 5}");
  EXPECT_EQ(ValuesOfY("y = Slice({5,6,7,8}, {-1}, {-9}, {0}, {-2})"), "{8, 6}");
  EXPECT_EQ(ValuesOfY("m = Reshape({1,2,3,4,5,6}, {2,3}) y = Transpose(m)"), "{1, 4, 2, 5, 3, 6}");
  EXPECT_EQ(ValuesOfY("m = Reshape({1,2,3,4}, {2,2}) y = Concat<axis=1>(m, m)"),
            "{1, 2, 1, 2, 3, 4, 3, 4}");
  EXPECT_EQ(ValuesOfY("y = Tile({1,2}, {2})"), "{1, 2, 1, 2}");
  EXPECT_EQ(ValuesOfY("y = Expand({4}, {3})"), "{4, 4, 4}");
  EXPECT_EQ(ValuesOfY("x, y = Split({1,2,3,4,5}, {2,3})"), "{3, 4, 5}");
  EXPECT_EQ(ValuesOfY("y = ConstantOfShape<value={7}>({3})"), "{7, 7, 7}");
  EXPECT_EQ(ValuesOfY("y = Range(2, 9, 3)"), "{2, 5, 8}");
  EXPECT_EQ(ValuesOfY("y = NonZero({0,4,5})"), "{1, 2}");
  EXPECT_EQ(ValuesOfY("i = Unsqueeze({1}, {1}) y = ScatterND({4,5,6}, i, {9})"), "{4, 9, 6}");
  EXPECT_EQ(ValuesOfY("y = Shape<start=1, end=-1>([2,3,4,5])"), "{3, 4}");
}

// One unknown size leaves its neighbours alone.
TEST(OnnxFold, KeepsUnknownElementsApart) {
  const std::string shape = "input x [batch, 3, 8] s = Shape(x) ";
  EXPECT_EQ(ValuesOfY(shape + "y = Identity(s)"), "{?, 3, 8}");
  EXPECT_EQ(ValuesOfY(shape + "y = Mul(s, 2)"), "{?, 6, 16}");
  EXPECT_EQ(ValuesOfY(shape + "y = Gather(s, {2,0})"), "{8, ?}");
  EXPECT_EQ(ValuesOfY(shape + "y = Identity(s)", {{"batch", 5}}), "{5, 3, 8}");
}

// What cannot be computed is unknown, and an error only where a layer needs it.
TEST(OnnxFold, OverflowAndDivisionByZeroAreUnknown) {
  EXPECT_EQ(ValuesOfY("y = Mul({9223372036854775807}, 2)"), "{?}");
  EXPECT_EQ(ValuesOfY("y = Div({1}, {0})"), "{?}");
  EXPECT_EQ(ValuesOfY("y = Mod({1}, {0})"), "{?}");
  EXPECT_EQ(ImportError("input x [2,3] d: n = Div({6}, {0}) s = Concat<axis=0>(n, {2}) "
                        "e = Expand(x, {1,1}) c = ConstantOfShape(s) m: y = MatMul(e, c)"),
            "net.onnx: node 'm' (MatMul): the shape [?, 2] of 'c' is not known: node 'd' (Div) "
            "divides 6 by 0");
}

// ---- idioms

// view(batch, -1, heads, size).transpose(1, 2) of the classic exporter, symbolic batch.
TEST(OnnxIdioms, AttentionWithComputedReshapeTargets) {
  const char* const text = R"(
    opset 13
    input x [batch, seq, 64]
    weight wq [64, 64]  weight wk [64, 64]
    q = MatMul(x, wq)
    s0 = Shape(q)  b = Gather(s0, 0)
    s1 = Shape(q)  t = Gather(s1, 1)
    bu = Unsqueeze(b, {0})  tu = Unsqueeze(t, {0})
    target = Concat<axis=0>(bu, tu, {4}, {16})
    qh = Reshape(q, target)
    qt = Transpose<perm=[0,2,1,3]>(qh)
    k = MatMul(x, wk)
    kh = Reshape(k, target)
    kt = Transpose<perm=[0,2,3,1]>(kh)
    scores: y = MatMul(qt, kt)
  )";
  const Result<Network> network = Import(text, {{"batch", 2}, {"seq", 10}});
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(ToString((*FindLayer(*network, "scores"))->layer), "gemm H8 M10 N10 K16");
  EXPECT_EQ(network->batch, 2);
}

// chunk(2, dim=1) of ShuffleNet: the channel count is computed as (C + 1) / 2 and multiplied.
TEST(OnnxIdioms, ChannelSplitByComputedSlices) {
  const char* const text = R"(
    opset 11
    input x [1, 116, 28, 28]
    weight w [58, 58, 1, 1]
    s = Shape(x)  c = Gather<axis=0>(s, {1})
    c1 = Add(c, {1})  half = Div(c1, {2})
    one = Mul(half, {1})  two = Mul(half, {2})
    left = Slice(x, {0}, one, {1})
    right = Slice(x, one, two, {1})
    conv: r = Conv(right, w)
    j = Concat<axis=1>(left, r)
    js = Shape(j)
    n = Gather(js, 0)  h = Gather(js, 2)  v = Gather(js, 3)
    ch = Gather(js, 1)  per = Div(ch, 2)
    nu = Unsqueeze<axes=[0]>(n)  pu = Unsqueeze<axes=[0]>(per)
    hu = Unsqueeze<axes=[0]>(h)  vu = Unsqueeze<axes=[0]>(v)
    t1 = Concat<axis=0>(nu, {2}, pu, hu, vu)
    v1 = Reshape(j, t1)
    v2 = Transpose<perm=[0,2,1,3,4]>(v1)
    t2 = Concat<axis=0>(nu, {-1}, hu, vu)
    y = Reshape(v2, t2)
  )";
  const auto shapes = Shapes(text);
  EXPECT_EQ(shapes.at("right"), "[1, 58, 28, 28]");
  EXPECT_EQ(shapes.at("v1"), "[1, 2, 58, 28, 28]");
  EXPECT_EQ(shapes.at("y"), "[1, 116, 28, 28]");
}

// expand() as both exporters write it: -1 keeps a size.
TEST(OnnxIdioms, ExpandWithWhere) {
  const char* const text = R"(
    input x [batch, 3, 8]
    weight token [1, 1, 8]
    s = Shape(x)  n = Gather(s, {0})
    shape = Concat<axis=0>(n, {-1}, {-1})
    ones = ConstantOfShape<value={1}>({3})
    keep = Mul(ones, {-1})
    is = Equal(shape, keep)
    target = Where(is, ones, shape)
    e = Expand(token, target)
    y = Concat<axis=1>(e, x)
  )";
  EXPECT_EQ(Shapes(text, {{"batch", 4}}).at("y"), "[4, 4, 8]");
}

// interpolate(size=other.shape[-2:]) of DeepLab and U-Nets.
TEST(OnnxIdioms, ResizeToTheSizeOfAnotherTensor) {
  const char* const text = R"(
    input x [1, 3, h, w]
    weight k [8, 3, 3, 3]
    f = Conv<strides=[2,2], pads=[1,1,1,1]>(x, k)
    s = Shape(x)  hw = Slice(s, {2}, {4}, {0})
    fs = Shape(f)  nc = Slice(fs, {0}, {2}, {0})
    size = Concat<axis=0>(nc, hw)
    y = Resize<mode="linear">(f, _, _, size)
  )";
  EXPECT_EQ(Shapes(text, {{"h", 65}, {"w", 33}}).at("y"), "[1, 8, 65, 33]");
}

// Window partition of Swin: padded to a multiple of the window, rolled, cut into windows.
TEST(OnnxIdioms, WindowsOfComputedPadding) {
  const char* const text = R"(
    input x [1, 30, 30, 96]
    s = Shape(x)  h = Gather(s, 1)
    rest = Mod(h, 7)  missing = Sub(7, rest)  pad = Mod(missing, 7)
    pu = Unsqueeze(pad, {0})
    pads = Concat<axis=0>({0,0,0,0}, {0}, pu, pu, {0})
    p = Pad(x, pads)
    a = Slice(p, {3}, {9223372036854775807}, {1})
    b = Slice(p, {0}, {3}, {1})
    r = Concat<axis=1>(a, b)
    rs = Shape(r)  rh = Gather(rs, 1)  n = Div(rh, 7)  nu = Unsqueeze(n, {0})
    t = Concat<axis=0>({1}, nu, {7}, nu, {7}, {96})
    v = Reshape(r, t)
    w = Transpose<perm=[0,1,3,2,4,5]>(v)
    y = Reshape(w, {-1,49,96})
  )";
  EXPECT_EQ(Shapes(text).at("y"), "[25, 49, 96]");
}

// Causal masks of decoders.
TEST(OnnxIdioms, CausalMask) {
  const char* const text = R"(
    input ids int64 [1, seq]
    s = Shape(ids)  t = Gather(s, 1)
    r = Range(0, t, 1)
    row = Unsqueeze(r, {0})  column = Unsqueeze(r, {1})
    later = Greater(row, column)
    m = Where(later, -1.0, 0.0)
    b = Unsqueeze(m, {0,1})
    y = Expand(b, {2,1,1,1})
  )";
  EXPECT_EQ(Shapes(text, {{"seq", 128}}).at("y"), "[2, 1, 128, 128]");
}

}  // namespace
}  // namespace tessera::onnx
