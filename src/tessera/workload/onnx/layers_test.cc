// Which layers the operators with MACs give.
#include <gtest/gtest.h>

#include "tessera/workload/onnx/test_graph.h"

namespace tessera::onnx {
namespace {

TEST(OnnxConv, TakesAllItsSizesFromWeightAndAttributes) {
  EXPECT_EQ(LayerOf("weight w [64,3,7,7] weight b [64] "
                    "y = Conv<strides=[2,2], pads=[3,3,3,3]>([2,3,224,224], w, b)"),
            "conv N2 K64 C3 Y224 X224 R7 S7 P112 Q112 stride 2 pad 3 bias");
  EXPECT_EQ(LayerOf("weight w [8,4,3,5] "
                    "y = Conv<group=2, dilations=[2,1], pads=[0,1,2,3]>([1,8,16,16], w)"),
            "conv N1 K8 C8 Y16 X16 R3 S5 P14 Q16 dilation 2x1 pad 0,1,2,3 groups 2");
  EXPECT_EQ(LayerOf("weight w [8,1,3,3] y = Conv<group=8>([1,8,5,5], w)"),
            "dwconv N1 K8 C8 Y5 X5 R3 S3 P3 Q3");
}

TEST(OnnxConv, PadsAutomatically) {
  const auto conv = [](const std::string& auto_pad) {
    return LayerOf("weight w [1,1,3,3] y = Conv<strides=[2,2], auto_pad=\"" + auto_pad +
                   "\">([1,1,6,7], w)");
  };
  EXPECT_EQ(conv("SAME_UPPER"), "conv N1 K1 C1 Y6 X7 R3 S3 P3 Q4 stride 2 pad 0,1,1,1");
  EXPECT_EQ(conv("SAME_LOWER"), "conv N1 K1 C1 Y6 X7 R3 S3 P3 Q4 stride 2 pad 1,1,0,1");
  EXPECT_EQ(conv("VALID"), "conv N1 K1 C1 Y6 X7 R3 S3 P2 Q3 stride 2");
  EXPECT_EQ(conv("NOTSET"), "conv N1 K1 C1 Y6 X7 R3 S3 P2 Q3 stride 2");
  EXPECT_EQ(conv("SAME"),
            "net.onnx: node 'y' (Conv): attribute 'auto_pad' is 'SAME'; it may be NOTSET, "
            "SAME_UPPER, SAME_LOWER or VALID");
}

TEST(OnnxConv, OfOneAxisHasARowOfInputs) {
  EXPECT_EQ(LayerOf("weight w [4,3,5] y = Conv([1,3,100], w)"),
            "conv N1 K4 C3 Y1 X100 R1 S5 P1 Q96");
  EXPECT_EQ(LayerOf("weight w [8,1,3] weight b [8] "
                    "y = Conv<group=8, strides=[2], dilations=[2], pads=[1,2]>([2,8,16], w, b)"),
            "dwconv N2 K8 C8 Y1 X16 R1 S3 P1 Q8 stride 1x2 dilation 1x2 pad 0,1,0,2 bias");
  EXPECT_EQ(LayerOf("weight w [1,1,3] y = Conv<strides=[2], auto_pad=\"SAME_UPPER\">([1,1,6], w)"),
            "conv N1 K1 C1 Y1 X6 R1 S3 P1 Q3 stride 1x2 pad 0,0,0,1");
  EXPECT_EQ(LayerOf("weight w [3,4,4] "
                    "y = ConvTranspose<strides=[2], output_padding=[1]>([1,3,8], w)"),
            "trconv N1 K4 C3 Y1 X8 R1 S4 P1 Q19 stride 1x2 output_pad 0x1");
  EXPECT_EQ(
      LayerOf("weight w [3,4,4] y = ConvTranspose<strides=[2], output_shape=[16]>([1,3,8], w)"),
      "trconv N1 K4 C3 Y1 X8 R1 S4 P1 Q16 stride 1x2 pad 0x1");
  // What follows sees a tensor of rank 3.
  EXPECT_EQ(Shapes("weight w [4,3,5] y = Conv([1,3,100], w)")["y"], "[1, 4, 96]");
}

TEST(OnnxConv, IsRefusedInOtherDimensions) {
  EXPECT_EQ(LayerOf("weight w [3,4,5,5,5] up: y = ConvTranspose([1,3,8,8,8], w)"),
            "net.onnx: node 'up' (ConvTranspose): 3-D convolution (input [1, 3, 8, 8, 8]) is not "
            "supported; 1-D and 2-D convolutions are modelled");
}

TEST(OnnxConv, NamesTheNodeOfABadOne) {
  const std::string node = "net.onnx: node 'c' (Conv): ";
  EXPECT_EQ(LayerOf("weight w [4,3,7,7] c: y = Conv([1,3,5,9], w)"),
            node + "kernel R = 7 is larger than the padded input Y = 5; raise Y or the padding");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<group=2>([1,6,5,5], w)"),
            "conv N1 K4 C6 Y5 X5 R3 S3 P3 Q3 groups 2");
  EXPECT_EQ(LayerOf("weight w [5,3,3,3] c: y = Conv<group=2>([1,6,5,5], w)"),
            node + "groups = 2 does not divide K = 5");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv([1,4,5,5], w)"),
            node +
                "input [1, 4, 5, 5] has 4 channels, but the weight [4, 3, 3, 3] with groups = 1 "
                "needs 3");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<group=0>([1,3,5,5], w)"),
            node + "attribute 'group' is 0");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<kernel_shape=[5,5]>([1,3,5,5], w)"),
            node + "attribute 'kernel_shape' is [5, 5], but the weight has the shape [4, 3, 3, 3]");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<strides=[0,1]>([1,3,5,5], w)"),
            node + "attribute 'strides' is 0, but must be in 1..2147483647");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<strides=[1,1,1]>([1,3,5,5], w)"),
            node + "attribute 'strides' has 3 entries for 2 spatial axes");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<pads=[1,1]>([1,3,5,5], w)"),
            node + "attribute 'pads' has 2 entries for 2 spatial axes, which need two each");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv<strides=\"2\">([1,3,5,5], w)"),
            node + "attribute 'strides' has the wrong type");
  EXPECT_EQ(LayerOf("c: y = Conv([1,3,5,5])"), node + "input 2 is missing");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] c: y = Conv([3000000000,3,5,5], w)"),
            node + "N is 3000000000, but must be at most 2147483647");
}

