// Folders of runs: what is written is sealed, what is changed is noticed, what is not ours stays.
#include "tessera/run.h"

#include <sys/stat.h>

#include <fstream>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/record/run_inputs.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  Result<RunDirectory> Make() {
    return RunDirectory::Create(path_,
                                {.kind = "map",
                                 .origin = {.version = "1.2", .command = {"map", "net"}},
                                 .settings = "{\"gap\":0.5}",
                                 .seed = 7},
                                {{"inputs/net.yaml", "layers\n"}});
  }
  void Write(const std::string& name, std::string_view text) {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  std::string Message() {
    const Result<RunDirectory> opened = RunDirectory::ReadOnly(path_);
    return opened ? "fine" : opened.error().message;
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("run");
};

TEST_F(RunDirectoryTest, ComesBackAsItWas) {
  ASSERT_TRUE(Make());
  const Result<RunDirectory> opened = RunDirectory::Open(path_ + "/");
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(opened->header().kind, "map");
  EXPECT_EQ(opened->header().settings, "{\"gap\":0.5}");
  EXPECT_EQ(opened->header().seed, 7);
  EXPECT_EQ(opened->header().origin.command, (std::vector<std::string>{"map", "net"}));
  EXPECT_EQ(opened->header().inputs.size(), 1u);
  EXPECT_FALSE(opened->header().ended());
  EXPECT_EQ(opened->token().size(), 16u);
}

TEST_F(RunDirectoryTest, IsMadeOnce) {
  ASSERT_TRUE(Make());
  const Result<RunDirectory> again = Make();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, path_ + " already holds a run");
}

TEST_F(RunDirectoryTest, NothingIsReadThatCouldBlock) {
  ASSERT_TRUE(Make());
  ASSERT_EQ(::mkfifo((path_ + "/inputs/pipe").c_str(), 0600), 0);
  EXPECT_EQ(Message(), "neither a file nor a folder; the folder of a run holds nothing else");
}

TEST_F(RunDirectoryTest, NothingIsWrittenThroughLinks) {
  Result<RunDirectory> made = Make();
  ASSERT_TRUE(made);
  fs::create_directories(folder_.File("elsewhere/inner"));
  fs::create_directory_symlink(folder_.File("elsewhere"), path_ + "/machines");
  for (const char* name : {"machines/a.yaml", "machines/inner/a.yaml", "machines/b/c/a.yaml"}) {
    const Result<void> written = made->Write(name, "text");
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().message,
              path_ + "/machines is a symbolic link; the folder of a run holds none");
  }
  EXPECT_TRUE(fs::is_empty(folder_.File("elsewhere/inner")));
}

TEST(InputFile, StaysInTheFolder) {
  EXPECT_EQ(*InputFile("run", "inputs/net.yaml"), "run/inputs/net.yaml");
  EXPECT_EQ(*InputFile("run", "inputs/..net..yaml"), "run/inputs/..net..yaml");
  EXPECT_EQ(*InputFile("", "/home/me/net.yaml"), "/home/me/net.yaml");
  for (const char* name : {"", "/etc/passwd", "../net.yaml", "inputs/../../net.yaml", "net.yaml",
                           "inputs/..", "inputs"}) {
    const Result<std::string> file = InputFile("run", name);
    ASSERT_FALSE(file) << name;
    EXPECT_NE(file.error().message.find("none of its inputs"), std::string::npos);
  }
}

TEST_F(RunDirectoryTest, ChangedHeadersAndInputsAreNoticed) {
  ASSERT_TRUE(Make());
  const std::string header = *ReadFile(path_ + "/run.json");
  for (size_t i = 0; i < header.size(); ++i) {
    std::string changed = header;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    Write("run.json", changed);
    // A line end or blank may become another control character, which JSON refuses, too.
    EXPECT_NE(Message(), "fine") << i;
  }
  Write("run.json", header);
  EXPECT_EQ(Message(), "fine");
  Write("inputs/net.yaml", "Layers\n");
  EXPECT_EQ(Message(), "the input is not the one that the run was started with");
}

