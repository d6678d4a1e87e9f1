// Reading refuses what is not a file or not text; writing replaces a file whole or not at all.
#include "tessera/base/file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.File(name); }
  std::string Make(const std::string& name, std::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), {}));
  }

  const TemporaryFolder folder_;
};

TEST_F(FileTest, ReadsBytesAsTheyAre) {
  const std::string bytes("a\0b\r\n\xff", 6);
  EXPECT_EQ(*ReadFile(Make("f", bytes)), bytes);
}

TEST_F(FileTest, NamesWhatCannotBeRead) {
  EXPECT_EQ(ToString(ReadFile(Path("none")).error()), Path("none") + ": no such file");
  EXPECT_EQ(ToString(ReadFile(folder_.path()).error()),
            folder_.path() + ": is a directory, not a file");
  EXPECT_EQ(ReadFile(Path("none")).error().kind, ErrorKind::kIo);
}

TEST_F(FileTest, RefusesFilesOverTheLimit) {
  const std::string path = Make("f", "12345");
  EXPECT_TRUE(ReadFile(path, {.max_bytes = 5}));
  EXPECT_EQ(ReadFile(path, {.max_bytes = 4}).error().message, "larger than the limit of 4 bytes");
}

std::string Gzip(const std::string& path, std::string_view text) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

TEST_F(FileTest, UnpacksGzip) {
  const std::string text(200'000, 'x');
  const std::string path = Gzip(Path("f.gz"), text);
  EXPECT_EQ(*ReadFile(path), text);
  EXPECT_EQ(ReadFile(path, {.max_bytes = 100'000}).error().message,
            "larger than the limit of 100000 bytes");
}

TEST_F(FileTest, UnpacksSeveralMembersOneAfterAnother) {
  Gzip(Path("a.gz"), "one");
  Gzip(Path("b.gz"), "two");
  std::ofstream both(Path("c.gz"), std::ios::binary);
  both << std::ifstream(Path("a.gz")).rdbuf() << std::ifstream(Path("b.gz")).rdbuf();
  both.close();
  EXPECT_EQ(*ReadFile(Path("c.gz")), "onetwo");
}

TEST_F(FileTest, NoticesDamagedGzip) {
  std::string bytes;
  {
    std::ifstream in(Gzip(Path("f.gz"), std::string(1'000, 'x')), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::string path = Make("cut.gz", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(ReadFile(path).error().message, "damaged or truncated gzip data");
}

TEST(ToText, AcceptsByteOrderMarkAndCrLf) {
  EXPECT_EQ(*ToText("\xef\xbb\xbf"
                    "a: 1\r\nb: 2\n",
                    "f"),
            "a: 1\nb: 2\n");
  EXPECT_EQ(*ToText("gr\xc3\xbc\xc3\x9f", "f"), "gr\xc3\xbc\xc3\x9f");
}

TEST(ToText, RefusesWhatIsNotUtf8Text) {
  EXPECT_EQ(ToString(ToText("", "f").error()), "f: the file is empty");
  EXPECT_EQ(ToString(ToText(" \r\n\t\n", "f").error()), "f: the file is empty");
  EXPECT_EQ(ToString(ToText("\xff\xfe"
                            "a",
                            "f")
                         .error()),
            "f:1: the file is UTF-16, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8");
  for (const std::string& bytes :
       {std::string("ok\nb\0d", 6), std::string("ok\n\xc3("), std::string("ok\n\xc3"),
        std::string("ok\n\xff"), std::string("ok\n\x80")}) {
    EXPECT_EQ(ToString(ToText(bytes, "f").error()),
              "f:2: binary data: this is not a text file in UTF-8");
  }
}

TEST_F(FileTest, ReplacesAFileWhole) {
  const std::string path = Make("f", "old");
  ASSERT_TRUE(WriteFileAtomically(path, "new contents"));
  EXPECT_EQ(*ReadFile(path), "new contents");
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FileTest, LeavesNothingBehindOnFailure) {
  EXPECT_FALSE(WriteFileAtomically(Path("no/such/folder"), "x"));
  fs::create_directory(Path("taken"));
  Make("taken/child", "x");
  EXPECT_FALSE(WriteFileAtomically(Path("taken"), "x"));  // a folder cannot be replaced
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(FileTest, AKilledWriterLeavesAKnownNameThatTheNextOneReuses) {
  const std::string path = Path("a.json"), unfinished = UnfinishedName(path, "12ab");
  { std::ofstream(unfinished) << "what a killed program had written so far"; }
  ASSERT_TRUE(WriteFileAtomically(path, "{}", "12ab"));
  EXPECT_EQ(*ReadFile(path), "{}");
  EXPECT_FALSE(std::filesystem::exists(unfinished));
}

TEST_F(FileTest, TheUmaskDecidesWhoMayRead) {
  const mode_t before = ::umask(077);
  const Result<void> written = WriteFileAtomically(Path("private"), "x");
  ::umask(before);
  ASSERT_TRUE(written);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(Path("private")).permissions(),
            perms::owner_read | perms::owner_write);
}

TEST(FileStem, IsTheNameWithoutFolderAndExtension) {
  EXPECT_EQ(FileStem("folder/net.yaml"), "net");
  EXPECT_EQ(FileStem("net.yaml.gz"), "net");
  EXPECT_EQ(FileStem("squeezenet1.0.csv"), "squeezenet1.0");
  EXPECT_EQ(FileStem("/dev/stdin"), "stdin");
}

TEST_F(FileTest, MakesFolders) {
  EXPECT_TRUE(MakeFolder(Path("a/b/c")));
  EXPECT_TRUE(MakeFolder(Path("a/b/c")));
  Make("f", "x");
  EXPECT_FALSE(MakeFolder(Path("f")));
}

}  // namespace
}  // namespace tessera
