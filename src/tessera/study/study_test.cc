// Studies in folders: planned, computed, continued, merged and asked.
#include "tessera/study/study.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/runs.h"
#include "tessera/study/store.h"
#include "tessera/study/unit_record.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNetwork =
    "format: tessera-network-1\n"
    "name: two\n"
    "layers:\n"
    "  - {name: a, type: conv, K: 8, C: 4, Y: 6, X: 6, R: 3, S: 3}\n"
    "  - {name: b, type: fc, N: 1, K: 16, C: 8}\n";

class StudyTest : public testing::Test {
 protected:
  void SetUp() override { Write("net.yaml", kNetwork); }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  std::string Bytes(const std::string& name) const {
    const Result<std::string> bytes = ReadFile(Path(name));
    EXPECT_TRUE(bytes) << name;
    return bytes ? *bytes : "";
  }
  // Two layers, two methods, two seeds.
  void WriteStudy(std::string_view more = "") const {
    Write("s.yaml",
          std::string("format: tessera-study-1\nnetworks: [net.yaml]\nlayers: each\n"
                      "accelerators: [eyeriss-256]\nmethods: [random, ga]\nseeds: [1, 2]\n"
                      "budget: {samples: 60}\n") +
              std::string(more));
  }
  Result<RunDirectory> Create(const std::string& out, StudyPart part = {}) const {
    Result<RunDirectory> directory = CreateStudyRun(Path(out), Path("s.yaml"), part, {});
    if (directory) {
      EXPECT_TRUE(directory->Begin());
    }
    return directory;
  }
  std::unique_ptr<StudyRunResult> Finished(RunDirectory& directory, int threads = 1) const {
    Result<std::unique_ptr<RunResult>> result = RunStudy(directory, {.threads = threads});
    EXPECT_TRUE(result) << result.error();
    if (!result) return nullptr;
    return std::unique_ptr<StudyRunResult>(dynamic_cast<StudyRunResult*>(result->release()));
  }
  std::string ErrorOf(const std::string& out) const {
    const Result<RunDirectory> directory = Create(out);
    return directory ? "no error" : ToString(directory.error());
  }

  TemporaryFolder folder_;
};

TEST_F(StudyTest, UnitsAreTheProductOfTheAxesInOrder) {
  WriteStudy();
  const Result<RunDirectory> directory = Create("out");
  ASSERT_TRUE(directory) << directory.error();
  const Result<Study> study = Study::Load(*directory);
  ASSERT_TRUE(study) << study.error();
  ASSERT_EQ(study->units().size(), 8U);
  EXPECT_EQ(study->units()[0].Name(), "net.yaml a, eyeriss-256, latency, random, seed 1");
  EXPECT_EQ(study->units()[1].seed, 2);
  EXPECT_EQ(study->units()[2].method, "ga");
  EXPECT_EQ(study->units()[7].Name(), "net.yaml b, eyeriss-256, latency, ga, seed 2");
  EXPECT_FALSE(study->Find(9));
  EXPECT_FALSE(study->Find(0));
}

TEST_F(StudyTest, ResultsDoNotDependOnThreadsOrOrder) {
  WriteStudy();
  Result<RunDirectory> one = Create("one");
  ASSERT_TRUE(one) << one.error();
  const auto whole = Finished(*one, 1);
  ASSERT_NE(whole, nullptr);
  EXPECT_TRUE(whole->complete());
  Result<RunDirectory> two = Create("two");
  ASSERT_TRUE(two);
  const auto threaded = Finished(*two, 3);
  EXPECT_EQ(whole->records, threaded->records);
  EXPECT_EQ(Bytes("one/journal/units.jsonl"), Bytes("two/journal/units.jsonl"));
  EXPECT_EQ(*StudyStoreBytes(*whole), *StudyStoreBytes(*threaded));
  // Backwards, from elsewhere, with what is known already in between.
  Result<RunDirectory> third = Create("third");
  ASSERT_TRUE(third);
  int64_t next = 16;
  const auto backwards = [&]() -> Result<std::optional<std::string>> {
    if (--next < 0) return std::optional<std::string>();
    Result<std::string> record = ComputeStudyUnit(*third, next / 2 + 1, {.threads = 1});
    if (!record) return record.error();
    return std::optional(*std::move(record));
  };
  const Result<std::unique_ptr<RunResult>> added = AddStudyRecords(*third, backwards, {});
  ASSERT_TRUE(added) << added.error();
  EXPECT_EQ(dynamic_cast<const StudyRunResult&>(**added).records, whole->records);
  EXPECT_EQ(Bytes("one/journal/units.jsonl"), Bytes("third/journal/units.jsonl"));
}

