// Graphs as a whole: order, names, symbols, annotations, functions, branches, what is counted.
#include <gtest/gtest.h>

#include <string>

#include "tessera/workload/onnx/onnx_format.h"
#include "tessera/workload/onnx/test_graph.h"

namespace tessera::onnx {
namespace {

using Counts = std::map<std::string, int64_t>;

Result<Network> ImportModel(const schema::Model& model, const Bindings& bindings = {}) {
  return ReadOnnx(model.SerializeAsString(), "net.onnx", bindings);
}

std::string ErrorOf(const schema::Model& model) {
  const Result<Network> network = ImportModel(model);
  return network ? "imported" : ToString(network.error());
}

// ---- order

TEST(OnnxGraph, NodesMayComeInAnyOrder) {
  const Result<Network> network = Import(
      "weight w [4,3,1,1] weight v [5,4,1,1] output z "
      "second: z = Conv(y, v)  first: y = Conv([1,3,8,8], w)");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].name, "first");
  EXPECT_EQ(network->layers[1].name, "second");
}

TEST(OnnxGraph, CyclesAreNamed) {
  EXPECT_EQ(ImportError("output y a: y = Add(x, z)  b: z = Relu(y)  i: x = Relu([1,2])"),
            "net.onnx: the graph has a cycle: 'a' -> 'b' -> 'a'");
  EXPECT_EQ(ImportError("self: y = Relu(y)"), "net.onnx: the graph has a cycle: 'self' -> 'self'");
}

TEST(OnnxGraph, EveryTensorHasOneProducer) {
  EXPECT_EQ(ImportError("r: y = Relu(nowhere)"),
            "net.onnx: node 'r' (Relu) reads tensor 'nowhere', which nothing produces");
  EXPECT_EQ(ImportError("a: y = Relu([1]) b: y = Relu([2])"),
            "net.onnx: node 'b' (Relu) produces 'y', which node 'a' (Relu) produces too");
  EXPECT_EQ(ImportError("input x [1] a: x = Relu([1])"),
            "net.onnx: node 'a' (Relu) produces 'x', which is an input or initialiser too");
  EXPECT_EQ(ImportError("output z y = Relu([1])"),
            "net.onnx: graph output 'z' is produced by no node");
}

// Far more nodes than any network has; a quadratic step would show.
TEST(OnnxGraph, LargeGraphsAreFine) {
  std::string text = "input x0 [1,8] ";
  constexpr int kNodes = 100'000;
  for (int i = 0; i < kNodes; ++i) {
    text += "x" + std::to_string(i + 1) + " = Relu(x" + std::to_string(i) + ") ";
  }
  const Result<Network> network = Import(text);
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->ignored, (Counts{{"Relu", kNodes}}));
}

// ---- what a network knows about its file

TEST(OnnxGraph, LayersAreNamedByNodeOrResult) {
  const Result<Network> network =
      Import("weight w [4,3,1,1] weight v [5,4,1,1] stem: a = Conv([1,3,8,8], w)  b = Conv(a, v)");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].name, "stem");
  EXPECT_EQ(network->layers[1].name, "b");
  EXPECT_EQ(network->name, "net");
  EXPECT_EQ(network->source, "ONNX graph 'test', opset 20");
}

TEST(OnnxGraph, NamesArePrintable) {
  schema::Model model = MakeModel("weight w [4,5] m: y = MatMul([3,4], w) z = Relu(y)");
  model.mutable_graph()->mutable_node(0)->set_name("a\x1b\xff");
  model.mutable_graph()->mutable_node(1)->set_op_type("\n");
  const Result<Network> network = ImportModel(model);
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].name, "a\\x1b\\xff");
  EXPECT_EQ(network->unknown, (Counts{{"\\x0a", 1}}));
}

TEST(OnnxGraph, EqualLayersCountGraphNodes) {
  const Result<Network> network =
      Import("weight w [4,4,1,1] a: p = Conv([2,4,8,8], w) b: q = Conv(p, w) c: r = MatMul(q, q)");
  ASSERT_TRUE(network) << network.error();
  ASSERT_EQ(network->layers.size(), 2u);
  EXPECT_EQ(network->layers[0].count, 2);
  EXPECT_EQ(network->layers[0].also, std::vector<std::string>{"b"});
  EXPECT_EQ(network->layers[1].count, 1);  // eight products, one node
  EXPECT_EQ(network->layers[1].layer.h, 8);
  EXPECT_EQ(network->batch, 2);
}

