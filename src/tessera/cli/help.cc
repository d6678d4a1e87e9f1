// Two columns of text: what to type, and what it means.
#include "tessera/cli/help.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tessera/cli/exit_code.h"
#include "tessera/cli/parse.h"
#include "tessera/part.h"

namespace tessera {
namespace {

constexpr size_t kLineWidth = 100;
constexpr size_t kWidestLeft = 34;  // wider entries get a line of their own
constexpr size_t kFewChoices = 8;   // so many are worth listing

struct Row {
  std::string left, right;
};

// `text` in lines of at most `width`, broken at blanks.
std::vector<std::string> Wrapped(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : Split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

std::string Columns(const std::vector<Row>& rows) {
  size_t left_width = 0;
  for (const Row& row : rows) {
    if (row.left.size() <= kWidestLeft) left_width = std::max(left_width, row.left.size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("  {:<{}}", row.left, left_width);
    if (row.left.size() > left_width) {
      text += line + "\n";
      line = std::string(left_width + 2, ' ');
    }
    for (const std::string& part : Wrapped(row.right, kLineWidth - left_width - 4)) {
      text += fmt::format("{}  {}\n", line, part);
      line = std::string(left_width + 2, ' ');
    }
  }
  return text;
}

struct DefaultOf {
  std::string operator()(const bool*) const { return ""; }
  std::string operator()(const std::vector<std::string>* list) const {
    return fmt::format("{}", fmt::join(*list, ","));
  }
  template <typename Value>
  std::string operator()(const std::optional<Value>*) const {
    return "";
  }
  std::string operator()(const std::string* text) const { return *text; }
  std::string operator()(const int64_t* value) const { return fmt::format("{}", *value); }
  std::string operator()(const double* value) const { return fmt::format("{}", *value); }
};

Row RowOf(const Flag& flag) {
  std::string left;
  for (const std::string_view name : Split(flag.name, ',')) {
    if (!left.empty()) left += ", ";
    left += name;
  }
  if (IsOption(flag) && TakesValue(flag)) left += fmt::format(" {}", flag.value);
  if (!IsOption(flag) && IsList(flag)) left += "...";
  std::string right(flag.help);
  const std::vector<std::string> choices =
      flag.choices == nullptr ? std::vector<std::string>() : flag.choices();
  if (!choices.empty() && (flag.closed || choices.size() <= kFewChoices)) {
    right += fmt::format(": {}", fmt::join(choices, ", "));
  }
  if (flag.required && IsOption(flag)) right += " (required)";
  const std::string by_default = std::visit(DefaultOf{}, flag.target);
  if (!flag.required && !by_default.empty()) right += fmt::format(" (default: {})", by_default);
  if (IsList(flag) && IsOption(flag)) right += "; may be repeated";
  return {left, right};
}

std::vector<Row> RowsOf(const std::vector<Flag>& flags, bool options) {
  std::vector<Row> rows;
  for (const Flag& flag : flags) {
    if (IsOption(flag) == options && !flag.hidden) rows.push_back(RowOf(flag));
  }
  return rows;
}

std::string Section(std::string_view title, const std::vector<Row>& rows) {
  return rows.empty() ? "" : fmt::format("\n{}:\n{}", title, Columns(rows));
}

std::string Examples(const std::vector<Example>& examples) {
  std::string text = "\nexamples:\n";
  for (const Example& example : examples) {
    text += fmt::format("  # {}\n  {}\n", example.text, example.command);
  }
  return text;
}

std::string GlobalSection() {
  GlobalOptions options;
  bool help = false;
  return Section("options of every command", RowsOf(GlobalFlags(options, help), true));
}

}  // namespace

std::string Usage(const Command& command) {
  std::string usage = fmt::format("usage: tessera {}", command.name);
  const BoundCommand bound = command.bind();  // The flags may point into its arguments.
  std::vector<Flag> flags = bound.flags;
  std::stable_partition(flags.begin(), flags.end(),
                        [](const Flag& flag) { return !IsOption(flag); });
  for (const Flag& flag : flags) {
    if (IsOption(flag) && !flag.required) continue;
    std::string word =
        IsOption(flag) ? fmt::format("{} {}", LongName(flag), flag.value) : std::string(flag.name);
    if (IsList(flag) && !IsOption(flag)) word += "...";
    usage += flag.required ? " " + word : fmt::format(" [{}]", word);
  }
  return usage + " [OPTIONS]\n";
}

std::string Help(std::span<const Command* const> commands) {
  std::vector<Row> rows;
  for (const Command* command : commands) {
    rows.push_back({std::string(command->name), std::string(command->summary)});
  }
  std::vector<Example> examples;
  for (const Command* command : commands) {
    if (!command->examples.empty()) examples.push_back(command->examples.front());
  }
  std::vector<Row> codes;
  for (const ExitCodeMeaning& exit : kExitCodes) {
    codes.push_back({fmt::format("{}", exit.code), std::string(exit.meaning)});
  }
  return "Tessera maps deep neural networks onto accelerators.\n\n"
         "usage: tessera COMMAND [ARGUMENTS] [OPTIONS]\n"
         "       tessera COMMAND --help\n"
         "       tessera --version\n" +
         Section("commands", rows) + GlobalSection() + Section("exit codes", codes) +
         Examples(examples);
}

std::string Help(const Command& command) {
  const BoundCommand bound = command.bind();
  std::string text =
      fmt::format("tessera {}: {}\n\n{}", command.name, command.summary, Usage(command));
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  return text + Section("arguments", RowsOf(bound.flags, false)) +
         Section("options", RowsOf(bound.flags, true)) + GlobalSection() +
         Examples(command.examples);
}

}  // namespace tessera