TEST(OnnxTypes, ThatCannotBeRightAreErrors) {
  const std::string ids = "input x int64 [1,3,8,8] weight w [4,3,3,3] ";
  EXPECT_EQ(
      LayerOf(ids + "c: y = Conv(x, w)"),
      "net.onnx: node 'c' (Conv): 'x' is of type int64, but must hold floating-point numbers");
  EXPECT_EQ(LayerOf(ids + "c: y = ConvTranspose(x, w)"),
            "net.onnx: node 'c' (ConvTranspose): 'x' is of type int64, but must hold "
            "floating-point numbers");
  EXPECT_EQ(LayerOf(ids + "z = Cast<to=11>(x) c: y = Conv(z, w)"),
            "net.onnx: node 'c' (Conv): 'z' is of type float64, but 'w' of type float32; they have "
            "to be of one type; insert a Cast");
  EXPECT_EQ(LayerOf(ids + "z = Cast<to=1>(x) y = Conv(z, w)"), "conv N1 K4 C3 Y8 X8 R3 S3 P6 Q6");
  EXPECT_EQ(LayerOf(ids + "c: y = ConvInteger(x, w)"),
            "net.onnx: node 'c' (ConvInteger): 'x' is of type int64, but must hold numbers of 8 "
            "bits");
  EXPECT_EQ(LayerOf("weight w [16,8] input x int64 [2,16] m: y = MatMul(x, w)"),
            "net.onnx: node 'm' (MatMul): 'x' is of type int64, but 'w' of type float32; they have "
            "to be of one type; insert a Cast");
  EXPECT_EQ(LayerOf("weight w [16,8] g: y = Gemm([2,16], w, {1,2,3,4,5,6,7,8})").substr(0, 27),
            "net.onnx: node 'g' (Gemm): ");
  EXPECT_EQ(LayerOf("input x [2,16] t = Greater(x, x) m: y = MatMul(t, t)"),
            "net.onnx: node 'm' (MatMul): 't' is of type bool, but must hold numbers");
  EXPECT_EQ(LayerOf("input a int64 [4] b: y = Add([4], a)").find("node 'b' (Add)"), 10u);
  EXPECT_EQ(LayerOf("input a int64 [4] b: y = Concat<axis=0>([4], a)").find("node 'b' (Concat)"),
            10u);
  // Powers may have exponents of another type.
  EXPECT_EQ(ShapeOf("Pow([4], {1,2,3,4})"), "[4]");
}

