// Runs of a folder, whole, going on and damaged.
#include "tessera/serve/catalogue.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/temporary_folder.h"
#include "tessera/run.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSettings =
    R"({"config":{"env":"cooperative_navigation","env_settings":{},"algorithm":"maddpg",
    "preset":"","settings":{},"envs":1,"seed":1,"report_every":10},"episodes":50,
    "checkpoint_every":5000})";

Result<RunDirectory> NewRun(const std::string& path) {
  return RunDirectory::Create(path, {.kind = "train", .settings = kSettings}, {});
}

TEST(CatalogueTest, FindsRunsBelowFoldersAndNotThroughLinks) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() + "/deep/er");
  ASSERT_TRUE(NewRun(folder.path() + "/a"));
  ASSERT_TRUE(NewRun(folder.path() + "/deep/er/b"));
  fs::create_directory_symlink("/", folder.path() + "/root");
  fs::create_directory_symlink(folder.path() + "/a", folder.path() + "/again");
  fs::create_directory(folder.path() + "/.hidden");
  Catalogue catalogue(folder.path());
  catalogue.Scan();
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue.entries()) names.push_back(entry.name);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "deep/er/b"}));
  EXPECT_EQ(catalogue.entries().front().state, RunState::kOpen);
}

TEST(CatalogueTest, OneThatIsWrittenToIsRunningAndItsLockStaysFree) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  ASSERT_TRUE(NewRun(path));
  Catalogue catalogue(folder.path());
  {
    const Result<RunDirectory> writer = RunDirectory::Open(path);
    ASSERT_TRUE(writer) << ToString(writer.error());
    catalogue.Scan();
    EXPECT_TRUE(catalogue.entries().front().running());
  }
  catalogue.Scan();
  EXPECT_FALSE(catalogue.entries().front().running());
  EXPECT_TRUE(RunDirectory::Open(path));
}

TEST(CatalogueTest, FollowsJournalsAndLeavesOutATornEnd) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  ASSERT_TRUE(NewRun(path));
  fs::create_directories(path + "/journal");
  std::ofstream journal(path + "/journal/progress.jsonl");
  journal << R"({"episodes":10,"team_return":-5.5})" << '\n' << R"({"episodes":20,"team_)";
  journal.flush();
  Catalogue catalogue(folder.path());
  catalogue.Scan();
  const std::string id = catalogue.entries().front().id;
  const auto part = [&] { return catalogue.TailOf(id)->ToJson()["parts"][0]; };
  EXPECT_EQ(part()["samples"], 10);
  EXPECT_EQ(part()["budget"], 50);
  journal << R"(return":-4.5})"
          << "\nnonsense\n";
  journal.flush();
  catalogue.Scan();
  EXPECT_EQ(part()["best"], -4.5);
  EXPECT_EQ(part()["curve"].size(), 2U);
}

TEST(CatalogueTest, NumbersThatNobodyMeansAreNotFollowed) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  ASSERT_TRUE(NewRun(path));
  fs::create_directories(path + "/journal");
  std::ofstream(path + "/journal/progress.jsonl")
      << R"({"episodes":10,"team_return":-5.5})" << '\n'
      << R"({"episodes":1e300,"team_return":1})" << '\n'
      << R"({"episodes":-1e300,"team_return":1})" << '\n';
  Catalogue catalogue(folder.path());
  catalogue.Scan();
  // Lines that say nothing count as one each.
  EXPECT_EQ(catalogue.TailOf(catalogue.entries().front().id)->lines(), 12);
}

TEST(CatalogueTest, DamagedRunsSayWhatIsWrong) {
  const TemporaryFolder folder;
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"empty", ""},
           {"garbage", "\x01\x02{["},
           {"array", "[]"},
           {"deep", std::string(100'000, '[')},
           {"kind", R"({"format":"tessera-run-2"})"}}) {
    fs::create_directory(folder.path() + "/" + name);
    std::ofstream(folder.path() + "/" + name + "/run.json") << text;
  }
  fs::create_directories(folder.path() + "/folder/run.json");
  fs::create_directory(folder.path() + "/link");
  fs::create_symlink("/etc/passwd", folder.path() + "/link/run.json");
  Catalogue catalogue(folder.path());
  catalogue.Scan();
  catalogue.Scan();
  ASSERT_EQ(catalogue.entries().size(), 7U);
  for (const CatalogueEntry& entry : catalogue.entries()) {
    EXPECT_EQ(entry.state, RunState::kDamaged) << entry.name;
    EXPECT_FALSE(entry.error.empty()) << entry.name;
    EXPECT_EQ(entry.error.find("root:"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera
