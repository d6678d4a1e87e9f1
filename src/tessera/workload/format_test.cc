// How a NETWORK argument finds its network and its format.
#include "tessera/network.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include "tessera/base/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

constexpr const char* kNative =
    "format: tessera-network-1\nname: t\nparameters: {seq: 3}\nlayers:\n"
    "- {name: a, type: fc, N: seq, K: 4, C: 5}\n";

class FormatTest : public testing::Test {
 protected:
  std::string Make(const std::string& name, std::string_view bytes) const {
    std::string path = folder_.File(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const TemporaryFolder folder_;
};

TEST(Bindings, AreListsOfNamesAndValues) {
  EXPECT_EQ(*ParseBindings("seq=384"), (Bindings{{"seq", 384}}));
  EXPECT_EQ(*ParseBindings("seq=1, past=1023"), (Bindings{{"seq", 1}, {"past", 1023}}));
  EXPECT_EQ(ToString(ParseBindings("seq").error()),
            "expected NAME=VALUE, found 'seq'; for example seq=384,past=0");
  EXPECT_EQ(ToString(ParseBindings("seq=").error()), "value of 'seq': '' is not an integer");
  EXPECT_EQ(ToString(ParseBindings("seq=1.5").error()), "value of 'seq': '1.5' is not an integer");
  EXPECT_EQ(ToString(ParseBindings("a=1,a=2").error()), "'a' has two values");
}

TEST_F(FormatTest, ZooNamesTakeBindings) {
  EXPECT_EQ(TotalMacs(*LoadNetwork("vgg16")), 15'470'264'320);
  const Result<Network> bert = LoadNetwork("bert-base:seq=384");
  ASSERT_TRUE(bert) << bert.error();
  EXPECT_EQ(bert->layers[0].layer.n, 384);
  EXPECT_EQ(LoadNetwork("gpt2:seq=1,past=1023", {{"batch", 2}})->batch, 2);
  EXPECT_EQ(ToString(LoadNetwork("bert-base:seq=1", {{"seq", 2}}).error()),
            "'seq' is bound to 2 and to 1");
}

TEST_F(FormatTest, FilesAreReadByExtensionOrContents) {
  for (const char* name : {"t.yaml", "t.YML", "t.json", "t.unknown", "a:b.yaml", "noextension"}) {
    const Result<Network> network = LoadNetwork(Make(name, kNative));
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(network->name, "t");
  }
  EXPECT_EQ(LoadNetwork(Make("t.yaml", kNative) + ":seq=7")->layers[0].layer.n, 7);
}

TEST_F(FormatTest, SaysWhatCannotBeFound) {
  EXPECT_EQ(ToString(LoadNetwork("resnet81").error()),
            "'resnet81' is neither a file nor a zoo network; did you mean 'resnet18'?");
  EXPECT_EQ(ToString(LoadNetwork("bert-bas:seq=3").error()),
            "'bert-bas' is neither a file nor a zoo network; did you mean 'bert-base'?");
  EXPECT_EQ(ToString(LoadNetwork("net.yaml").error()), "net.yaml: no such file");
  EXPECT_EQ(ToString(LoadNetwork("no/such/thing").error()), "no/such/thing: no such file");
  EXPECT_EQ(ToString(LoadNetwork(folder_.path()).error()),
            folder_.path() + ": is a directory, not a file");
  const std::string path = Make("t.xyz", "garbage");
  EXPECT_NE(ToString(LoadNetwork(path).error())
                .find("cannot tell the network's format from the file's extension or contents; "
                      "name it with one of .yaml"),
            std::string::npos);
}

TEST_F(FormatTest, FormatsAreFoundByName) {
  for (const NetworkFormat* format : NetworkFormats()) {
    EXPECT_EQ(*FindNetworkFormat(format->name), format);
  }
  EXPECT_EQ(ToString(FindNetworkFormat("yml").error()),
            "unknown format 'yml'; did you mean 'yaml'?");
}

}  // namespace
}  // namespace tessera
