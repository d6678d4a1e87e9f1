// Parse, run, report: the life of one call.
#include "tessera/cli/run.h"

#include <algorithm>
#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/exit_code.h"
#include "tessera/cli/help.h"
#include "tessera/cli/parse.h"
#include "tessera/run/progress.h"
#include "tessera/run/signals.h"

namespace tessera {
namespace {

// An error with a place starts with it, so that editors find it; others start with our name.
void Print(const Error& error, std::ostream& err) {
  if (error.where.file.empty()) err << "tessera: ";
  err << error << '\n' << std::flush;
}

Result<void> WriteOut(const Command& command, const GlobalOptions& options,
                      const std::string& text) {
  if (Result<void> made = MakeFolder(options.out); !made) return made;
  return WriteFileAtomically(
      fmt::format("{}/{}.{}", options.out, command.name, options.json ? "json" : "txt"), text);
}

// The JSON form of a failure, where the command has not given one of its own.
void SetErrors(const std::vector<Error>& errors, Output& output) {
  if (errors.empty() || output.Has("errors")) return;
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(ToJson(error));
  output.Set("ok", false);
  output.Set("errors", std::move(list));
}

int RunCommand(const ParsedLine& line, std::ostream& out, std::ostream& err,
               const Surroundings& surroundings) {
  const GlobalOptions& options = line.options;
  // What goes to a file must be complete before the file appears.
  const bool to_file = !options.out.empty() && !line.command->writes_out;
  std::ostringstream buffer;
  Output output(to_file ? buffer : out, options.json ? OutputForm::kJson : OutputForm::kText);
  std::vector<Error> errors;
  std::weak_ptr<ProgressReporter> progress;
  const auto make_room = [&] {
    if (const auto reporter = progress.lock()) reporter->MakeRoom();
  };
  Context context{.options = options,
                  .output = output,
                  .complain =
                      [&](const Error& error) {
                        errors.push_back(error);
                        make_room();
                        if (!output.reader_left()) Print(error, err);
                      },
                  .remark =
                      [&](std::string_view text) {
                        make_room();
                        err << text << '\n' << std::flush;
                      },
                  .start_progress =
                      [&](ProgressOptions wanted) {
                        auto reporter = std::make_shared<ProgressReporter>(
                            err, std::move(wanted), surroundings.clock, surroundings.terminal);
                        progress = reporter;
                        return reporter;
                      },
                  .stopped = StopRequested};
  Result<void> done = line.bound.run(context);
  if (!done) context.complain(done.error());
  SetErrors(errors, output);
  // A failed command leaves no file behind; its JSON still goes to stdout.
  if (Result<void> finished = output.Finish(); !finished && done)
    context.complain(finished.error());
  if (to_file && errors.empty()) {
    Result<void> written = WriteOut(*line.command, options, buffer.str());
    if (!written) context.complain(written.error());
  } else if (to_file) {
    out << buffer.str() << std::flush;
  }
  if (!errors.empty()) return ExitCode(errors.front().kind);
  return StopRequested() ? kInterruptedExitCode : 0;
}

// A line that cannot be parsed still says --json to somebody who reads our stdout.
int RejectLine(const Error& error, const std::vector<std::string>& words, std::ostream& out,
               std::ostream& err) {
  Print(error, err);
  if (std::find(words.begin(), words.end(), "--json") != words.end()) {
    Output output(out, OutputForm::kJson);
    SetErrors({error}, output);
    if (Result<void> written = output.Finish(); !written) Print(written.error(), err);
  }
  return ExitCode(error.kind);
}

int ShowText(const std::string& text, std::ostream& out, std::ostream& err) {
  Output output(out, OutputForm::kText);
  const Result<void> shown = output.ShowText(text);
  if (shown) return 0;
  if (!output.reader_left()) Print(shown.error(), err);
  return ExitCode(shown.error().kind);
}

}  // namespace

int RunTessera(const std::vector<std::string>& words, std::ostream& out, std::ostream& err,
               const Surroundings& surroundings) {
  std::vector<std::string> asked = words;
  if (!asked.empty() && asked[0] == "help") {  // `tessera help zoo` is `tessera zoo --help`
    asked.erase(asked.begin());
    asked.push_back("--help");
  }
  const Result<ParsedLine> line = ParseLine(Commands(), asked);
  if (!line) return RejectLine(line.error(), asked, out, err);
  if (line->help) {
    return ShowText(line->command != nullptr ? Help(*line->command) : Help(Commands()), out, err);
  }
  if (line->version) return ShowText("tessera " TESSERA_VERSION "\n", out, err);
  if (line->command == nullptr) {
    err << Help(Commands());
    return ExitCode(ErrorKind::kUsage);
  }
  return RunCommand(*line, out, err, surroundings);
}

}  // namespace tessera