TEST(OnnxTypes, ThatAreNotKnownMayBeAny) {
  EXPECT_EQ(LayerOf("input x int64 [1,3,8,8] weight w [4,3,3,3] info z [1,3,8,8] "
                    "z = my.domain.Decode(x) y = Conv(z, w)"),
            "conv N1 K4 C3 Y8 X8 R3 S3 P6 Q6");
}

TEST(OnnxConvTranspose, CountsInputElements) {
  const Result<Network> network =
      Import("weight w [16,4,3,3] y = ConvTranspose<group=2, strides=[2,2]>([1,16,5,6], w)");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(ToString(network->layers[0].layer),
            "trconv N1 K8 C16 Y5 X6 R3 S3 P11 Q13 stride 2 groups 2");
  EXPECT_EQ(TotalMacs(*network), 16 * 5 * 6 * 4 * 3 * 3);
}

TEST(OnnxConvTranspose, FitsTheOutputSizeThatIsAskedFor) {
  const auto layer = [](const std::string& attributes) {
    return LayerOf("weight w [1,1,3,3] y = ConvTranspose<strides=[3,2]" + attributes +
                   ">([1,1,3,3], w)");
  };
  EXPECT_EQ(layer(""), "trconv N1 K1 C1 Y3 X3 R3 S3 P9 Q7 stride 3x2");
  EXPECT_EQ(layer(", output_padding=[1,1]"),
            "trconv N1 K1 C1 Y3 X3 R3 S3 P10 Q8 stride 3x2 output_pad 1");
  EXPECT_EQ(layer(", pads=[1,2,1,2]"), "trconv N1 K1 C1 Y3 X3 R3 S3 P7 Q3 stride 3x2 pad 1x2");
  EXPECT_EQ(layer(", output_shape=[10,8]"),
            "trconv N1 K1 C1 Y3 X3 R3 S3 P10 Q8 stride 3x2 output_pad 1");
  EXPECT_EQ(layer(", output_shape=[8,4]"),
            "trconv N1 K1 C1 Y3 X3 R3 S3 P8 Q4 stride 3x2 pad 1,2,0,1");
  EXPECT_EQ(layer(", auto_pad=\"SAME_UPPER\""),
            "trconv N1 K1 C1 Y3 X3 R3 S3 P9 Q6 stride 3x2 pad 0,0,0,1");
  EXPECT_EQ(layer(", pads=[9,9,9,9]"),
            "net.onnx: node 'y' (ConvTranspose): padding 9 + 9 of Y leaves no output");
}

TEST(OnnxGemm, IsFullyConnectedIfOneOperandIsAWeight) {
  EXPECT_EQ(LayerOf("weight w [1000,512] weight b [1000] y = Gemm<transB=1>([4,512], w, b)"),
            "fc N4 K1000 C512 bias");
  EXPECT_EQ(LayerOf("weight w [512,1000] y = Gemm([4,512], w)"), "fc N4 K1000 C512");
  EXPECT_EQ(LayerOf("weight w [10,20] y = Gemm<transA=1>(w, [10,30])"), "fc N30 K20 C10");
  EXPECT_EQ(LayerOf("y = Gemm<transA=1, transB=1>([7,5], [6,7])"), "gemm H1 M5 N6 K7");
  // A sum with another activation is no bias.
  EXPECT_EQ(LayerOf("weight w [512,10] y = Gemm([4,512], w, [4,10])"), "fc N4 K10 C512");
  EXPECT_EQ(LayerOf("weight w [5,5] g: y = Gemm([1,4,5], w)"),
            "net.onnx: node 'g' (Gemm): input 1 has the shape [1, 4, 5], but must have two "
            "dimensions");
}

