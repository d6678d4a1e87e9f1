// A user's program as an evaluator: order of answers, crashes, time-outs and limits are told apart.
#include "tessera/cost/external/external.h"

#include <chrono>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/stop.h"

namespace tessera {
namespace {

using Kind = ExternalAnswer::Kind;

std::vector<std::string> Rows(int count) {
  std::vector<std::string> rows;
  for (int i = 0; i < count; ++i) rows.push_back(fmt::format(R"({{"id":"r{}","x":{}}})", i, i));
  return rows;
}

std::vector<ExternalAnswer> RunCommand(const std::string& command,
                                       const std::vector<std::string>& rows,
                                       ExternalOptions options = {}) {
  options.command = command;
  ThreadPool pool(2);
  const Result<std::vector<ExternalAnswer>> answers = RunExternal(options, rows, pool);
  EXPECT_TRUE(answers) << answers.error();
  return answers ? *answers : std::vector<ExternalAnswer>();
}

// An evaluator in sh: the id is what stands between the first quotes after "id":.
constexpr const char* kGood =
    R"(while read -r row; do id=${row#*:}; id=${id%%,*}; )"
    R"(echo "{\"id\":$id,\"status\":\"ok\",\"cycles\":7,\"energy_pj\":1.5}"; done)";

// The same, but dies on row r5 before it answers.
constexpr const char* kDiesOnR5 =
    R"(while read -r row; do id=${row#*:}; id=${id%%,*}; )"
    R"([ "$id" = '"r5"' ] && kill -SEGV $$; echo "{\"id\":$id,\"status\":\"ok\"}"; done)";

TEST(External, AnswersComeBackInTheOrderOfTheRows) {
  const std::vector<std::string> rows = Rows(20);
  const auto answers = RunCommand(kGood, rows, {.batch_rows = 6});
  ASSERT_EQ(answers.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(answers[i].kind, Kind::kAnswered) << answers[i].message;
    EXPECT_EQ(Json::parse(answers[i].line)["id"], fmt::format("r{}", i));
    const Result<Cost> cost = CostOfAnswer(answers[i].line);
    ASSERT_TRUE(cost) << cost.error();
    EXPECT_EQ(cost->cycles, 7);
    EXPECT_EQ(cost->energy_pj, 1.5);
  }
}

TEST(External, OneCrashIsBlamedOnItsRowAlone) {
  const auto answers = RunCommand(kDiesOnR5, Rows(10));
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].kind, i == 5 ? Kind::kCrash : Kind::kAnswered) << i;
  }
  const Json line = Json::parse(answers[5].line);
  EXPECT_EQ(line["id"], "r5");
  EXPECT_EQ(line["status"], "crash");
  EXPECT_EQ(line["msg"],
            "the program died of signal 11 (Segmentation fault) (memory limit 4096 MiB)");
}

TEST(External, SilenceIsATimeout) {
  const auto answers = RunCommand("sleep 60", Rows(1), {.timeout_seconds = 0.2});
  EXPECT_EQ(answers[0].kind, Kind::kTimeout);
  EXPECT_EQ(Json::parse(answers[0].line)["status"], "timeout");
  EXPECT_EQ(answers[0].message, "no answer within 0.2 s");
}

TEST(External, TheTimeoutStartsAnewWithEveryAnswer) {
  const std::string slow = R"(while read -r row; do id=${row#*:}; id=${id%%,*}; sleep 0.5; )"
                           R"(echo "{\"id\":$id,\"status\":\"ok\"}"; done)";
  for (const ExternalAnswer& answer : RunCommand(slow, Rows(5), {.timeout_seconds = 2})) {
    EXPECT_EQ(answer.kind, Kind::kAnswered) << answer.message;
  }
}

TEST(External, ChildrenLeftBehindDoNotHoldUpTheRun) {
  const auto answers = RunCommand(R"(sleep 60 & echo '{"id":"r0","status":"ok"}')", Rows(1));
  EXPECT_EQ(answers[0].kind, Kind::kAnswered) << answers[0].message;
}

