// tessera completion: scripts that complete commands, options and names in a shell, written from
// the list of commands.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/parse.h"

namespace tessera {
namespace {

struct CompletionArguments {
  std::string shell;
};

std::vector<std::string> Shells() { return {"bash", "zsh", "fish"}; }

std::vector<Flag> Flags(CompletionArguments& arguments) {
  return {{.name = "SHELL",
           .target = &arguments.shell,
           .help = "the shell to write for",
           .required = true,
           .choices = Shells,
           .closed = true}};
}

// What a shell has to know about one flag or argument, as plain text.
struct Entry {
  std::string name;  // "--to"; "NETWORK"
  std::string help;
  std::string value;  // placeholder; empty for switches
  std::vector<std::string> choices;
  bool option, closed, folder, list;
};

std::vector<Entry> EntriesOf(const Command& command) {
  GlobalOptions options;
  bool help = false;
  const BoundCommand bound = command.bind();  // The flags may point into its arguments.
  std::vector<Flag> flags = bound.flags;
  for (const Flag& flag : GlobalFlags(options, help)) flags.push_back(flag);
  std::vector<Entry> entries;
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    entries.push_back(
        {.name = std::string(LongName(flag)),
         .help = std::string(flag.help),
         .value = TakesValue(flag) ? std::string(flag.value) : "",
         .choices = flag.choices == nullptr ? std::vector<std::string>() : flag.choices(),
         .option = IsOption(flag),
         .closed = flag.closed,
         .folder = flag.value == "DIR",
         .list = IsList(flag)});
  }
  return entries;
}

std::string Joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// `text` with a backslash before each of `specials`.
std::string Escaped(std::string_view text, std::string_view specials) {
  std::string escaped;
  for (const char c : text) {
    if (specials.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// `text` inside single quotes, which sh, bash and zsh leave alone.
std::string InQuotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string Bash() {
  std::vector<std::string> names;
  std::string values, words;
  for (const Command* command : Commands()) {
    names.emplace_back(command->name);
    std::vector<std::string> options, arguments;
    bool files = false;
    for (const Entry& entry : EntriesOf(*command)) {
      if (!entry.option) {
        arguments.insert(arguments.end(), entry.choices.begin(), entry.choices.end());
        files |= !entry.closed;
        continue;
      }
      options.push_back(entry.name);
      if (entry.value.empty()) continue;
      const std::string choices = InQuotes(Joined(entry.choices));
      values +=
          fmt::format("    '{} {}') words={}; kind={} ;;\n", command->name, entry.name, choices,
                      entry.folder            ? "-d"
                      : entry.choices.empty() ? "-f"
                                              : "''");
    }
    words +=
        fmt::format("      {}) options={}; words={}; kind={} ;;\n", command->name,
                    InQuotes(Joined(options)), InQuotes(Joined(arguments)), files ? "-f" : "''");
  }
  return fmt::format(
      R"(# bash completion of tessera; load it with: source <(tessera completion bash)
_tessera() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' options='' words='' kind='' word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
      {}) command=$word; break ;;
    esac
  done
  COMPREPLY=()
  case "$command $before" in
{}    *) case $command in
      '') words='{}'; options='--help --version' ;;
{}    esac ;;
  esac
  if [[ $current == -* ]]; then words=$options; kind=''; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ -n $kind ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen $kind -- "$current"))
  fi
}}
complete -F _tessera tessera
)",
      fmt::join(names, "|"), values, Joined(names), words);
}

std::string Zsh() {
  std::string described, cases;
  for (const Command* command : Commands()) {
    described += fmt::format(
        "    {}\n", InQuotes(fmt::format("{}:{}", command->name, Escaped(command->summary, ":"))));
    cases += fmt::format("    {})\n      _arguments", command->name);
    for (const Entry& entry : EntriesOf(*command)) {
      const std::string action =
          entry.folder            ? "_files -/"
          : entry.choices.empty() ? "_files"
          : entry.closed || entry.option
              ? fmt::format("({})", Joined(entry.choices))
              : fmt::format("{{ compadd {}; _files }}", Joined(entry.choices));
      std::string spec;
      if (!entry.option) {
        spec = fmt::format("{}:{}:{}", entry.list ? "*" : "", entry.name, action);
      } else {
        spec =
            fmt::format("{}{}[{}]", entry.list ? "*" : "", entry.name, Escaped(entry.help, "[]:"));
        if (!entry.value.empty()) spec += fmt::format(":{}:{}", entry.value, action);
      }
      cases += fmt::format(" \\\n        {}", InQuotes(spec));
    }
    cases += " ;;\n";
  }
  return fmt::format(R"(#compdef tessera
# zsh completion of tessera; load it with: source <(tessera completion zsh)
_tessera() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
if [[ $funcstack[1] == _tessera ]]; then _tessera "$@"; else compdef _tessera tessera; fi
)",
                     described, cases);
}

std::string Fish() {
  std::string text =
      "# fish completion of tessera; load it with: tessera completion fish | source\n";
  for (const Command* command : Commands()) {
    text += fmt::format("complete -c tessera -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        command->name, Escaped(command->summary, "\\'"));
  }
  for (const Command* command : Commands()) {
    const std::string condition =
        fmt::format("complete -c tessera -n '__fish_seen_subcommand_from {}'", command->name);
    for (const Entry& entry : EntriesOf(*command)) {
      std::string line = condition;
      if (entry.option) line += fmt::format(" -l {}", entry.name.substr(2));
      if (!entry.option && entry.closed) line += " -f";
      if (entry.option && !entry.value.empty()) line += entry.choices.empty() ? " -r" : " -x";
      if (!entry.choices.empty()) line += fmt::format(" -a '{}'", Joined(entry.choices));
      text += fmt::format("{} -d '{}'\n", line, Escaped(entry.help, "\\'"));
    }
  }
  return text;
}

Result<void> Run(const CompletionArguments& arguments, Context& context) {
  const std::string script = arguments.shell == "bash"  ? Bash()
                             : arguments.shell == "zsh" ? Zsh()
                                                        : Fish();
  context.output.Set("script", Json(script));
  return context.output.ShowText(script);
}

}  // namespace

extern const Command kCompletionCommand = {
    .name = "completion",
    .summary = "completion of commands, options and names for a shell",
    .examples = {{"source <(tessera completion bash)", "complete in this bash"},
                 {"tessera completion fish > ~/.config/fish/completions/tessera.fish",
                  "complete in every fish from now on"}},
    .bind = Bind<CompletionArguments, Flags, Run>};

}  // namespace tessera
