// Bytes that are no ONNX file, or no whole one.
#include "tessera/workload/onnx/onnx_format.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/workload/onnx/test_graph.h"

namespace tessera::onnx {
namespace {

std::string ErrorOf(std::string_view bytes) {
  const Result<Network> network = ReadOnnx(bytes, "net.onnx", {});
  return network ? "imported" : ToString(network.error());
}

const char* const kSmall =
    "input x [batch,3,8,8] weight w [4,3,3,3] info a [1,4,6,6] "
    "a = Conv<pads=[0,0,0,0], auto_pad=\"NOTSET\">(x, w) s = Shape(a) "
    "t = Concat<axis=0>({1}, {-1}) r = Reshape(a, t) y = MatMul(r, [144,5])";

TEST(OnnxFile, IsAProtobufWithAGraph) {
  EXPECT_EQ(ErrorOf(""), "net.onnx: the file is empty");
  EXPECT_EQ(ErrorOf("hello, world"), "net.onnx: not an ONNX file: no field starts at byte 2");
  EXPECT_EQ(ErrorOf("\x08"), "net.onnx: truncated protobuf: field 1 at byte 0 does not end");
  EXPECT_EQ(ErrorOf(std::string("\x07\x00\x01", 3)),
            "net.onnx: not an ONNX file: no field starts at byte 0");
  EXPECT_EQ(ErrorOf("\x08\x09"), "net.onnx: not an ONNX model: it has no graph");
  EXPECT_EQ(ErrorOf(std::string("\x3a\x00", 2)), "net.onnx: the graph has no nodes");
  // The graph's field holds a text instead of a message.
  EXPECT_EQ(ErrorOf("\x3a\x05hello"),
            "net.onnx: damaged protobuf: a message inside the file does not parse");
}

TEST(OnnxFile, CutOffIsReportedAsSuch) {
  const std::string bytes = MakeFile(kSmall);
  const std::string cut = ErrorOf(bytes.substr(0, bytes.size() / 2));
  EXPECT_TRUE(cut.starts_with("net.onnx: truncated protobuf: field 7 at byte 2 needs ")) << cut;
}

// Every prefix and every changed byte gives a network or a message that names the file.
TEST(OnnxFile, DamageNeverCrashes) {
  const std::string bytes = MakeFile(kSmall);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Result<Network> network =
        ReadOnnx(std::string_view(bytes).substr(0, size), "net.onnx", {{"batch", 1}});
    EXPECT_TRUE(network || network.error().where.file == "net.onnx") << size;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const Result<Network> network = ReadOnnx(damaged, "net.onnx", {});
      EXPECT_TRUE(network || network.error().where.file == "net.onnx") << at;
    }
  }
}

TEST(OnnxFile, NeedsAnOperatorSet) {
  schema::Model model = MakeModel("r: y = Relu([1])");
  model.clear_opset_import();
  EXPECT_EQ(ErrorOf(model.SerializeAsString()),
            "net.onnx: node 'r' (Relu) is of the default domain, for which the file imports no "
            "operator set");
  model.add_opset_import()->set_domain("ai.onnx");
  model.mutable_opset_import(0)->set_version(13);
  EXPECT_EQ(ErrorOf(model.SerializeAsString()), "imported");
}

TEST(OnnxFile, DeepNestingIsRefused) {
  schema::Graph inner = MakeModel("y = Relu([1])").graph();
  for (int i = 0; i < 300; ++i) {
    schema::Graph outer;
    schema::Attribute& attribute = *outer.add_node()->add_attribute();
    attribute.set_name("body");
    attribute.mutable_g()->Swap(&inner);
    inner.Swap(&outer);
  }
  schema::Model model;
  model.mutable_graph()->Swap(&inner);
  EXPECT_EQ(ErrorOf(model.SerializeAsString()),
            "net.onnx: damaged protobuf: a message inside the file does not parse");
}

TEST(OnnxFile, IsFoundByExtensionAndByContents) {
  const std::string bytes = MakeFile("y = Relu([1])");
  for (const char* const path : {"net.onnx", "NET.ONNX", "-", "net"}) {
    const Result<Network> network = ParseNetwork(bytes, path);
    EXPECT_TRUE(network) << path << ": " << network.error();
  }
}

}  // namespace
}  // namespace tessera::onnx