TEST(External, MemoryIsLimited) {
  const std::string hungry =
      R"(x=$(head -c 100000000 /dev/zero | tr '\0' 'x'); echo '{"id":"r0","status":"ok"}')";
  const auto answers = RunCommand(hungry, Rows(1), {.memory_mib = 64});
  EXPECT_NE(answers[0].kind, Kind::kAnswered);
  EXPECT_NE(answers[0].message.find("memory limit 64 MiB"), std::string::npos)
      << answers[0].message;
}

TEST(External, SaysWhatTheProgramSaid) {
  const auto answers =
      RunCommand("echo garbage; echo 'cannot find my licence' >&2; exit 3", Rows(1));
  EXPECT_EQ(answers[0].kind, Kind::kFailed);
  EXPECT_EQ(answers[0].message,
            "the program ended with exit status 3 and no answer (memory limit 4096 MiB); its last "
            "words: 'cannot find my licence'; it wrote 'garbage', which answers no row");
}

TEST(External, AProgramThatDoesNotReadIsNoProblem) {
  std::vector<std::string> rows = Rows(1);
  rows[0].insert(rows[0].size() - 1, R"(,"pad":")" + std::string(1 << 20, 'x') + '"');
  const auto answers = RunCommand(R"(echo '{"id":"r0","status":"ok"}')", rows);
  EXPECT_EQ(answers[0].kind, Kind::kAnswered) << answers[0].message;
}

TEST(External, AProgramThatNeitherReadsNorAnswersIsATimeout) {
  std::vector<std::string> rows = Rows(1);
  rows[0].insert(rows[0].size() - 1, R"(,"pad":")" + std::string(1 << 20, 'x') + '"');
  const auto answers = RunCommand("sleep 60", rows, {.timeout_seconds = 0.2});
  EXPECT_EQ(answers[0].kind, Kind::kTimeout) << answers[0].message;
}

TEST(External, EndlessNonsenseIsATimeout) {
  const auto answers = RunCommand("yes nonsense", Rows(1), {.timeout_seconds = 0.2});
  EXPECT_EQ(answers[0].kind, Kind::kTimeout);
  EXPECT_EQ(answers[0].message,
            "no answer within 0.2 s; it wrote 'nonsense', which answers no row");
}

TEST(External, AnEndlessLineIsCutOff) {
  const auto answers = RunCommand("exec tr '\\0' x < /dev/zero", Rows(1));
  EXPECT_EQ(answers[0].kind, Kind::kFailed);
  EXPECT_EQ(answers[0].message, "the program wrote 64 MiB without ending the line");
}

TEST(External, TooFewAnswersAreMissedRowByRow) {
  const auto answers = RunCommand(R"(cat > /dev/null; echo '{"id":"r1","status":"ok"}')", Rows(3));
  EXPECT_EQ(answers[1].kind, Kind::kAnswered);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(answers[i].kind, Kind::kFailed);
    EXPECT_EQ(Json::parse(answers[i].line)["status"], "error");
    EXPECT_EQ(answers[i].message,
              "the program ended with exit status 0 and no answer (memory limit 4096 MiB); it "
              "wrote '{\"id\":\"r1\",\"status\":\"ok\"}', which answers no row");
  }
}

TEST(External, OfTooManyAnswersTheFirstCounts) {
  const auto answers = RunCommand(R"(for c in 1 2; do echo "{\"id\":\"r0\",\"status\":\"ok\",)"
                                  R"(\"cycles\":$c}"; done; echo '{"id":"r1","status":"ok"}')",
                                  Rows(2));
  EXPECT_EQ(Json::parse(answers[0].line)["cycles"], 1);
  EXPECT_EQ(answers[1].kind, Kind::kAnswered);
}