TEST_F(RunDirectoryTest, ResultsAreSealedUntilTheRunGoesOn) {
  Result<RunDirectory> run = Make();
  ASSERT_TRUE(run->Begin());
  ASSERT_TRUE(run->Write("result.json", "{}"));
  ASSERT_TRUE(run->AddTimes("{\"seconds\":1.5}"));
  Write("journal/001.jsonl", "");
  ASSERT_TRUE(run->End());
  const Result<RunDirectory> look = RunDirectory::ReadOnly(path_);
  ASSERT_TRUE(look) << look.error();
  EXPECT_EQ(look->header().results.size(), 2u);
  EXPECT_TRUE(look->CheckFiles().discrepancies.empty());
  Write("result.json", "[]");
  fs::remove(path_ + "/journal/001.jsonl");
  Write("times.json", "{\"seconds\":2.5}");
  EXPECT_EQ(look->CheckFiles().discrepancies.size(), 3u);
  // One that cannot even be read: a hole as large as a disk.
  fs::resize_file(path_ + "/times.json", int64_t{1} << 32);
  EXPECT_EQ(look->CheckFiles().discrepancies.size(), 3u);
  ASSERT_TRUE(run->Begin());
  EXPECT_FALSE(RunDirectory::ReadOnly(path_)->header().ended());
}

TEST_F(RunDirectoryTest, ClockTimesOfEverySittingStay) {
  const Result<RunDirectory> run = Make();
  ASSERT_TRUE(run->AddTimes("{\"seconds\":1.5}"));
  ASSERT_TRUE(run->AddTimes("{\"seconds\":2.5}"));
  const std::string both = *ReadFile(path_ + "/times.json");
  EXPECT_NE(both.find("1.5"), std::string::npos);
  EXPECT_NE(both.find("2.5"), std::string::npos);
  // What somebody changed is not carried on.
  Write("times.json", "{\"sittings\":[{\"seconds\":9.5}],\"seal\":\"\"}");
  ASSERT_TRUE(run->AddTimes("{\"seconds\":3.5}"));
  EXPECT_EQ(ReadFile(path_ + "/times.json")->find("9.5"), std::string::npos);
}

TEST_F(RunDirectoryTest, OnlyItsOwnTemporaryFilesAreRemoved) {
  std::string own;
  {
    const Result<RunDirectory> run = Make();
    own = UnfinishedName("result.json", run->token());
  }
  Write(own, "half a res");
  Write("notes.unfinished-draft", "a user's file");
  ASSERT_TRUE(RunDirectory::Open(path_));
  EXPECT_FALSE(fs::exists(path_ + "/" + own));
  EXPECT_TRUE(fs::exists(path_ + "/notes.unfinished-draft"));
}

TEST_F(RunDirectoryTest, LinksAreRefused) {
  ASSERT_TRUE(Make());
  fs::create_symlink("/etc/passwd", path_ + "/journal/001.jsonl");
  EXPECT_EQ(Message(), path_ +
                           "/journal/001.jsonl is a symbolic link; the folder of a run holds "
                           "none");
  fs::remove(path_ + "/journal/001.jsonl");
  fs::create_directory_symlink(folder_.path(), path_ + "/mappings");
  EXPECT_NE(Message(), "fine");
}

TEST_F(RunDirectoryTest, LookingNeedsNoWriteAccess) {
  ASSERT_TRUE(Make());
  fs::remove(path_ + "/lock");
  ASSERT_TRUE(RunDirectory::ReadOnly(path_));
  EXPECT_FALSE(fs::exists(path_ + "/lock"));
}

TEST_F(RunDirectoryTest, AFolderThatWasRemovedStaysSo) {
  Result<RunDirectory> run = Make();
  ASSERT_TRUE(run);
  fs::remove_all(path_);
  const Result<void> written = run->Write("mappings/001.json", "{}");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "the folder of the run is not there any more");
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(RunDirectoryTest, TwoWritersAreOneTooMany) {
  const Result<RunDirectory> run = Make();
  EXPECT_EQ(RunDirectory::Open(path_).error().message, path_ + " is in use by another program");
}

TEST_F(RunDirectoryTest, OldFoldersNameTheVersionThatReadsThem) {
  fs::create_directory(path_);
  const std::string old = "made by tessera 0.1 (format tessera-run-1); use that version";
  Write("run.json", "{\"format\": \"tessera-run-1\", \"command\": \"map\"}");
  EXPECT_EQ(Message(), old);
  Write("run.json", "{\"command\": \"cooptimize\", \"seed\": 1, \"flags\": {}}");
  EXPECT_EQ(Message(), old);
  Write("run.json", "{\"format\": \"tessera-run-9\"}");
  EXPECT_EQ(Message(), "a run of format 'tessera-run-9', but this program reads tessera-run-2");
  fs::remove(path_ + "/run.json");
  Write("config.json", "{}");
  Write("progress.jsonl", "{}");
  EXPECT_EQ(Message(), old);
}

}  // namespace
}  // namespace tessera
