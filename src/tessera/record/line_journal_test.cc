// Chained journals: a torn end is left out wherever it is torn, every other change is noticed.
#include "tessera/record/line_journal.h"

#include <zlib.h>

#include <fstream>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

const std::vector<std::string> kObjects = {"{\"a\":1}", "{\"a\":2,\"b\":\"x\"}", "{\"a\":3}"};

class LineJournalTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto journal = LineJournal::Open(file_, {});
    ASSERT_TRUE(journal) << journal.error();
    ASSERT_TRUE((*journal)->Append(std::span(kObjects).first(2)));
    ASSERT_TRUE((*journal)->Append(std::span(kObjects).last(1)));
    text_ = *ReadFile(file_.path);
  }
  void Write(std::string_view text) { std::ofstream(file_.path, std::ios::binary) << text; }

  TemporaryFolder folder_;
  const JournalFile file_ = {.path = folder_.File("journal.jsonl"), .start = "run/001"};
  std::string text_;
};

TEST_F(LineJournalTest, GivesBackWhatWasAppended) {
  const auto read = ReadJournalText(file_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->lines, kObjects);
  EXPECT_EQ(read->bytes(), std::ssize(text_));
  EXPECT_EQ(read->torn_bytes, 0);
}

TEST_F(LineJournalTest, LeavesOutATornEndWhereverItIsTorn) {
  for (size_t cut = 0; cut <= text_.size(); ++cut) {
    for (const std::string& tail : {std::string(), std::string(100, '\0')}) {
      Write(text_.substr(0, cut) + tail);
      const auto read = ReadJournalText(file_);
      ASSERT_TRUE(read) << cut << ": " << read.error();
      EXPECT_EQ(std::ssize(read->lines),
                std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(cut), '\n'));
      EXPECT_EQ(read->bytes() + read->torn_bytes, static_cast<int64_t>(cut + tail.size()));
    }
  }
}

TEST_F(LineJournalTest, GoesOnAfterATornEndAsIfNothingHadHappened) {
  Write(text_.substr(0, text_.size() - 5));
  const auto read = ReadJournalText(file_);
  {
    const auto journal = LineJournal::Open(file_, *read);
    ASSERT_TRUE((*journal)->Append(std::span(kObjects).last(1)));
  }
  EXPECT_EQ(*ReadFile(file_.path), text_);
}

TEST_F(LineJournalTest, NoticesEveryChangedBit) {
  for (size_t i = 0; i < text_.size(); ++i) {
    std::string changed = text_;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    Write(changed);
    const auto read = ReadJournalText(file_);
    // The last line end alone: what is left looks torn, and loses a line.
    EXPECT_TRUE(!read || std::ssize(read->lines) < 3) << i;
  }
}

TEST_F(LineJournalTest, NoticesLinesThatAreGoneOrMoved) {
  const size_t first = text_.find('\n') + 1;
  Write(text_.substr(first));
  EXPECT_EQ(ToString(ReadJournalText(file_).error()),
            file_.path + ":1: the line is not what was written: its checksum does not fit");
  Write(text_);
  EXPECT_FALSE(ReadJournalText({.path = file_.path, .start = "another run/001"}));
}

TEST_F(LineJournalTest, AMissingFileIsEmptyAndALinkIsRefused) {
  const JournalFile nothing = {.path = folder_.File("nothing"), .start = "s"};
  EXPECT_TRUE(ReadJournalText(nothing)->lines.empty());
  std::filesystem::create_symlink(folder_.File("elsewhere"), nothing.path);
  EXPECT_FALSE(ReadJournalText(nothing));
  EXPECT_FALSE(LineJournal::Open(nothing, {}));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("elsewhere")));
}

// gzip's bytes unpacked have lines whose sums fit; lines appended to them would be lost with the
// rest.
TEST_F(LineJournalTest, ACompressedJournalIsRefusedAndLeftAlone) {
  const gzFile packed = ::gzopen(file_.path.c_str(), "wb");
  ASSERT_EQ(::gzwrite(packed, text_.data(), static_cast<unsigned>(text_.size())),
            std::ssize(text_));
  ::gzclose(packed);
  EXPECT_EQ(*ReadFile(file_.path), text_);
  const auto read = ReadJournalText(file_);
  ASSERT_FALSE(read);
  EXPECT_EQ(ToString(read.error()),
            file_.path + ": the journal was compressed; unpack it: gzip -d");
}

TEST_F(LineJournalTest, ReportsAFullDisk) {
  const auto journal = LineJournal::Open({.path = "/dev/full", .start = ""}, {});
  if (!journal) GTEST_SKIP() << "no /dev/full";
  const auto appended = (*journal)->Append(kObjects);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().message, "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace tessera