TEST(OnnxMatMul, FollowsTheRulesOfNumpy) {
  EXPECT_EQ(LayerOf("y = MatMul([2,8,10,16], [2,8,16,12])"), "gemm H16 M10 N12 K16");
  EXPECT_EQ(LayerOf("y = MatMul([8,1,10,16], [5,16,12])"), "gemm H40 M10 N12 K16");
  EXPECT_EQ(LayerOf("y = MatMul([16], [16,12])"), "gemm H1 M1 N12 K16");
  EXPECT_EQ(LayerOf("y = MatMul([3,10,16], [16])"), "gemm H3 M10 N1 K16");
  EXPECT_EQ(ShapeOf("MatMul([3,10,16], [16])"), "[3, 10]");
  EXPECT_EQ(ShapeOf("MatMul([16], [3,16,12])"), "[3, 12]");
  EXPECT_EQ(ShapeOf("MatMul([16], [16])"), "[]");
  EXPECT_EQ(ShapeOf("MatMul([2,3], [4,5])"),
            "net.onnx: node 'n' (MatMul): [2, 3] and [4, 5] cannot be multiplied: 3 is not 4");
  EXPECT_EQ(ShapeOf("MatMul([2,5,3], [4,3,5])"),
            "net.onnx: node 'n' (MatMul): shapes [2] and [4] do not broadcast");
  EXPECT_EQ(ShapeOf("MatMul(3.0, [4,5])"),
            "net.onnx: node 'n' (MatMul): [] and [4, 5] are no matrices");
}

TEST(OnnxMatMul, IsFullyConnectedWithOneWeightMatrix) {
  EXPECT_EQ(LayerOf("weight w [768,3072] y = MatMul([2,197,768], w)"), "fc N394 K3072 C768");
  EXPECT_EQ(LayerOf("weight w [1,768,3072] y = MatMul([2,197,768], w)"), "fc N394 K3072 C768");
  EXPECT_EQ(LayerOf("weight w [20,10] y = MatMul(w, [3,10,7])"), "fc N21 K20 C10");
  // One matrix per product is no fully connected layer.
  EXPECT_EQ(LayerOf("weight w [2,768,64] y = MatMul([2,197,768], w)"), "gemm H2 M197 N64 K768");
}

TEST(OnnxMatMul, KnowsWeightsThatAreComputedFromWeights) {
  EXPECT_EQ(LayerOf("weight w [64,16] t = Transpose(w) y = MatMul([3,16], t)"), "fc N3 K64 C16");
  EXPECT_EQ(LayerOf("w = ConstantOfShape({16,64}) y = MatMul([3,16], w)"), "fc N3 K64 C16");
  EXPECT_EQ(LayerOf("weight q [16,64] w = DequantizeLinear(q, 0.5) y = MatMul([3,16], w)"),
            "fc N3 K64 C16");
  EXPECT_EQ(LayerOf("input x [16,64] w = Relu(x) y = MatMul([3,16], w)"), "gemm H1 M3 N64 K16");
}

TEST(OnnxMatMul, TakesTheBiasOfTheAdditionThatFollows) {
  const std::string product =
      "weight w [16,64] weight b [64] weight c [1,1,64] m = MatMul([3,5,16], w) ";
  EXPECT_EQ(LayerOf(product + "y = Add(m, b)"), "fc N15 K64 C16 bias");
  EXPECT_EQ(LayerOf(product + "y = Add(c, m)"), "fc N15 K64 C16 bias");
  EXPECT_EQ(LayerOf(product + "r = Relu(m) y = Add(r, b)"), "fc N15 K64 C16");
  EXPECT_EQ(LayerOf(product + "y = Add(m, [64])"), "fc N15 K64 C16");
  EXPECT_EQ(LayerOf(product + "y = Add(m, {1.5})"), "fc N15 K64 C16");
}

TEST(OnnxEinsum, IsAProductIfItContracts) {
  EXPECT_EQ(LayerOf("y = Einsum<equation=\"bhid,bhjd->bhij\">([2,3,5,7], [2,3,11,7])"),
            "gemm H6 M5 N11 K7");
  EXPECT_EQ(LayerOf("y = Einsum<equation=\"b g h i d, b g h j d -> b g h i j\">([1,2,3,4,5], "
                    "[1,2,3,6,5])"),
            "gemm H6 M4 N6 K5");
  EXPECT_EQ(LayerOf("y = Einsum<equation=\"...ij,...jk\">([2,3,5,7], [2,3,7,11])"),
            "gemm H6 M5 N11 K7");
  EXPECT_EQ(LayerOf("weight w [7,4,8] y = Einsum<equation=\"abc,cde->abde\">([2,5,7], w)"),
            "fc N10 K32 C7");
  EXPECT_EQ(ShapeOf("Einsum<equation=\"...ij,...jk->...ik\">([2,1,5,7], [3,7,11])"),
            "[2, 3, 5, 11]");
}