TEST(External, ACommandThatIsNotThere) {
  const auto answers = RunCommand("./no_such_program", Rows(1), {.memory_mib = 0});
  EXPECT_EQ(answers[0].kind, Kind::kFailed);
  EXPECT_NE(answers[0].message.find("exit status 127"), std::string::npos) << answers[0].message;
}

TEST(External, RowsNeedIds) {
  ThreadPool pool(1);
  const std::vector<std::string> without = {R"({"x":1})"}, twice = {R"({"id":1})", R"({"id":1})"};
  EXPECT_EQ(RunExternal({}, without, pool).error().message, "row 1: no 'id'");
  EXPECT_EQ(RunExternal({}, twice, pool).error().message, "row 2: id 1 is given twice");
}

TEST(External, AnswersThatAreNotCosts) {
  const struct {
    std::string_view line, message;
  } cases[] = {
      {"[]", "the answer is not a JSON object with 'status'"},
      {R"({"status":"ok"})", "the answer has no 'cycles'"},
      {R"({"status":"ok","cycles":"nan","energy_pj":1})",
       "'cycles' of the answer is \"nan\", not a finite number"},
      {R"({"status":"ok","cycles":1e30,"energy_pj":1})",
       "'cycles' of the answer is 1e+30, but must be whole and in 1..4.611686018427388e+18"},
      {R"({"status":"reject","msg":"L1 too small"})", "reject: L1 too small"},
  };
  for (const auto& [line, message] : cases) {
    const Result<Cost> cost = CostOfAnswer(line);
    ASSERT_FALSE(cost) << line;
    EXPECT_EQ(cost.error().message, message);
  }
}

TEST(External, NumbersThatCannotBeTrueAreNoCosts) {
  for (const char* numbers :
       {R"("cycles":-5,"energy_pj":1)", R"("cycles":0,"energy_pj":1)",
        R"("cycles":0.5,"energy_pj":1)", R"("cycles":1e19,"energy_pj":1)",
        R"("cycles":5,"energy_pj":-1)", R"("cycles":5,"energy_pj":1,"utilization":6348)",
        R"("cycles":5,"energy_pj":1,"area_um2":-1)", R"("cycles":5,"energy_pj":1,"macs":0.5)"}) {
    EXPECT_FALSE(CostOfAnswer(fmt::format(R"({{"status":"ok",{}}})", numbers))) << numbers;
  }
  EXPECT_TRUE(CostOfAnswer(R"({"status":"ok","cycles":1,"energy_pj":0,"utilization":1})"));
}

TEST(External, MessagesAreShortAndPrintable) {
  const Result<Cost> cost =
      CostOfAnswer(R"({"status":"bad","msg":"\u001b[2J)" + std::string(1'000'000, 'x') + R"("})");
  ASSERT_FALSE(cost);
  EXPECT_LT(cost.error().message.size(), 500u);
  EXPECT_EQ(cost.error().message.find("bad: \\x1b[2Jxxx"), 0u);
}

TEST(External, AStopIsNobodysFault) {
  std::jthread asker([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    RequestStop();
  });
  ThreadPool pool(1);
  const auto answers = RunExternal({.command = "sleep 600"}, Rows(2), pool);
  ResetStop();
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().kind, ErrorKind::kInterrupted);
}

TEST(External, MaestrosColumnsAreACost) {
  const Result<Cost> cost = CostOfAnswer(
      R"({"status":"ok","out":[8,1572,5.649996,4.9,1,100.5,20.5,1,1,1,1,1,1,1,1,1,1,1,1,7776]})");
  ASSERT_TRUE(cost) << cost.error();
  EXPECT_EQ(cost->cycles, 1572);
  EXPECT_NEAR(cost->energy_pj, 5649.996, 1e-9);
  EXPECT_EQ(cost->area_um2, 100.5);
  EXPECT_EQ(cost->macs, 7776);
}

}  // namespace
}  // namespace tessera
