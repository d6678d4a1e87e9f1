// A sub-command of `tessera`: one file that defines a Command, and one line in commands.cc.
// Parsing,
// --help, shell completion and `tessera list commands` all read the same declaration:
//
//   struct BoundArguments { std::string network; };
//
//   std::vector<Flag> Flags(BoundArguments& arguments) {
//     return {{.name = "NETWORK", .target = &arguments.network, .help = "...", .required = true}};
//   }
//
//   Result<void> Run(const BoundArguments& arguments, Context& context) { ... }
//
//   const Command kBoundCommand = {.name = "bound",
//                                  .summary = "lower bounds, no search",
//                                  .examples = {{"tessera bound vgg16", "what it shows"}, ...},
//                                  .bind = Bind<BoundArguments, Flags, Run>};
#ifndef TESSERA_CLI_COMMAND_H_
#define TESSERA_CLI_COMMAND_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/report/output.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// Where a flag's value goes. An optional tells "not given" from every value; a list takes a flag
// that may be repeated, or all remaining arguments.
using FlagTarget =
    std::variant<bool*, std::string*, int64_t*, double*, std::optional<std::string>*,
                 std::optional<int64_t>*, std::optional<double>*, std::vector<std::string>*>;

// An option ("--layer", "-l,--layer") or, without dashes, an argument ("NETWORK").
struct Flag {
  std::string_view name;
  FlagTarget target;
  std::string_view help = {};   // what it means; a default is added from the target
  std::string_view value = {};  // placeholder of an option's value: "N", "FILE"
  bool required = false;

  // Numbers outside are usage errors.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  // A list option whose values may also be written with commas: --methods random,ga.
  bool commas = false;

  // Values to offer in shell completion; null: file names. `closed`: others are usage errors.
  std::function<std::vector<std::string>()> choices = nullptr;
  bool closed = false;

  // Accepted for compatibility with another program, and in no help text.
  bool hidden = false;
};

// Options that every command takes.
struct GlobalOptions {
  // Machine-readable output on stdout. Default: false.
  bool json = false;

  // Seed of everything random: equal seeds give equal results. Default: 1.
  int64_t seed = 1;

  // Whether --seed was given, for commands whose input has a seed of its own. Default: false.
  bool seed_given = false;

  // Threads; results do not depend on it. Default: 0 (one per core).
  int64_t threads = 0;

  // Folder for results. Default: empty (none).
  std::string out = {};
};

// What a running command may use.
struct Context {
  const GlobalOptions& options;
  Output& output;

  // What runs note about who started them.
  RunOrigin origin;

  // Reports an error on stderr without ending the command; the exit code will be that of the first
  // one. For commands that go on to their next input.
  std::function<void(const Error&)> complain;

  // A remark for people, on stderr: "lost: ...".
  std::function<void(std::string_view)> remark;

  // A reporter of progress on stderr, for the time that the caller keeps it; one at a time.
  std::function<std::shared_ptr<ProgressObserver>(ProgressOptions)> start_progress;

  // Whether a run's JSON also has `times`, what it took, which no two runs have in common. Set by
  // commands that are asked for it.
  bool show_times = false;

  // Takes the page of a run, as its folder would get it; may be empty.
  std::function<void(const std::string& html)> page = {};

  // Whether somebody looks at a terminal, where a run may end with a few words more. May be empty.
  std::function<bool()> live = {};

  // Whether the user asked to stop (Ctrl-C). Long commands poll it, keep what they have and return;
  // the exit code is then 130.
  std::function<bool()> stopped;
};

// Flags tied to a fresh set of arguments, and the command to run once they are filled in. It owns
// the arguments, and with them the words of flags that are made from a registry.
struct BoundCommand {
  std::vector<Flag> flags;
  std::function<Result<void>(Context&)> run;
};

struct Example {
  std::string_view command;
  std::string_view text;  // what it does
};

struct Command {
  std::string_view name;
  std::string_view summary;  // one line
  std::vector<Example> examples;
  BoundCommand (*bind)();
  // Further paragraphs of --help. Default: none.
  std::string_view details = {};
  // Whether the command itself writes into --out. Otherwise what it shows goes there, as
  // NAME.txt or NAME.json. Default: false.
  bool writes_out = false;
};

template <typename Arguments, auto kFlags, auto kRun>
BoundCommand Bind() {
  auto arguments = std::make_shared<Arguments>();
  return {.flags = kFlags(*arguments),
          .run = [arguments](Context& context) { return kRun(*arguments, context); }};
}

}  // namespace tessera

#endif  // TESSERA_CLI_COMMAND_H_
