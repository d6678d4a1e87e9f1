// Command lines, right and wrong.
#include "tessera/cli/parse.h"

#include <sstream>

#include <gtest/gtest.h>

namespace tessera {
namespace {

struct Values {
  std::string network;
  std::vector<std::string> files;
  std::optional<std::string> layer;
  std::optional<int64_t> samples;
  double share = 0.5;
  bool fast = false;
  std::vector<std::string> methods;
  std::string kind = "a";
};
Values g_values;  // what the last parsed line gave

std::vector<std::string> Kinds() { return {"alpha", "beta"}; }

std::vector<Flag> Flags(Values& values) {
  return {
      {.name = "NETWORK", .target = &values.network, .required = true},
      {.name = "FILE", .target = &values.files},
      {.name = "-l,--layer", .target = &values.layer, .value = "L"},
      {.name = "--samples", .target = &values.samples, .value = "N", .least = 1, .most = 100},
      {.name = "--share", .target = &values.share, .value = "X", .least = 0},
      {.name = "--fast", .target = &values.fast},
      {.name = "--methods", .target = &values.methods, .value = "M", .commas = true},
      {.name = "--kind", .target = &values.kind, .value = "K", .choices = Kinds, .closed = true}};
}

Result<void> Keep(const Values& values, Context&) {
  g_values = values;
  return {};
}

const Command kMap = {
    .name = "map", .summary = "", .examples = {}, .bind = Bind<Values, Flags, Keep>};
const Command kZoo = {
    .name = "zoo", .summary = "", .examples = {}, .bind = Bind<Values, Flags, Keep>};
const Command* const kCommands[] = {&kMap, &kZoo};

// The line's values, or the error.
Result<ParsedLine> Parse(const std::vector<std::string>& words) {
  Result<ParsedLine> line = ParseLine(kCommands, words);
  if (line && line->command != nullptr && !line->help) {
    const GlobalOptions options;
    std::ostringstream stream;
    Output output(stream, OutputForm::kText);
    Context context{.options = options,
                    .output = output,
                    .origin = {},
                    .complain = {},
                    .remark = {},
                    .start_progress = {},
                    .stopped = {}};
    EXPECT_TRUE(line->bound.run(context));
  }
  return line;
}

std::string ErrorOf(const std::vector<std::string>& words) {
  const Result<ParsedLine> line = Parse(words);
  if (line) return "accepted";
  EXPECT_EQ(line.error().kind, ErrorKind::kUsage);
  return ToString(line.error());
}

TEST(ParseLine, FillsEveryTypeOfFlag) {
  const Result<ParsedLine> line =
      Parse({"--seed", "7", "map", "vgg16", "--layer=3", "a", "--fast", "--samples", "9", "b",
             "--share", "0.25", "--methods", "x,y", "--methods", "z", "--json", "--threads=2"});
  ASSERT_TRUE(line) << line.error();
  EXPECT_EQ(line->command, &kMap);
  EXPECT_EQ(line->options.seed, 7);
  EXPECT_TRUE(line->options.seed_given);
  EXPECT_EQ(line->options.threads, 2);
  EXPECT_TRUE(line->options.json);
  EXPECT_EQ(g_values.network, "vgg16");
  EXPECT_EQ(g_values.files, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(g_values.layer, "3");
  EXPECT_EQ(g_values.samples, 9);
  EXPECT_EQ(g_values.share, 0.25);
  EXPECT_TRUE(g_values.fast);
  EXPECT_EQ(g_values.methods, (std::vector<std::string>{"x", "y", "z"}));
}

TEST(ParseLine, LeavesWhatIsNotGiven) {
  const Result<ParsedLine> line = Parse({"map", "vgg16", "-l", "conv1"});
  ASSERT_TRUE(line) << line.error();
  EXPECT_FALSE(line->options.seed_given);
  EXPECT_EQ(g_values.layer, "conv1");
  EXPECT_EQ(g_values.samples, std::nullopt);
  EXPECT_EQ(g_values.share, 0.5);
  EXPECT_FALSE(g_values.fast);
}

TEST(ParseLine, AnArgumentMayLookLikeACommandOrAnOption) {
  ASSERT_TRUE(Parse({"map", "zoo", "map"}));
  EXPECT_EQ(g_values.network, "zoo");
  EXPECT_EQ(g_values.files, (std::vector<std::string>{"map"}));
  ASSERT_TRUE(Parse({"map", "--", "--odd-name"}));
  EXPECT_EQ(g_values.network, "--odd-name");
  ASSERT_TRUE(Parse({"map", "-"}));
  EXPECT_EQ(g_values.network, "-");
}

TEST(ParseLine, HelpWinsOverMistakes) {
  const Result<ParsedLine> line = Parse({"map", "--bogus", "--help"});
  ASSERT_TRUE(line) << line.error();
  EXPECT_TRUE(line->help);
  EXPECT_EQ(line->command, &kMap);
  EXPECT_TRUE(Parse({"--help"})->help);
  EXPECT_TRUE(Parse({"--version"})->version);
}

TEST(ParseLine, MistakesAreNamedWithTheNearestName) {
  EXPECT_EQ(ErrorOf({"mapp", "x"}), "unknown command 'mapp'; did you mean 'map'?");
  EXPECT_EQ(ErrorOf({"map", "x", "--sampels", "3"}),
            "unknown option '--sampels'; did you mean '--samples'?");
  EXPECT_EQ(ErrorOf({"map", "x", "--sampels=3"}),
            "unknown option '--sampels'; did you mean '--samples'?");
  EXPECT_EQ(ErrorOf({"--jsn", "map", "x"}), "unknown option '--jsn'; did you mean '--json'?");
  EXPECT_EQ(ErrorOf({"map"}), "NETWORK is missing");
  EXPECT_EQ(ErrorOf({"map", ""}), "NETWORK is empty");
  EXPECT_EQ(ErrorOf({"map", "x", "--methods", "ga,,sa"}),
            "--methods has a word between commas that is empty");
  EXPECT_EQ(ErrorOf({"map", "x", "--layer="}), "--layer needs a value");
  EXPECT_EQ(ErrorOf({"mapp", "--help"}), "unknown command 'mapp'; did you mean 'map'?");
  EXPECT_EQ(ErrorOf({"map", "x", "--kind", "betta"}),
            "--kind is 'betta', which it cannot be; did you mean 'beta'?");
  EXPECT_EQ(ErrorOf({"map", "x", "--kind", "q"}),
            "--kind is 'q', which it cannot be; known: alpha, beta");
  EXPECT_EQ(ErrorOf({"map", "x", "--layer"}), "--layer needs a value");
  EXPECT_EQ(ErrorOf({"map", "x", "--layer", "1", "--layer", "2"}), "--layer is given twice");
}

TEST(ParseLine, NumbersAreCheckedLikeInFiles) {
  EXPECT_EQ(ErrorOf({"map", "x", "--samples", "1e3"}), "--samples: '1e3' is not an integer");
  EXPECT_EQ(ErrorOf({"map", "x", "--samples", "010x"}), "--samples: '010x' is not an integer");
  EXPECT_EQ(ErrorOf({"map", "x", "--samples", "0"}), "--samples is 0, but must be in 1..100");
  EXPECT_EQ(ErrorOf({"map", "x", "--samples=-3"}), "--samples is -3, but must be in 1..100");
  EXPECT_EQ(ErrorOf({"map", "x", "--share", "-1"}), "--share is -1, but must be at least 0");
  EXPECT_EQ(ErrorOf({"map", "x", "--share", "nan"}), "--share: 'nan' is not a finite number");
  EXPECT_EQ(ErrorOf({"map", "x", "--seed", "99999999999999999999"}),
            "--seed: '99999999999999999999' does not fit in 64 bits");
  ASSERT_TRUE(Parse({"map", "x", "--samples", "010"}));
  EXPECT_EQ(g_values.samples, 10);  // not octal
}

}  // namespace
}  // namespace tessera
