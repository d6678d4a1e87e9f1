// Presets and the ACCELERATOR argument, and the contract of every accelerator format.
#include "tessera/accelerator.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

TEST(LoadAccelerator, ReadsEveryPreset) {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    SCOPED_TRACE(preset.name);
    names.push_back(preset.name);
    const Result<Accelerator> accelerator = LoadAccelerator(std::string(preset.name));
    ASSERT_TRUE(accelerator) << accelerator.error();
    EXPECT_EQ(accelerator->name, preset.name);
    EXPECT_FALSE(accelerator->source.empty());
    EXPECT_TRUE(accelerator->notes.empty());
    EXPECT_TRUE(Validate(*accelerator));
    if (!accelerator->hierarchy) continue;
    // The outermost level holds everything: a mapping has to start somewhere.
    const Hierarchy& hierarchy = *accelerator->hierarchy;
    EXPECT_EQ(hierarchy.levels.back().entries, std::nullopt);
    if (!hierarchy.keeps.empty()) {
      EXPECT_EQ(hierarchy.keeps.back().size(), kTensorNames.size());
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"eyeriss-168", "eyeriss-256", "gamma-168", "maestro-256",
                                           "nvdla", "shidiannao", "simba", "simple3", "tpu-128"}));
}

TEST(LoadAccelerator, NamesTheNearestPreset) {
  EXPECT_EQ(ToString(LoadAccelerator("eyeris-256").error()),
            "'eyeris-256' is neither a file nor an accelerator preset; did you mean "
            "'eyeriss-256'?");
  EXPECT_EQ(ToString(LoadAccelerator("missing.yaml").error()), "missing.yaml: no such file");
  EXPECT_EQ(ToString(LoadAccelerator("./eyeriss-256").error()), "./eyeriss-256: no such file");
}

TEST(LoadAccelerator, ReadsFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.File("mine.yaml");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "format: tessera-accelerator-1\nname: mine\n"
                                  "pe_array: {num_pes: 4}\n"));
  const Result<Accelerator> accelerator = LoadAccelerator(path);
  ASSERT_TRUE(accelerator) << accelerator.error();
  EXPECT_EQ(accelerator->pe_array->num_pes, 4);
}

TEST(ParseAccelerator, SaysWhatIsWrongWithOtherFiles) {
  const auto error = [](std::string_view bytes) {
    return ToString(ParseAccelerator(bytes, "a.yaml").error());
  };
  EXPECT_EQ(error("name: x\n"),
            "a.yaml: this is no accelerator in a known format; start it with 'format: "
            "tessera-accelerator-1' (docs/accelerators.md)");
  EXPECT_EQ(error(""), "a.yaml: the file is empty");
  EXPECT_EQ(error("\xff\xfe\x01"),
            "a.yaml:1: the file is UTF-16, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8");
}

TEST(AcceleratorFormats, EveryFormatKeepsItsContract) {
  std::vector<std::string_view> names;
  for (const AcceleratorFormat* format : AcceleratorFormats()) {
    SCOPED_TRACE(format->name);
    EXPECT_EQ(std::count(names.begin(), names.end(), format->name), 0);
    names.push_back(format->name);
    EXPECT_FALSE(format->summary.empty());
    EXPECT_FALSE(format->extensions.empty());
    ASSERT_NE(format->read, nullptr);
    ASSERT_NE(format->recognises, nullptr);
    // No input crashes a reader, and every error says where.
    for (const std::string& bad :
         {std::string(), std::string("\0\1", 2), std::string("{"), std::string("- - -"),
          std::string(100, '['), std::string("a: &a [*a]"), std::string("null"),
          std::string("\xef\xbb\xbf")}) {
      const Result<Accelerator> read = format->read(bad, "bad.file");
      ASSERT_FALSE(read) << bad;
      EXPECT_EQ(read.error().where.file, "bad.file");
      EXPECT_NE(read.error().kind, ErrorKind::kInternal);
    }
    if (format->write == nullptr) continue;
    for (const EmbeddedFile& preset : AcceleratorPresets()) {
      const Result<Accelerator> accelerator = LoadAccelerator(std::string(preset.name));
      ASSERT_TRUE(accelerator);
      const std::string text = format->write(*accelerator);
      EXPECT_TRUE(format->recognises(text));
      const Result<Accelerator> again = format->read(text, "again");
      ASSERT_TRUE(again) << again.error() << "\n" << text;
      EXPECT_EQ(*again, *accelerator) << text;
    }
  }
}

}  // namespace
}  // namespace tessera
