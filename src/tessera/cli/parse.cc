// CLI11 is used for what it does well: options before, between and after arguments, "--x=y",
// "--". Required values, numbers and unknown names are checked here, so that every message reads
// alike and names the nearest option.
#include "tessera/cli/parse.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tessera/part.h"

namespace tessera {
namespace {

Error UsageError(std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

// The options of one CLI11 app beside the flags that they fill.
struct Binding {
  Flag flag;
  CLI::Option* option;
};

std::vector<Binding> Declare(CLI::App& app, const std::vector<Flag>& flags) {
  std::vector<Binding> bindings;
  for (const Flag& flag : flags) {
    const std::string name(flag.name);
    CLI::Option* option = nullptr;
    if (!TakesValue(flag)) {
      option = app.add_flag(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    } else {
      // Bound to no variable: the words are read from Option::results below.
      option = app.add_option(name, [](const CLI::results_t&) { return true; });
      option->type_size(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      if (IsList(flag) && !IsOption(flag)) {
        option->expected(CLI::detail::expected_max_vector_size);
      } else {
        option->expected(1)->allow_extra_args(false);
      }
    }
    bindings.push_back({flag, option});
  }
  return bindings;
}

Result<void> CheckRange(const Flag& flag, double value) {
  if (value >= flag.least && value <= flag.most) return {};
  const std::string range = flag.most == std::numeric_limits<double>::infinity()
                                ? fmt::format("at least {}", flag.least)
                                : fmt::format("in {}..{}", flag.least, flag.most);
  return UsageError(fmt::format("{} is {}, but must be {}", LongName(flag), value, range));
}

template <typename Number, typename Parse>
Result<void> FillNumber(const Flag& flag, const std::string& word, Parse parse, Number& target) {
  const Result<Number> value = parse(word);
  if (!value) {
    return UsageError(fmt::format("{}: {}", LongName(flag), value.error().message));
  }
  if (Result<void> ok = CheckRange(flag, static_cast<double>(*value)); !ok) return ok;
  target = *value;
  return {};
}

Result<void> CheckChoice(const Flag& flag, const std::string& word) {
  if (!flag.closed) return {};
  const std::vector<std::string> choices = flag.choices();
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) return {};
  return UsageError(fmt::format("{} is {}, which it cannot be", LongName(flag), Quoted(word)),
                    DidYouMean(word, choices));
}

// Stores one word, by the type of the flag's target.
struct Fill {
  const Flag& flag;
  const std::string& word;

  Result<void> operator()(bool* /*target*/) const { return {}; }
  Result<void> operator()(std::string* target) const {
    *target = word;
    return {};
  }
  Result<void> operator()(int64_t* target) const {
    return FillNumber(flag, word, ParseInt, *target);
  }
  Result<void> operator()(double* target) const {
    return FillNumber(flag, word, ParseDouble, *target);
  }
  Result<void> operator()(std::vector<std::string>* target) const {
    target->push_back(word);
    return {};
  }
  template <typename Value>
  Result<void> operator()(std::optional<Value>* target) const {
    Value value{};
    if (Result<void> ok = (*this)(&value); !ok) return ok;
    *target = std::move(value);
    return {};
  }
};

std::vector<std::string> Words(const Flag& flag, const std::vector<std::string>& results) {
  if (!flag.commas) return results;
  std::vector<std::string> words;
  for (const std::string& result : results) {
    for (const std::string_view word : Split(result, ',')) words.emplace_back(word);
  }
  return words;
}

Result<void> FillFlag(const Binding& binding) {
  const auto& [flag, option] = binding;
  const size_t given = option->count();
  if (given == 0) {
    if (!flag.required) return {};
    return UsageError(fmt::format("{} is missing", LongName(flag)));
  }
  if (given > 1 && TakesValue(flag) && !IsList(flag)) {
    return UsageError(fmt::format("{} is given twice", LongName(flag)));
  }
  if (bool* const* target = std::get_if<bool*>(&flag.target)) **target = true;
  if (!TakesValue(flag)) return {};
  const std::vector<std::string> words = Words(flag, option->results());
  for (const std::string& word : words) {
    if (word.empty()) {
      return UsageError(fmt::format("{} {} empty", LongName(flag),
                                    words.size() > 1 ? "has a word between commas that is" : "is"));
    }
    if (Result<void> ok = CheckChoice(flag, word); !ok) return ok;
    if (Result<void> ok = std::visit(Fill{flag, word}, flag.target); !ok) return ok;
  }
  return {};
}

// A word that nothing took: an unknown command or option, or one argument too many.
Error Leftover(const std::string& word, const Command* command, const std::vector<Binding>& active,
               std::span<const Command* const> commands) {
  std::vector<std::string_view> names;
  if (word.size() > 1 && word[0] == '-') {
    const std::string name = word.substr(0, word.find('='));
    for (const Binding& binding : active) {
      const std::string_view known = LongName(binding.flag);
      if (!IsOption(binding.flag) || std::count(names.begin(), names.end(), known) > 0) continue;
      names.push_back(known);
    }
    return UsageError(fmt::format("unknown option {}", Quoted(name)), DidYouMean(name, names));
  }
  if (command != nullptr) {
    return UsageError(fmt::format("unexpected argument {} of '{}'", Quoted(word), command->name));
  }
  for (const Command* known : commands) names.push_back(known->name);
  const std::string hint = DidYouMean(word, names);
  return UsageError(fmt::format("unknown command {}", Quoted(word)),
                    hint.empty() ? "see 'tessera --help'" : hint);
}

// One command as CLI11 sees it.
struct SubApp {
  CLI::App* app;
  const Command* command;
  BoundCommand bound;
  std::vector<Binding> bindings;
};

std::vector<SubApp> DeclareCommands(CLI::App& app, std::span<const Command* const> commands,
                                    ParsedLine& line) {
  std::vector<SubApp> sub_apps;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(std::string(command->name));
    sub->set_help_flag();
    sub->allow_extras();
    BoundCommand bound = command->bind();
    std::vector<Flag> flags = bound.flags;
    for (const Flag& flag : GlobalFlags(line.options, line.help)) flags.push_back(flag);
    sub_apps.push_back({sub, command, std::move(bound), Declare(*sub, flags)});
  }
  return sub_apps;
}

bool WantsHelp(const std::vector<Binding>& active) {
  return std::any_of(active.begin(), active.end(), [](const Binding& binding) {
    return LongName(binding.flag) == "--help" && binding.option->count() > 0;
  });
}

// CLI11 gives "--out= --json" the folder --json.
Result<void> CheckNoEmptyValue(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      return UsageError(fmt::format("{} needs a value", word.substr(0, word.size() - 1)));
    }
  }
  return {};
}

// CLI11's exceptions end here. An option without its value is the only one left to it.
Result<void> SplitWords(CLI::App& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(words));
    return {};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    return UsageError(fmt::format("{} needs a value", what.substr(0, what.find(':'))));
  } catch (const CLI::Error& error) {
    return UsageError(error.what());
  }
}

}  // namespace