TEST(OnnxEinsum, WithoutContractionHasNoMacs) {
  const Result<Network> outer = Import("y = Einsum<equation=\"i,j->ij\">([5], [7])");
  ASSERT_TRUE(outer) << outer.error();
  EXPECT_EQ(outer->ignored, (std::map<std::string, int64_t>{{"Einsum", 1}}));
  const Result<Network> diagonal = Import("y = Einsum<equation=\"ii,ij->j\">([5,5], [5,7])");
  ASSERT_TRUE(diagonal) << diagonal.error();
  EXPECT_EQ(diagonal->unknown, (std::map<std::string, int64_t>{{"Einsum", 1}}));
  const Result<Network> three =
      Import("y = Einsum<equation=\"ij,jk,kl->il\">([2,3], [3,4], [4,5])");
  ASSERT_TRUE(three) << three.error();
  EXPECT_EQ(three->unknown, (std::map<std::string, int64_t>{{"Einsum", 1}}));
  EXPECT_EQ(ShapeOf("Einsum<equation=\"ij->ji\">([2,3])"), "[3, 2]");
}

TEST(OnnxEinsum, RefusesEquationsThatDoNotFit) {
  const std::string node = "net.onnx: node 'n' (Einsum): ";
  EXPECT_EQ(ShapeOf("Einsum<equation=\"ij,jk->ik\">([2,3])"),
            node + "equation 'ij,jk->ik' has 2 terms for 1 inputs");
  EXPECT_EQ(ShapeOf("Einsum<equation=\"ijk->i\">([2,3])"),
            node + "term 'ijk' does not fit an input of 2 dimensions");
  EXPECT_EQ(ShapeOf("Einsum<equation=\"ij,jk->ik\">([2,3], [4,5])"),
            node + "sizes 3 and 4 must be equal");
  EXPECT_EQ(ShapeOf("Einsum<equation=\"i1->i\">([2,3])"), node + "term 'i1' is malformed");
  EXPECT_EQ(ShapeOf("Einsum<equation=\"ij->k\">([2,3])"),
            node + "the equation's output has a letter that no input has");
}

// B * H * Tq * Tk * (Dqk + Dv), as two layers.
TEST(OnnxAttention, GivesTwoLayers) {
  const Result<Network> network =
      Import("a: y, pk, pv = Attention([2,8,10,64], [2,4,20,64], [2,4,20,32])");
  ASSERT_TRUE(network) << network.error();
  ASSERT_EQ(network->layers.size(), 2u);
  EXPECT_EQ(network->layers[0].name, "a/qk");
  EXPECT_EQ(ToString(network->layers[0].layer), "gemm H16 M10 N20 K64");
  EXPECT_EQ(network->layers[1].name, "a/pv");
  EXPECT_EQ(ToString(network->layers[1].layer), "gemm H16 M10 N32 K20");
  EXPECT_EQ(TotalMacs(*network), 2 * 8 * 10 * 20 * (64 + 32));
}

TEST(OnnxAttention, KnowsFlatHeadsAndThePast) {
  const std::string text =
      "y, pk, pv, qk = Attention<q_num_heads=8, kv_num_heads=2>([1,1,512], [1,1,128], [1,1,128], "
      "_, "
      "[1,2,99,64], [1,2,99,64])";
  const Result<Network> network = Import(text);
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(TotalMacs(*network), 8 * 100 * (64 + 64));
  const std::map<std::string, std::string> shapes = Shapes(text);
  EXPECT_EQ(shapes.at("y"), "[1, 1, 512]");
  EXPECT_EQ(shapes.at("pk"), "[1, 2, 100, 64]");
  EXPECT_EQ(shapes.at("qk"), "[1, 8, 1, 100]");
  EXPECT_EQ(ShapeOf("Attention([1,1,512], [1,1,512], [1,1,512])"),
            "net.onnx: node 'n' (Attention): attribute 'q_num_heads' is missing");
  EXPECT_EQ(ShapeOf("Attention([1,8,1,64], [1,3,9,64], [1,3,9,64])"),
            "net.onnx: node 'n' (Attention): query [1, 8, 1, 64], key [1, 3, 9, 64] and value "
            "[1, 3, 9, 64] do not fit each other");
}