TEST(OnnxGraph, OperatorsWithoutMacsAndUnknownOnesAreListed) {
  const Result<Network> network = Import(
      "a = Relu([2,3]) b = Relu(a) c = Softmax(b) d = Frobnicate(c) e = my.domain.Op(d) "
      "f = LSTM<hidden_size=4>([5,1,3], [1,16,3], [1,16,4])");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->ignored, (Counts{{"Relu", 2}, {"Softmax", 1}}));
  EXPECT_EQ(network->unknown, (Counts{{"Frobnicate", 1}, {"LSTM", 1}, {"my.domain.Op", 1}}));
}

TEST(OnnxGraph, UnknownOperatorsMatterOnlyToLayersBehindThem) {
  const std::string text = "weight w [4,3,3,3] f: a = Frobnicate([1,3,8,8]) b = Relu(a) ";
  EXPECT_EQ(ImportError(text + "c: y = Conv(b, w)"),
            "net.onnx: node 'c' (Conv): the shape of 'b' is not known: operator 'Frobnicate' (node "
            "'f' (Frobnicate)) is not understood");
  EXPECT_EQ(ImportError(text + "c: y = Conv([1,3,8,8], w)"), "imported");
}

// The file's own annotations help where inference does not know, and only there.
TEST(OnnxGraph, AnnotationsAreTheFallback) {
  const std::string text = "input x [batch,3,8,8] weight w [4,3,3,3] a = Frobnicate(x) ";
  EXPECT_EQ(LayerOf(text + "info a [1,3,6,6] y = Conv(a, w)"), "conv N1 K4 C3 Y6 X6 R3 S3 P4 Q4");
  EXPECT_EQ(LayerOf(text + "info a [batch,3,6,6] y = Conv(a, w)", {{"batch", 2}}),
            "conv N2 K4 C3 Y6 X6 R3 S3 P4 Q4");
  EXPECT_EQ(Shapes("input x [2,3] info y [7,7] y = Relu(x)").at("y"), "[2, 3]");
}

// ---- symbols

TEST(OnnxSymbols, MustBeBoundWhereALayerNeedsThem) {
  const std::string text =
      "input image [batch, 3, height, ?] weight w [4,3,1,1] c: y = Conv(image, w)";
  EXPECT_EQ(
      ImportError(text),
      "net.onnx: node 'c' (Conv): the shape [?, 3, ?, ?] of 'image' is not known: dimension 0 "
      "of input 'image' is the symbol 'batch'; try --bind "
      "batch=1,height=SIZE,image.3=SIZE");
  EXPECT_EQ(
      ImportError(text, {{"batch", 1}, {"height", 8}}),
      "net.onnx: node 'c' (Conv): the shape [1, 3, 8, ?] of 'image' is not known: dimension 3 "
      "of input 'image' has no fixed size; try --bind image.3=SIZE");
  EXPECT_EQ(LayerOf(text, {{"batch", 2}, {"height", 8}, {"image.3", 9}}),
            "conv N2 K4 C3 Y8 X9 R1 S1 P8 Q9");
  EXPECT_EQ(ImportError("input x [batch,3] y = Relu(x)"), "imported");
}

TEST(OnnxSymbols, UnknownNamesAndBadSizesAreErrors) {
  const std::string text = "input x [batch, 3] y = Relu(x)";
  EXPECT_EQ(ImportError(text, {{"bacth", 1}}),
            "net.onnx: the graph has no symbolic dimension 'bacth'; did you mean 'batch'?");
  EXPECT_EQ(ImportError("input x [2, 3] y = Relu(x)", {{"batch", 1}}),
            "net.onnx: the graph has no symbolic dimension 'batch'; all sizes of its inputs are "
            "fixed");
  EXPECT_EQ(ImportError(text, {{"batch", -1}}),
            "net.onnx: binding batch=-1: a size must be in 0..2147483647");
  EXPECT_EQ(ImportError("input x [-5, 3] y = Relu(x)"),
            "net.onnx: input 'x' has the negative size -5");
}

TEST(OnnxSymbols, MayBeExpressions) {
  schema::Model model = MakeModel("input x [n, 4] weight w [4,5] y = MatMul(x, w)");
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("past + 1");
  const Result<Network> network = ImportModel(model, {{"past", 9}});
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].layer.n, 10);
  EXPECT_EQ(ImportModel(model, {{"past + 1", 3}})->layers[0].layer.n, 3);
}

TEST(OnnxSymbols, AnInputWithoutShapeIsBoundAxisByAxis) {
  schema::Model model = MakeModel("input x [n, 4] weight w [4,5] m: y = MatMul(x, w)");
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(ErrorOf(model),
            "net.onnx: node 'm' (MatMul): the shape of 'x' is not known: input 'x' has no shape; "
            "try --bind x.0=SIZE,x.1=SIZE,...");
  const Result<Network> network = ImportModel(model, {{"x.0", 7}, {"x.1", 4}});
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(ToString(network->layers[0].layer), "fc N7 K5 C4");
}

