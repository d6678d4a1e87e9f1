// All or nothing, also when a name is taken or a run is in the folder.
#include "tessera/base/file_set.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

int64_t FilesIn(const std::string& folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

TEST(FileSet, AppearsAsAWhole) {
  const TemporaryFolder folder;
  Result<FileSet> set = FileSet::Open(folder.File("out"));
  ASSERT_TRUE(set);
  ASSERT_TRUE(set->Add("a", "1"));
  ASSERT_TRUE(set->Add("b", "2"));
  EXPECT_FALSE(std::filesystem::exists(folder.File("out/a")));
  ASSERT_TRUE(set->Commit());
  EXPECT_EQ(*ReadFile(folder.File("out/a")), "1");
  EXPECT_EQ(*ReadFile(folder.File("out/b")), "2");
  EXPECT_EQ(FilesIn(folder.File("out")), 2);
  EXPECT_EQ(FilesIn(folder.File("")), 1);
}

TEST(FileSet, AFolderIsThereWithAllOfItsFilesOrNotAtAll) {
  const TemporaryFolder folder;
  Result<FileSet> set = FileSet::Open(folder.File("new/out/"));
  ASSERT_TRUE(set);
  ASSERT_TRUE(set->Add("a", "1"));
  EXPECT_FALSE(std::filesystem::exists(folder.File("new/out")));
  ASSERT_TRUE(set->Commit());
  EXPECT_EQ(*ReadFile(folder.File("new/out/a")), "1");
}

TEST(FileSet, AFolderThatAnotherHasMadeInTheMeantimeIsLeftAlone) {
  const TemporaryFolder folder;
  Result<FileSet> set = FileSet::Open(folder.File("out"));
  ASSERT_TRUE(set);
  ASSERT_TRUE(set->Add("a", "1"));
  ASSERT_TRUE(MakeFolder(folder.File("out/b")));
  EXPECT_FALSE(set->Commit());
  EXPECT_FALSE(std::filesystem::exists(folder.File("out/a")));
}

TEST(FileSet, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    Result<FileSet> set = FileSet::Open(folder.File("out"));
    ASSERT_TRUE(set);
    ASSERT_TRUE(set->Add("a", "1"));
    EXPECT_FALSE(set->Add("no/such/folder", "2"));
  }
  EXPECT_EQ(FilesIn(folder.File("")), 0);
}

TEST(FileSet, TakesBackWhatIsNewIfANameIsTaken) {
  const TemporaryFolder folder;
  ASSERT_TRUE(MakeFolder(folder.File("out/b/c")));
  Result<FileSet> set = FileSet::Open(folder.File("out"));
  ASSERT_TRUE(set);
  ASSERT_TRUE(set->Add("a", "1"));
  ASSERT_TRUE(set->Add("b", "2"));  // a folder that is not empty has this name
  EXPECT_FALSE(set->Commit());
  EXPECT_FALSE(std::filesystem::exists(folder.File("out/a")));
}

TEST(FileSet, KeepsOutOfTheFolderOfARun) {
  const TemporaryFolder folder;
  ASSERT_TRUE(MakeFolder(folder.File("run")));
  const Result<FolderLock> lock = FolderLock::Take(folder.File("run"));
  ASSERT_TRUE(lock);
  EXPECT_FALSE(FileSet::Open(folder.File("run")));
}

}  // namespace
}  // namespace tessera