TEST(OnnxQuantized, ProductsCountLikeOthers) {
  const auto bytes = [](const std::string& weight, const std::string& input) {
    return "weight f " + weight + " w = Cast<to=3>(f) x = Cast<to=2>(" + input + ") ";
  };
  EXPECT_EQ(
      LayerOf(bytes("[8,3,3,3]", "[1,3,8,8]") + "y = ConvInteger<pads=[1,1,1,1]>(x, w, 0, 0)"),
      "conv N1 K8 C3 Y8 X8 R3 S3 P8 Q8 pad 1");
  EXPECT_EQ(LayerOf(bytes("[8,3,3,3]", "[1,3,8,8]") +
                    "weight b [8] y = QLinearConv(x, 0.5, 0, w, 0.5, 0, 0.5, 0, b)"),
            "conv N1 K8 C3 Y8 X8 R3 S3 P6 Q6 bias");
  EXPECT_EQ(LayerOf(bytes("[16,8]", "[4,16]") + "y = QLinearMatMul(x, 0.5, 0, w, 0.5, 0, 0.5, 0)"),
            "fc N4 K8 C16");
  EXPECT_EQ(LayerOf(bytes("[16,8]", "[4,16]") + "y = MatMulInteger(x, w)"), "fc N4 K8 C16");
}

TEST(OnnxMicrosoft, OperatorsOfTheRuntimeAreKnown) {
  EXPECT_EQ(LayerOf("y = com.microsoft.FusedMatMul<transB=1>([2,5,7], [2,11,7])"),
            "gemm H2 M5 N11 K7");
  EXPECT_EQ(LayerOf("weight w [4,3,3,3] y = com.microsoft.FusedConv([1,3,5,5], w)"),
            "conv N1 K4 C3 Y5 X5 R3 S3 P3 Q3");
  EXPECT_EQ(LayerOf("y = com.microsoft.MatMulNBits<K=64, N=32>([2,5,64], {1}, {1})"),
            "fc N10 K32 C64");
  const Result<Network> attention = Import(
      "weight w [64,192] weight b [192] y = com.microsoft.Attention<num_heads=4>([2,10,64], w, b)");
  ASSERT_TRUE(attention) << attention.error();
  EXPECT_EQ(TotalMacs(*attention), 2 * 10 * 64 * 192 + 2 * 4 * 10 * 10 * (16 + 16));
  EXPECT_EQ(TotalLayers(*attention), 3);
  const Result<Network> heads =
      Import("y = com.microsoft.MultiHeadAttention<num_heads=4>([2,10,64], [2,20,64], [2,20,64])");
  ASSERT_TRUE(heads) << heads.error();
  EXPECT_EQ(TotalMacs(*heads), 2 * 4 * 10 * 20 * (16 + 16));
  const Result<Network> gelu = Import("y = com.microsoft.Gelu([2,3])");
  ASSERT_TRUE(gelu) << gelu.error();
  EXPECT_EQ(gelu->ignored, (std::map<std::string, int64_t>{{"com.microsoft.Gelu", 1}}));
}

// A layer without work is a mistake of the sizes that were bound, or of the graph.
TEST(OnnxLayers, OfSizeZeroAreRefused) {
  EXPECT_EQ(ImportError("input x [batch,4] weight w [4,5] m: y = MatMul(x, w)", {{"batch", 0}}),
            "net.onnx: node 'm' (MatMul): N is 0, but must be at least 1");
}

TEST(OnnxLayers, OverflowIsAnError) {
  EXPECT_EQ(ImportError("m: y = MatMul([2000000000,2000000000], [2000000000,2000000000])"),
            "net.onnx: node 'm' (MatMul): the number of MACs does not fit in 64 bits; reduce the "
            "layer's sizes");
}

}  // namespace
}  // namespace tessera::onnx