TEST_F(StudyTest, PartsCollectToTheWhole) {
  WriteStudy();
  Result<RunDirectory> one = Create("one");
  ASSERT_TRUE(one) << one.error();
  const auto whole = Finished(*one);
  for (int64_t part = 1; part <= 3; ++part) {
    Result<RunDirectory> directory = Create("part" + std::to_string(part), {part, 3});
    ASSERT_TRUE(directory) << directory.error();
    const auto result = Finished(*directory);
    EXPECT_EQ(result->units.size(), part < 3 ? 3U : 2U);
  }
  const Result<std::unique_ptr<StudyRunResult>> merged =
      CollectStudies({Path("part3"), Path("part1"), Path("part2"), Path("part1")});
  ASSERT_TRUE(merged) << merged.error();
  EXPECT_EQ((*merged)->records, whole->records);
  const Result<RunDirectory> some =
      CollectStudiesInto(Path("all"), {Path("part2"), Path("part3")}, {});
  ASSERT_TRUE(some) << some.error();
  EXPECT_EQ((*LoadStudyRun(*some))->done(), 5);
}

TEST_F(StudyTest, StartedAgainItGoesOn) {
  WriteStudy();
  {
    Result<RunDirectory> directory = Create("out");
    ASSERT_TRUE(directory);
    // Stops after three units.
    int64_t left = 3;
    const auto few = [&]() -> Result<std::optional<std::string>> {
      if (left-- == 0) return std::optional<std::string>();
      Result<std::string> record = ComputeStudyUnit(*directory, left + 1, {.threads = 1});
      if (!record) return record.error();
      return std::optional(*std::move(record));
    };
    const Result<std::unique_ptr<RunResult>> added = AddStudyRecords(*directory, few, {});
    ASSERT_TRUE(added) << added.error();
    EXPECT_FALSE(dynamic_cast<const StudyRunResult&>(**added).complete());
  }
  // A line that was being written when the program was killed, and a damaged store.
  std::ofstream(Path("out/journal/units.jsonl"), std::ios::app) << "{\"unit\":4,";
  Write("out/study.sqlite", "nothing");
  Result<RunDirectory> again = Create("out");
  ASSERT_TRUE(again) << again.error();
  const auto result = Finished(*again);
  EXPECT_TRUE(result->complete());
  Result<RunDirectory> one = Create("one");
  Finished(*one);
  EXPECT_EQ(Bytes("one/journal/units.jsonl"), Bytes("out/journal/units.jsonl"));
}

TEST_F(StudyTest, AnotherStudyOrPartInTheFolderIsAnError) {
  WriteStudy();
  ASSERT_TRUE(Create("out"));
  EXPECT_NE(ToString(Create("out", {1, 2}).error()).find("holds part 1/1"), std::string::npos);
  WriteStudy("objectives: [edp]\n");
  EXPECT_NE(ErrorOf("out").find("holds another study"), std::string::npos);
}

