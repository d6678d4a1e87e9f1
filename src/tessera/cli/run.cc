// Parse, run, report: the life of one call.
#include "tessera/cli/run.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/commands.h"
#include "tessera/cli/exit_code.h"
#include "tessera/cli/help.h"
#include "tessera/cli/parse.h"
#include "tessera/cooptimize.h"
#include "tessera/part.h"
#include "tessera/report/progress.h"
#include "tessera/run.h"
#include "tessera/version.h"

namespace tessera {
namespace {

// An error with a place starts with it, so that editors find it; others start with our name.
void Print(const Error& error, std::ostream& err) {
  constexpr size_t kLongest = 4000;  // what people read; --json has all of it
  if (error.where.file.empty()) err << "tessera: ";
  err << PrintableLines(Shortened(ToString(error), kLongest)) << '\n' << std::flush;
}

// The JSON form of a failure, where the command has not given one of its own.
void SetErrors(const std::vector<Error>& errors, Output& output) {
  if (errors.empty() || output.Has("errors")) return;
  Json list = Json::array();
  for (const Error& error : errors) list.push_back(ToJson(error));
  output.Set("ok", false);
  output.Set("errors", std::move(list));
}

// The words as a run notes them: without what changes no result, so that equal runs have equal
// files, and without folders that mean nothing elsewhere.
std::vector<std::string> WordsOfRun(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (name == "--json") continue;
    if (name == "--out" || name == "--threads") {
      i += name == words[i];  // the value is a word of its own
      continue;
    }
    const bool path = words[i].starts_with('/');
    kept.push_back(path ? std::filesystem::path(words[i]).filename().string() : words[i]);
  }
  return kept;
}

// One command at work: where its words go, and what went wrong so far.
class Invocation {
 public:
  Invocation(const ParsedLine& line, std::vector<std::string> words, std::ostream& out,
             std::ostream& err, const Surroundings& surroundings)
      : line_(line),
        words_(std::move(words)),
        to_file_(!line.options.out.empty() && !line.command->writes_out),
        out_(out),
        err_(err),
        surroundings_(surroundings),
        output_(to_file_ ? buffer_ : out,
                line.options.json ? OutputForm::kJson : OutputForm::kText) {}

  int Run() {
    Context context{.options = line_.options,
                    .output = output_,
                    .origin = {.version = TESSERA_VERSION_STRING, .command = words_},
                    .complain = [this](const Error& error) { Complain(error); },
                    .remark = [this](std::string_view text) { Remark(text); },
                    .start_progress = [this](ProgressOptions options) { return Start(options); },
                    .page = surroundings_.page,
                    .live = [this] { return surroundings_.terminal().live; },
                    .stopped = surroundings_.stopped};
    const Result<void> done = RunWithinMemory(context);
    if (!done) Complain(done.error());
    SetErrors(errors_, output_);
    if (Result<void> finished = output_.Finish(); !finished && done) Complain(finished.error());
    if (to_file_) DeliverBuffer();
    if (!errors_.empty()) return ExitCodeOf(errors_.front());
    return surroundings_.stopped() ? kInterruptedExitCode : 0;
  }