bool IsOption(const Flag& flag) { return flag.name.starts_with('-'); }

bool TakesValue(const Flag& flag) { return !std::holds_alternative<bool*>(flag.target); }

bool IsList(const Flag& flag) {
  return std::holds_alternative<std::vector<std::string>*>(flag.target);
}

std::string_view LongName(const Flag& flag) {
  const size_t comma = flag.name.rfind(',');
  return comma == std::string_view::npos ? flag.name : flag.name.substr(comma + 1);
}

std::vector<Flag> GlobalFlags(GlobalOptions& options, bool& help) {
  return {{.name = "--json",
           .target = &options.json,
           .help = "machine-readable output: one JSON object on stdout"},
          {.name = "--seed",
           .target = &options.seed,
           .help = "seed of everything random",
           .value = "N",
           .least = 0},
          {.name = "--threads",
           .target = &options.threads,
           .help = "threads, 0 for one per core; results do not depend on it",
           .value = "N",
           .least = 0,
           .most = 4096},
          {.name = "--out",
           .target = &options.out,
           .help = "write results into this folder instead of stdout",
           .value = "DIR"},
          {.name = "-h,--help", .target = &help, .help = "show this text"}};
}

Result<ParsedLine> ParseLine(std::span<const Command* const> commands,
                             const std::vector<std::string>& words) {
  ParsedLine line;
  CLI::App app;
  app.set_help_flag();
  app.require_subcommand(0, 1);
  app.allow_extras();
  std::vector<Flag> root_flags = GlobalFlags(line.options, line.help);
  root_flags.push_back({.name = "--version", .target = &line.version});
  std::vector<Binding> active = Declare(app, root_flags);
  std::vector<SubApp> sub_apps = DeclareCommands(app, commands, line);

  if (Result<void> full = CheckNoEmptyValue(words); !full) return full.error();
  if (Result<void> split = SplitWords(app, words); !split) return split.error();
  for (SubApp& sub : sub_apps) {
    if (!sub.app->parsed()) continue;
    line.command = sub.command;
    line.bound = std::move(sub.bound);
    active.insert(active.end(), sub.bindings.begin(), sub.bindings.end());
  }
  std::vector<std::string> left = app.remaining(/*recurse=*/true);
  std::erase(left, "--");  // CLI11 counts the mark itself as left over
  const bool unknown_command = line.command == nullptr && !left.empty() && left[0][0] != '-';
  if (WantsHelp(active) && !unknown_command) {  // whatever else is wrong with the line
    line.help = true;
    return line;
  }
  if (!left.empty()) return Leftover(left[0], line.command, active, commands);
  for (const Binding& binding : active) {
    if (Result<void> ok = FillFlag(binding); !ok) return ok.error();
    int64_t* const* const number = std::get_if<int64_t*>(&binding.flag.target);
    if (number != nullptr && *number == &line.options.seed && binding.option->count() > 0) {
      line.options.seed_given = true;
    }
  }
  return line;
}

}  // namespace tessera
