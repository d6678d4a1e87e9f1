// The program as a function, and what every command owes its users.
#include "tessera/cli/run.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/cli/commands.h"
#include "tessera/cli/exit_code.h"
#include "tessera/cli/help.h"
#include "tessera/cli/parse.h"

namespace tessera {
namespace {

struct Outcome {
  int code;
  std::string out, err;
};

Outcome Tessera(const std::vector<std::string>& words) {
  std::ostringstream out, err;
  const int code = RunTessera(words, out, err);
  return {code, out.str(), err.str()};
}

TEST(RunTessera, HelpListsEveryCommand) {
  const Outcome help = Tessera({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_EQ(help.err, "");
  for (const Command* command : Commands()) {
    EXPECT_NE(help.out.find(fmt::format("  {} ", command->name)), std::string::npos)
        << command->name;
  }
}

TEST(RunTessera, WithoutACommandShowsHelpAsAUsageError) {
  const Outcome none = Tessera({});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(none.err, Tessera({"--help"}).out);
}

TEST(RunTessera, AFullDiskIsNoticed) {
  std::ofstream full("/dev/full");
  std::ostringstream err;
  EXPECT_EQ(RunTessera({"list", "commands"}, full, err), 3);
  EXPECT_EQ(err.str(), "tessera: cannot write the output: No space left on device\n");
}

// What every command owes its users, whoever writes the next one.
TEST(Commands, AreDescribed) {
  std::vector<std::string_view> names;
  for (const Command* command : Commands()) {
    SCOPED_TRACE(command->name);
    EXPECT_EQ(std::count(names.begin(), names.end(), command->name), 0);
    names.push_back(command->name);
    EXPECT_FALSE(command->summary.empty());
    EXPECT_LE(command->summary.size(), 78u);
    EXPECT_FALSE(command->summary.ends_with('.'));
    EXPECT_GE(command->examples.size(), 2u);
    for (const Example& example : command->examples) {
      EXPECT_NE(example.command.find("tessera"), std::string_view::npos);
      EXPECT_FALSE(example.text.empty());
    }
    for (const Flag& flag : command->bind().flags) {
      EXPECT_NE(flag.help.empty(), !flag.hidden) << flag.name;
      EXPECT_EQ(flag.value.empty(), !IsOption(flag) || !TakesValue(flag)) << flag.name;
      EXPECT_FALSE(flag.closed && flag.choices == nullptr) << flag.name;
      // --help says so by itself.
      EXPECT_EQ(flag.help.find("may be repeated"), std::string_view::npos) << flag.name;
    }
    const Outcome help = Tessera({std::string(command->name), "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_EQ(help.out, Help(*command));
    EXPECT_EQ(Tessera({"help", std::string(command->name)}).out, help.out);
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST(ExitCode, IsOneOfTheDocumentedOnesForEveryKind) {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kInternal); ++kind) {
    const int code = ExitCode(static_cast<ErrorKind>(kind));
    EXPECT_TRUE(std::any_of(kExitCodes.begin(), kExitCodes.end(),
                            [&](const ExitCodeMeaning& exit) { return exit.code == code; }));
    EXPECT_NE(code, 0);
  }
}

}  // namespace
}  // namespace tessera