// ---- initialisers

// Files of IR version 3 list weights as inputs too; some list weights that nothing reads.
TEST(OnnxInitialisers, MayBeInputsAndMayBeUnused) {
  const Result<Network> network = Import(
      "input w [99,99,9,9] input x [2,3,8,8] weight w [4,3,1,1] weight unused [7] y = Conv(x, w)");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(ToString(network->layers[0].layer), "conv N2 K4 C3 Y8 X8 R1 S1 P8 Q8");
  EXPECT_EQ(network->batch, 2);
}

TEST(OnnxInitialisers, ExternalDataAreNeverOpened) {
  schema::Model model = MakeModel("input x [2,6] r = Reshape(x, {3,4}) m: y = MatMul(r, [4,5])");
  EXPECT_EQ(ErrorOf(model), "imported");
  schema::Tensor& target = *model.mutable_graph()->mutable_initializer(0);
  target.clear_int64_data();
  target.set_data_location(1);
  EXPECT_EQ(ErrorOf(model),
            "net.onnx: node 'm' (MatMul): the shape [?, ?] of 'r' is not known: the values of "
            "'operand2' are in an external file, which is never opened");
}

TEST(OnnxInitialisers, RawDataAreLittleEndian) {
  schema::Model model = MakeModel("input x [2,6] y = Reshape(x, {3,4})");
  schema::Tensor& target = *model.mutable_graph()->mutable_initializer(0);
  target.clear_int64_data();
  std::string raw(16, '\0');
  raw[0] = 4;
  raw[8] = 3;
  target.set_raw_data(raw);
  EXPECT_EQ(ErrorOf(model), "imported");
  target.set_raw_data(raw.substr(1));
  EXPECT_EQ(ErrorOf(model),
            "net.onnx: tensor 'operand2' has 15 bytes of data, but its shape needs 16");
}

TEST(OnnxInitialisers, BadOnesAreNamed) {
  EXPECT_EQ(ImportError("weight w [3,-1] y = Relu(w)"),
            "net.onnx: tensor 'w' has the negative size -1");
  EXPECT_EQ(ImportError("weight w [4000000000,4000000000] y = Relu(w)"),
            "net.onnx: tensor 'w' of shape [4000000000, 4000000000] has more elements than fit in "
            "64 bits");
  EXPECT_EQ(ImportError("weight w [1] weight w [1] y = Relu(w)"),
            "net.onnx: two initialisers are named 'w'");
  schema::Model model = MakeModel("y = Reshape([2,6], {3,4})");
  model.mutable_graph()->mutable_initializer(0)->add_int64_data(5);
  EXPECT_EQ(ErrorOf(model), "net.onnx: tensor 'operand2' has 3 elements, but its shape needs 2");
}

// ---- branches and functions

schema::Model BranchingModel(const std::string& condition) {
  schema::Model model = MakeModel("input x [1,1,8] c = " + condition +
                                  " branch: y = If(c) "
                                  "m: z = MatMul(y, [8,3])");
  for (const char* const name : {"then_branch", "else_branch"}) {
    const bool then = name[0] == 't';
    schema::Attribute& attribute = *model.mutable_graph()->mutable_node(1)->add_attribute();
    attribute.set_name(name);
    attribute.set_type(5);
    *attribute.mutable_g() = MakeModel(then ? "b = Squeeze(x, {0})" : "b = Identity(x)").graph();
  }
  return model;
}

TEST(OnnxIf, TakesTheBranchOfAKnownCondition) {
  const Result<Network> then = ImportModel(BranchingModel("Equal(1, 1)"));
  ASSERT_TRUE(then) << then.error();
  EXPECT_EQ(then->ignored, (Counts{{"Equal", 1}, {"If", 1}, {"Squeeze", 1}}));
  EXPECT_EQ(ToString(then->layers[0].layer), "gemm H1 M1 N3 K8");
  const Result<Network> otherwise = ImportModel(BranchingModel("Equal(1, 2)"));
  ASSERT_TRUE(otherwise) << otherwise.error();
  EXPECT_EQ(otherwise->ignored, (Counts{{"Equal", 1}, {"Identity", 1}, {"If", 1}}));
}

TEST(OnnxIf, IsUnknownOtherwise) {
  EXPECT_EQ(ErrorOf(BranchingModel("Less([1], [1])")),
            "net.onnx: node 'm' (MatMul): the shape of 'y' is not known: the result of node "
            "'branch' (If) depends on values known only at run time");
}