TEST_F(StudyTest, RecordsOfOthersAreRefused) {
  WriteStudy();
  Result<RunDirectory> directory = Create("out");
  ASSERT_TRUE(directory);
  const Result<std::string> good = ComputeStudyUnit(*directory, 1, {.threads = 1});
  ASSERT_TRUE(good) << good.error();
  const auto add = [&](std::string record) {
    bool given = false;
    const auto next = [&]() -> Result<std::optional<std::string>> {
      if (std::exchange(given, true)) return std::optional<std::string>();
      return std::optional(record);
    };
    const Result<std::unique_ptr<RunResult>> added = AddStudyRecords(*directory, next, {});
    return added ? "no error" : ToString(added.error());
  };
  EXPECT_NE(add("").find("is not the record of a unit"), std::string::npos);
  EXPECT_NE(add("{").find("is not the record of a unit"), std::string::npos);
  EXPECT_NE(add("[1]").find("is not the record of a unit"), std::string::npos);
  Json other = Json::parse(*good);
  other["id"] = "0123456789abcdef";
  EXPECT_NE(add(other.dump()).find("is not of study 's'"), std::string::npos);
  other = Json::parse(*good);
  other["cycles"] = "many";
  EXPECT_NE(add(other.dump()).find("is not the record of a unit"), std::string::npos);
  other = Json::parse(*good);
  other["layers"][0].erase("mapping");
  EXPECT_NE(add(other.dump()).find("is not the record of a unit"), std::string::npos);
  other = Json::parse(*good);
  other["state"] = "excellent";
  EXPECT_NE(add(other.dump()).find("is not the record of a unit"), std::string::npos);
  EXPECT_EQ(add(*good), "no error");
  EXPECT_EQ(add(*good), "no error");
  other = Json::parse(*good);
  other["cycles"] = 1;
  EXPECT_NE(add(other.dump()).find("has two different records"), std::string::npos);
}