 private:
  // Sizes that settings decide are checked before they are taken (base/memory.h). What is left is
  // a machine, or a limit, that is too small for the program itself.
  Result<void> RunWithinMemory(Context& context) {
    try {
      return line_.bound.run(context);
    } catch (const std::bad_alloc&) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("out of memory: {} are left",
                                          MemoryText(static_cast<double>(AvailableMemoryBytes()))),
                   .hint = "a smaller problem, fewer threads or a higher 'ulimit -v' would help"};
    } catch (const std::length_error& error) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("out of memory: {}", error.what()),
                   .hint = "no machine has room for what the settings ask for"};
    } catch (const std::system_error& error) {  // threads and folders of the standard library
      if (error.code() != std::errc::resource_unavailable_try_again) {
        return Error{.kind = ErrorKind::kIo, .message = error.what()};
      }
      return Error{.kind = ErrorKind::kIo,
                   .message = fmt::format("the system gives no more threads: {}", error.what()),
                   .hint = "ask for fewer with --threads"};
    } catch (const std::exception& error) {  // the library throws none of these: a defect
      if (surroundings_.parts_throw) throw;
      return Error{.kind = ErrorKind::kInternal,
                   .message = fmt::format("internal error: {}; please report this", error.what())};
    }
  }

  // A command that was stopped before it found anything ran out of budget only in a way.
  int ExitCodeOf(const Error& error) const {
    if (surroundings_.stopped() && error.kind == ErrorKind::kBudget) return kInterruptedExitCode;
    return ExitCode(error.kind);
  }

  void Complain(const Error& error) {
    errors_.push_back(error);
    if (surroundings_.complained) surroundings_.complained(error);
    MakeRoom();
    if (!output_.reader_left()) Print(error, err_);
  }

  void Remark(std::string_view text) {
    MakeRoom();
    err_ << PrintableLines(text) << '\n' << std::flush;
  }

  std::shared_ptr<ProgressObserver> Start(const ProgressOptions& options) {
    if (surroundings_.start_progress) return surroundings_.start_progress(options);
    auto reporter = std::make_shared<ProgressReporter>(err_, options, surroundings_.clock,
                                                       surroundings_.terminal);
    progress_ = reporter;
    return reporter;
  }

  // Text must not end up in the middle of a live table.
  void MakeRoom() {
    if (const auto reporter = progress_.lock()) reporter->MakeRoom();
  }

  // With --out, what was shown becomes a file once it is complete. A failed command leaves none;
  // its output goes to stdout as it would have without --out.
  void DeliverBuffer() {
    if (!errors_.empty()) {
      out_ << buffer_.str() << std::flush;
      return;
    }
    const GlobalOptions& options = line_.options;
    const std::string path =
        (std::filesystem::path(options.out) /
         fmt::format("{}.{}", line_.command->name, options.json ? "json" : "txt"))
            .string();
    Result<void> written = MakeFolder(options.out);
    if (written) written = WriteFileAtomically(path, buffer_.str());
    if (!written) {
      Complain(written.error());
    } else if (!options.json) {
      out_ << path << '\n' << std::flush;
    }
  }

  const ParsedLine& line_;
  const std::vector<std::string> words_;  // as a run notes them
  const bool to_file_;
  std::ostream& out_;
  std::ostream& err_;
  const Surroundings& surroundings_;
  std::ostringstream buffer_;
  Output output_;
  std::vector<Error> errors_;
  std::weak_ptr<ProgressReporter> progress_;
};

// A line that cannot be parsed still says --json to somebody who reads our stdout.
int RejectLine(const Error& error, const std::vector<std::string>& words, std::ostream& out,
               std::ostream& err, const Surroundings& surroundings) {
  Print(error, err);
  if (surroundings.complained) surroundings.complained(error);
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
  if (const Result<void> added = coopt::RegisterCooptimizeEnv(); !added) {
    Print(added.error(), err);
    return ExitCode(added.error().kind);
  }
  std::vector<std::string> asked = words;
  if (!asked.empty() && asked[0] == "help") {  // `tessera help zoo` is `tessera zoo --help`
    asked.erase(asked.begin());
    asked.push_back("--help");
  }
  const Result<ParsedLine> line = ParseLine(Commands(), asked);
  if (!line) return RejectLine(line.error(), asked, out, err, surroundings);
  if (line->help) {
    return ShowText(line->command != nullptr ? Help(*line->command) : Help(Commands()), out, err);
  }
  if (line->version) return ShowText("tessera " TESSERA_VERSION_STRING "\n", out, err);
  if (line->command == nullptr) {
    err << Help(Commands());
    return ExitCode(ErrorKind::kUsage);
  }
  return Invocation(*line, WordsOfRun(asked), out, err, surroundings).Run();
}

}  // namespace tessera
