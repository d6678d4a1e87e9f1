// Shapes that the operators give, one line each.
#include <gtest/gtest.h>

#include <vector>

#include "tessera/workload/onnx/test_graph.h"

namespace tessera::onnx {
namespace {

struct Case {
  const char* node;
  const char* shape;
  int64_t opset = 20;
};

class OnnxShapes : public testing::TestWithParam<std::vector<Case>> {};

TEST_P(OnnxShapes, AreInferred) {
  for (const Case& c : GetParam()) {
    EXPECT_EQ(ShapeOf(c.node, c.opset), c.shape) << c.node << ", opset " << c.opset;
  }
}

const std::vector<Case> kElementwise = {
    {"Relu([2,3])", "[2, 3]"},
    {"Add([2,3,4], [3,1])", "[2, 3, 4]"},
    {"Mul([5,1], [7])", "[5, 7]"},
    {"Where([3,1], [4], [2,1,1])", "[2, 3, 4]"},
    {"Max([2,1], [3], [4,1,1])", "[4, 2, 3]"},
    {"Add([2,3,4,5], [3,4])", "[2, 3, 4, 5]", 6},  // fitted along an attribute's axis
    {"Clip([2,3], 0.0, 6.0)", "[2, 3]"},
    {"PRelu([2,3], [3])", "[2, 3]"},
    {"Cast<to=1>([2,3])", "[2, 3]"},
    {"LRN<size=5>([1,3,4,4])", "[1, 3, 4, 4]"},
    {"Add([2,3], [4])", "net.onnx: node 'n' (Add): shapes [2, 3] and [4] do not broadcast"},
};

const std::vector<Case> kReshapes = {
    {"Reshape([2,3,4], {0,-1})", "[2, 12]"},
    {"Reshape([2,3,4], {-1})", "[24]"},
    {"Reshape<allowzero=1>([4,5], {4,5})", "[4, 5]"},
    {"Reshape<shape=[6,-1]>([2,3,4])", "[6, 4]", 1},
    {"Flatten([2,3,4,5])", "[2, 60]"},
    {"Flatten<axis=0>([2,3])", "[1, 6]"},
    {"Flatten<axis=-1>([2,3,4])", "[6, 4]"},
    {"Transpose([2,3,4])", "[4, 3, 2]"},
    {"Transpose<perm=[0,2,1]>([2,3,4])", "[2, 4, 3]"},
    {"Squeeze([1,3,1])", "[3]"},
    {"Squeeze([1,3,1], {0})", "[3, 1]"},
    {"Squeeze<axes=[-1]>([1,3,1])", "[1, 3]", 11},
    {"Unsqueeze([3], {0,-1})", "[1, 3, 1]"},
    {"Unsqueeze<axes=[1]>([3,4])", "[3, 1, 4]", 11},
    {"Expand([3,1], {2,1,6})", "[2, 3, 6]"},
    {"Expand([3,4], {1})", "[3, 4]"},
    {"Tile([2,3], {2,1})", "[4, 3]"},
    {"Concat<axis=1>([2,3], [2,4], [2,1])", "[2, 8]"},
    {"Concat<axis=-1>([2,3], [2,4])", "[2, 7]"},
    {"Pad([1,3,4,4], {0,0,1,1,0,0,2,2})", "[1, 3, 7, 7]"},
    {"Pad([1,3,4,4], {1,1}, _, {-1})", "[1, 3, 4, 6]"},
    {"Pad<pads=[0,0,1,1]>([3,4])", "[4, 5]", 2},
    {"DepthToSpace<blocksize=2>([1,8,4,4])", "[1, 2, 8, 8]"},
    {"SpaceToDepth<blocksize=2>([1,2,8,8])", "[1, 8, 4, 4]"},
    {"Identity([2,3])", "[2, 3]"},
    {"Reshape([2,3], {4,-1})", "net.onnx: node 'n' (Reshape): [2, 3] cannot be reshaped to [4, 1]"},
    {"Reshape([2,3], {5})", "net.onnx: node 'n' (Reshape): [2, 3] cannot be reshaped to [5]"},
    {"Reshape([2,3], {-1,-1})", "net.onnx: node 'n' (Reshape): the new shape has more than one -1"},
    {"Reshape([2,3], {2,3,0})",
     "net.onnx: node 'n' (Reshape): 0 at position 2 of the new shape copies a dimension that "
     "[2, 3] does not have"},
    {"Squeeze([2,3], {0})",
     "net.onnx: node 'n' (Squeeze): axis 0 of [2, 3] is not 1, so it cannot be squeezed"},
    {"Transpose<perm=[0,0]>([2,3])", "net.onnx: node 'n' (Transpose): an axis is named twice"},
    {"Concat<axis=0>([2,3], [2,4])",
     "net.onnx: node 'n' (Concat): shapes [2, 3] and [2, 4] cannot be joined along axis 0"},
    {"Concat<axis=2>([2,3], [2,4])",
     "net.onnx: node 'n' (Concat): axis 2 is outside of a shape with 2 dimensions"},
    {"Pad([3], {-2,-2})",
     "net.onnx: node 'n' (Pad): result 'y' would have the shape [-1], with a negative size"},
};

const std::vector<Case> kSelections = {
    {"Slice([10,20], {1}, {9}, {0}, {3})", "[3, 20]"},
    {"Slice([10,20], {0,0}, {-1,9223372036854775807})", "[9, 20]"},
    {"Slice([10], {-1}, {-9223372036854775808}, {0}, {-1})", "[10]"},
    {"Slice([10], {8}, {2}, {0}, {-2})", "[3]"},
    {"Slice([10], {7}, {3})", "[0]"},
    {"Slice<starts=[1], ends=[3], axes=[1]>([4,5])", "[4, 2]", 9},
    {"Gather<axis=1>([2,3,4], {0,2})", "[2, 2, 4]"},
    {"Gather([2,3,4], 1)", "[3, 4]"},
    {"GatherElements<axis=1>([2,3], [2,5])", "[2, 5]"},
    {"GatherND([2,3,4], [7,2])", "[7, 4]"},
    {"GatherND<batch_dims=1>([2,3,4], [2,5,1])", "[2, 5, 4]"},
    {"ScatterND([4,5], [2,1], [2,5])", "[4, 5]"},
    {"OneHot([2,3], 10, {0.0,1.0})", "[2, 3, 10]"},
    {"OneHot<axis=0>([2,3], 10, {0.0,1.0})", "[10, 2, 3]"},
    {"TopK([2,100], {5})", "[2, 5]"},
    {"TopK<k=5>([2,100])", "[2, 5]", 9},
    {"Trilu([5,5])", "[5, 5]"},
    {"NonZero([2,3])", "[2, ?]"},
    {"NonZero({1,0,1})", "[1, 2]"},
    {"Compress<axis=1>([2,3], {true,false,true})", "[2, 2]"},
    {"NonMaxSuppression([1,10,4], [1,1,10])", "[?, 3]"},
    {"Gather({1,2}, {5})", "net.onnx: node 'n' (Gather): index 5 is outside of axis 0 of size 2"},
    {"Slice([4], {0}, {4}, {0}, {0})", "net.onnx: node 'n' (Slice): a step is 0"},
};

const std::vector<Case> kReductions = {
    {"ReduceMean<axes=[2,3]>([1,8,4,4])", "[1, 8, 1, 1]", 13},
    {"ReduceMean<keepdims=0>([1,8,4,4], {-1,-2})", "[1, 8]", 18},
    {"ReduceSum<keepdims=0>([2,3])", "[]"},
    {"ReduceSum<noop_with_empty_axes=1>([2,3])", "[2, 3]"},
    {"ArgMax<axis=1, keepdims=0>([2,3,4])", "[2, 4]"},
    {"CumSum([2,3], 1)", "[2, 3]"},
    {"Softmax([2,3])", "[2, 3]"},
    {"LayerNormalization([2,3], [3], [3])", "[2, 3]"},
    {"BatchNormalization([2,3,4,4], [3], [3], [3], [3])", "[2, 3, 4, 4]"},
    {"GroupNormalization<num_groups=1>([2,3,4,4], [3], [3])", "[2, 3, 4, 4]"},
    {"RMSNormalization([2,3], [3])", "[2, 3]", 23},
};

const std::vector<Case> kPooling = {
    {"MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>([1,64,112,112])",
     "[1, 64, 56, 56]"},
    {"MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[0,0,1,1]>([1,1,112,112])", "[1, 1, 56, 56]"},
    // A last window that would start in the padding does not count.
    {"MaxPool<kernel_shape=[2,2], strides=[3,3], ceil_mode=1>([1,1,4,5])", "[1, 1, 2, 2]"},
    {"MaxPool<kernel_shape=[1,1], strides=[3,3], ceil_mode=1>([1,1,3,5])", "[1, 1, 1, 2]"},
    {"MaxPool<kernel_shape=[3], dilations=[2]>([1,1,9])", "[1, 1, 5]"},
    {"AveragePool<kernel_shape=[3,3], strides=[2,2], auto_pad=\"SAME_UPPER\">([1,1,7,8])",
     "[1, 1, 4, 4]"},
    {"GlobalAveragePool([1,512,7,7])", "[1, 512, 1, 1]"},
    {"RoiAlign<output_height=7, output_width=7>([1,256,50,50], [10,4], {0})", "[10, 256, 7, 7]"},
    {"MaxPool<kernel_shape=[9,9]>([1,1,4,4])",
     "net.onnx: node 'n' (MaxPool): kernel 9 (with dilation 1) is larger than the padded input 4"},
    {"MaxPool([1,1,4,4])", "net.onnx: node 'n' (MaxPool): attribute 'kernel_shape' is missing"},
};

const std::vector<Case> kResizing = {
    {"Resize([1,3,8,8], _, {1.0,1.0,2.0,2.5})", "[1, 3, 16, 20]"},
    {"Resize([1,3,8,8], _, _, {1,3,15,17})", "[1, 3, 15, 17]"},
    {"Resize([1,3,8,8], {}, {}, {1,3,15,17})", "[1, 3, 15, 17]", 11},
    {"Resize<axes=[2,3]>([1,3,8,8], _, _, {15,17})", "[1, 3, 15, 17]"},
    {"Resize<axes=[2,3], keep_aspect_ratio_policy=\"not_larger\">([1,3,8,16], _, _, {16,16})",
     "[1, 3, 8, 16]"},
    {"Resize([1,3,8,8], {1.0,1.0,0.5,0.5})", "[1, 3, 4, 4]", 10},
    {"Upsample<scales=[1.0,1.0,2.0,2.0]>([1,3,8,8])", "[1, 3, 16, 16]", 7},
    {"Upsample([1,3,8,8], {1.0,1.0,2.0,2.0})", "[1, 3, 16, 16]", 9},
    {"GridSample([1,3,8,8], [1,5,6,2])", "[1, 3, 5, 6]"},
    {"Col2Im([1,12,16], {5,5}, {2,2})", "[1, 3, 5, 5]"},
    {"Resize([1,3,8,8])", "net.onnx: node 'n' (Resize): neither scales nor sizes are given"},
};

const std::vector<Case> kOthers = {
    {"ConstantOfShape({2,3})", "[2, 3]"},
    {"Shape([2,3,4])", "[3]"},
    {"Size([2,3,4])", "[]"},
    {"Range(0, 10, 3)", "[4]"},
    {"Range(10, 0, -3)", "[4]"},
    {"Range(0.0, 1.0, 0.25)", "[4]"},
    {"Constant<value={1,2,3}>()", "[3]"},
    {"Constant<value_int=7>()", "[]"},
    {"Constant<value_floats=[1.0,2.0]>()", "[2]"},
    {"RandomNormal<shape=[2,3]>()", "[2, 3]"},
    {"LSTM<hidden_size=32>([10,2,16], [1,128,16], [1,128,32])", "[10, 1, 2, 32]"},
    {"QuantizeLinear([2,3], 0.5, 0)", "[2, 3]"},
    {"Range(0, 10, 0)", "net.onnx: node 'n' (Range): the range has no usable number of elements"},
};

INSTANTIATE_TEST_SUITE_P(Elementwise, OnnxShapes, testing::Values(kElementwise));
INSTANTIATE_TEST_SUITE_P(Reshapes, OnnxShapes, testing::Values(kReshapes));
INSTANTIATE_TEST_SUITE_P(Selections, OnnxShapes, testing::Values(kSelections));
INSTANTIATE_TEST_SUITE_P(Reductions, OnnxShapes, testing::Values(kReductions));
INSTANTIATE_TEST_SUITE_P(Pooling, OnnxShapes, testing::Values(kPooling));
INSTANTIATE_TEST_SUITE_P(Resizing, OnnxShapes, testing::Values(kResizing));
INSTANTIATE_TEST_SUITE_P(Others, OnnxShapes, testing::Values(kOthers));

TEST(OnnxSplit, PartsComeFromAttributeInputOrCount) {
  const auto split = [](const std::string& node, int64_t opset) {
    const auto shapes = Shapes("opset " + std::to_string(opset) + " n: a, b, c = " + node);
    return shapes.contains("error") ? shapes.at("error")
                                    : shapes.at("a") + shapes.at("b") + shapes.at("c");
  };
  EXPECT_EQ(split("Split<axis=1>([2,9])", 13), "[2, 3][2, 3][2, 3]");
  EXPECT_EQ(split("Split<axis=1, split=[1,3,5]>([2,9])", 11), "[2, 1][2, 3][2, 5]");
  EXPECT_EQ(split("Split<axis=-1>([2,9], {2,2,5})", 13), "[2, 2][2, 2][2, 5]");
  EXPECT_EQ(split("Split<axis=1, num_outputs=3>([2,10])", 18), "[2, 4][2, 4][2, 2]");
  EXPECT_EQ(split("Split<axis=1>([2,10])", 13),
            "net.onnx: node 'n' (Split): 10 cannot be split into 3 equal parts");
  EXPECT_EQ(split("Split<axis=1>([2,9], {2,2,4})", 13),
            "net.onnx: node 'n' (Split): the parts do not add up to the size 9 of axis 1");
}

}  // namespace
}  // namespace tessera::onnx