TEST_F(StudyTest, TheStoreAnswersWhateverItsState) {
  WriteStudy();
  Result<RunDirectory> directory = Create("out");
  const auto result = Finished(*directory);
  const std::string count = "SELECT count(*), sum(state = 'done') FROM units";
  const auto answer = [&] {
    const Result<StudyRows> rows = QueryStudy(Path("out"), count);
    EXPECT_TRUE(rows) << rows.error();
    return rows ? rows->rows.at(0) : std::vector<StudyValue>();
  };
  const std::vector<StudyValue> all = {int64_t{8}, int64_t{8}};
  EXPECT_EQ(answer(), all);
  std::string bytes = Bytes("out/study.sqlite");
  fs::remove(Path("out/study.sqlite"));
  EXPECT_EQ(answer(), all);
  Write("out/study.sqlite", "");
  EXPECT_EQ(answer(), all);
  Write("out/study.sqlite", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(answer(), all);
  bytes[0] = 'x';
  Write("out/study.sqlite", bytes);
  EXPECT_EQ(answer(), all);
  const Result<StudyRows> layers = QueryStudy(
      Path("out"), "SELECT u.unit, l.name, l.cycles FROM units u JOIN layers l USING(unit)");
  ASSERT_TRUE(layers) << layers.error();
  EXPECT_EQ(layers->rows.size(), 8U);
  EXPECT_EQ(layers->columns, (std::vector<std::string>{"unit", "name", "cycles"}));
}

TEST_F(StudyTest, FoldersMayBeReachedThroughLinks) {
  WriteStudy();
  fs::create_directory(Path("real"));
  fs::create_directory_symlink(Path("real"), Path("link"));
  Result<RunDirectory> directory = Create("link/out");
  ASSERT_TRUE(directory) << directory.error();
  EXPECT_TRUE(Finished(*directory)->complete());
  EXPECT_TRUE(QueryStudy(Path("link/out"), "SELECT count(*) FROM units"));
  // A store that is a link is not followed; the folder is then no run of ours.
  fs::rename(Path("real/out/study.sqlite"), Path("real/elsewhere"));
  fs::create_symlink(Path("real/elsewhere"), Path("real/out/study.sqlite"));
  EXPECT_FALSE(QueryStudy(Path("link/out"), "SELECT count(*) FROM units"));
}

TEST_F(StudyTest, QueriesOnlyRead) {
  WriteStudy();
  Result<RunDirectory> directory = Create("out");
  Finished(*directory);
  const auto error_of = [&](const std::string& sql) {
    const Result<StudyRows> rows = QueryStudy(Path("out"), sql);
    return rows ? "no error" : ToString(rows.error());
  };
  for (const std::string sql : {"DELETE FROM units", "UPDATE units SET cycles = 1",
                                "DROP TABLE units", "CREATE TABLE x(y)"}) {
    EXPECT_NE(error_of(sql).find("would change the store"), std::string::npos) << sql;
  }
  EXPECT_NE(error_of("SELECT 1; SELECT 2").find("only one statement"), std::string::npos);
  EXPECT_NE(error_of("").find("no statement"), std::string::npos);
  EXPECT_NE(error_of("SELEC 1").find("syntax error"), std::string::npos);
  EXPECT_NE(error_of("SELECT absent FROM units").find("no such column"), std::string::npos);
  error_of("ATTACH DATABASE '" + Path("new.sqlite") + "' AS other");
  EXPECT_FALSE(fs::exists(Path("new.sqlite")));
}

TEST_F(StudyTest, UnitsThatCannotBeMappedAreRecordedAndTriedAgainOnRequest) {
  // No level of this machine holds a tile of anything.
  WriteStudy();
  Write("s.yaml",
        "format: tessera-study-1\nbudget: {samples: 20}\nunits:\n"
        "  - {network: net.yaml, layer: b, accelerator: eyeriss-256, method: random}\n"
        "  - {network: net.yaml, layer: b, accelerator: tiny.yaml, method: random}\n");
  Write("tiny.yaml",
        "format: tessera-accelerator-1\nname: tiny\nhierarchy:\n  levels:\n"
        "    - {name: DRAM, words_per_cycle: 1, energy_pj: 1}\n");
  const Result<RunDirectory> bad = Create("out");
  // Whatever is wrong with the machine's file is told at once, with its place.
  ASSERT_FALSE(bad);
  EXPECT_NE(ToString(bad.error()).find("tiny.yaml:"), std::string::npos) << bad.error();
}

TEST_F(StudyTest, BadUnitsAreToldBeforeAnyWork) {
  const std::string head = "format: tessera-study-1\nbudget: {samples: 20}\n";
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"networks: [alexnt]\naccelerators: [nvdla]\n", "s.yaml:3:12: 'alexnt' is neither"},
      {"networks: [none.yaml]\naccelerators: [nvdla]\n", "none.yaml"},
      {"networks: [net.yaml]\naccelerators: [nvdl]\n", "s.yaml:4:16:"},
      {"networks: [net.yaml]\nlayers: [c]\naccelerators: [nvdla]\n", "s.yaml:4:10:"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nobjectives: [latnecy]\n",
       "s.yaml:5:14: unknown objective 'latnecy'; did you mean 'latency'?"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nmethods: [gaa]\n", "s.yaml:5:11:"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nmethods: ['ga:people=3']\n", "s.yaml:5:11:"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nsettings: {model: loopnst}\n", "s.yaml:5:19:"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nsettings: {factors: all}\n", "s.yaml:5:21:"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nsettings: {constraints: c.yaml}\n", "c.yaml"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nseeds: [1, 1]\n",
       "unit 2 (net.yaml, nvdla, latency, auto, seed 1) is the same as unit 1"},
      {"networks: [net.yaml]\naccelerators: [nvdla]\nmethods: [ga]\n"
       "units: [{network: net.yaml, accelerator: nvdla, method: ga}]\n",
       "s.yaml:6:9: unit 2"},
  };
  for (const auto& [text, expected] : cases) {
    Write("s.yaml", head + std::string(text));
    EXPECT_NE(ErrorOf("out").find(expected), std::string::npos) << text << ErrorOf("out");
    EXPECT_FALSE(fs::exists(Path("out/run.json")));
  }
}

TEST(StudyParts, AreWrittenAsFractions) {
  const Result<StudyPart> part = ParseStudyPart("2/3");
  ASSERT_TRUE(part);
  EXPECT_EQ(*part, (StudyPart{2, 3}));
  EXPECT_TRUE(part->Has(5));
  EXPECT_FALSE(part->Has(6));
  for (const std::string_view bad : {"", "2", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/3", "1/"}) {
    EXPECT_FALSE(ParseStudyPart(bad)) << bad;
  }
}

}  // namespace
}  // namespace tessera