// f(a, b) = Gemm<transB=@t>(a, b) in a domain of its own.
schema::Model CallingModel() {
  schema::Model model = MakeModel("weight w [5,4] call: y = mine.Linear<t=1>([3,4], w)");
  schema::Function& function = *model.add_functions();
  function.set_domain("mine");
  function.set_name("Linear");
  function.add_input("a");
  function.add_input("b");
  function.add_output("r");
  function.add_opset_import()->set_version(18);
  *function.add_node() = MakeModel("product: r = Gemm(a, b)").graph().node(0);
  schema::Attribute& attribute = *function.mutable_node(0)->add_attribute();
  attribute.set_name("transB");
  attribute.set_type(2);
  attribute.set_ref_attr_name("t");
  return model;
}

TEST(OnnxFunctions, AreExpanded) {
  const Result<Network> network = ImportModel(CallingModel());
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].name, "call/product");
  EXPECT_EQ(ToString(network->layers[0].layer), "fc N3 K5 C4");
  EXPECT_TRUE(network->unknown.empty());
}

TEST(OnnxFunctions, MayLeaveOutInputs) {
  schema::Model model = CallingModel();
  model.mutable_functions(0)->add_input("c");
  model.mutable_functions(0)->mutable_node(0)->add_input("c");
  const Result<Network> network = ImportModel(model);
  ASSERT_TRUE(network) << network.error();
  EXPECT_FALSE(network->layers[0].layer.bias);
}

TEST(OnnxFunctions, MayNotCallThemselves) {
  schema::Model model = CallingModel();
  *model.mutable_functions(0)->mutable_node(0) = MakeModel("r = mine.Linear(a, b)").graph().node(0);
  EXPECT_EQ(ErrorOf(model),
            "net.onnx: functions and subgraphs nest more than 64 deep; a function may not call "
            "itself");
}

// Each function calls the one before it ten times: 10^10 nodes in a few kilobytes.
TEST(OnnxFunctions, MayNotExplode) {
  schema::Model model = MakeModel("y = bomb.f9([1])");
  for (int i = 0; i < 10; ++i) {
    schema::Function& function = *model.add_functions();
    function.set_domain("bomb");
    function.set_name("f" + std::to_string(i));
    function.add_input("t0");
    function.add_output("t10");
    function.add_opset_import()->set_version(18);
    for (int j = 0; j < 10; ++j) {
      schema::Node& node = *function.add_node();
      node.set_op_type(i == 0 ? "Relu" : "f" + std::to_string(i - 1));
      node.set_domain(i == 0 ? "" : "bomb");
      node.add_input("t" + std::to_string(j));
      node.add_output("t" + std::to_string(j + 1));
    }
  }
  EXPECT_EQ(ErrorOf(model),
            "net.onnx: the graph has more than 1000000 nodes once its functions are expanded");
}

// ---- sequences

TEST(OnnxSequences, AreFollowed) {
  EXPECT_EQ(LayerOf("s = SplitToSequence<axis=1>([2,10,4], {3,7}) p = SequenceAt(s, 1) "
                    "y = MatMul(p, [4,5])"),
            "gemm H2 M7 N5 K4");
  EXPECT_EQ(LayerOf("s = SequenceConstruct([2,3,4], [2,5,4]) p = ConcatFromSequence<axis=1>(s) "
                    "y = MatMul(p, [4,5])"),
            "gemm H2 M8 N5 K4");
}

TEST(OnnxImporter, KeepsTheTypesOfElements) {
  const auto types = [](std::string_view text) {
    const Result<Network> network = Import(text);
    EXPECT_TRUE(network) << network.error();
    return network ? network->layers[0].types : ElementTypes{};
  };
  EXPECT_EQ(types("weight w [4,3,1,1] y = Conv([1,3,8,8], w)"),
            (ElementTypes{"float32", "float32", "float32"}));
  EXPECT_EQ(types("input x [1,3,8,8] weight w [4,3,1,1] h = Cast<to=10>(x) v = Cast<to=10>(w) "
                  "y = Conv(h, v)"),
            (ElementTypes{"float16", "float16", "float16"}));
  EXPECT_EQ(types("input x [2,3] weight w [3,4] i = Cast<to=3>(x) j = Cast<to=3>(w) "
                  "y = MatMulInteger(i, j)"),
            (ElementTypes{"int8", "int8", "int32"}));
  EXPECT_EQ(types("input a [2,3] input b [3,2] y = MatMul(a, b)"),
            (ElementTypes{"float32", "float32", "float32"}));
  // Equal layers are one entry, whatever their types.
  EXPECT_EQ(types("input x [1,4,8,8] weight w [4,4,1,1] h = Cast<to=10>(x) v = Cast<to=10>(w) "
                  "a = Conv(x, w) b = Conv(h, v)"),
            (ElementTypes{"mixed", "mixed", "mixed"}));
}

}  // namespace
}  // namespace tessera::onnx
