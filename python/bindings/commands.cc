// The commands of the program in process: what they take, and running one of them on a thread of
// its own, so that Python stays alive beside it.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "support.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/parse.h"
#include "tessera/cli/run.h"
#include "tessera/part.h"
#include "tessera/run.h"

namespace tessera::python {
namespace {

using nb::literals::operator""_a;

// ---- What commands take ------------------------------------------------------------------------

// The type of a flag's values and, where there is one, its default.
struct TypeOfFlag {
  nb::dict& described;

  void operator()(const bool* value) const { Put("bool", nb::cast(*value)); }
  void operator()(const std::string* value) const {
    Put("str", value->empty() ? nb::none() : nb::object(nb::cast(*value)));
  }
  void operator()(const int64_t* value) const { Put("int", nb::cast(*value)); }
  void operator()(const double* value) const { Put("float", nb::cast(*value)); }
  void operator()(const std::optional<std::string>*) const { Put("str", nb::none()); }
  void operator()(const std::optional<int64_t>*) const { Put("int", nb::none()); }
  void operator()(const std::optional<double>*) const { Put("float", nb::none()); }
  void operator()(const std::vector<std::string>*) const { Put("list", nb::none()); }

  void Put(const char* type, nb::object fallback) const {
    described["type"] = type;
    described["default"] = fallback;
  }
};

nb::dict Described(const Flag& flag) {
  nb::dict described;
  described["name"] = std::string(LongName(flag));
  nb::list names;
  for (const std::string_view name : Split(flag.name, ',')) names.append(std::string(name));
  described["names"] = names;
  described["help"] = std::string(flag.help);
  described["required"] = flag.required;
  described["hidden"] = flag.hidden;
  std::visit(TypeOfFlag{described}, flag.target);
  return described;
}

nb::list CommandList() {
  nb::list commands;
  for (const Command* command : Commands()) {
    const BoundCommand bound = command->bind();
    nb::dict described;
    described["name"] = std::string(command->name);
    described["summary"] = std::string(command->summary);
    described["details"] = std::string(command->details);
    described["writes_out"] = command->writes_out;
    nb::list flags;
    for (const Flag& flag : bound.flags) flags.append(Described(flag));
    described["flags"] = flags;
    commands.append(described);
  }
  return commands;
}

// ---- Running one -------------------------------------------------------------------------------

constexpr std::chrono::milliseconds kLook{50};  // at Ctrl-C

// One call from Python. The calling thread waits without the GIL and looks for signals.
class Call {
 public:
  // The callback is a function of (event, name, best, bound, gap, samples, budget), or none.
  Call(nb::object progress, const std::vector<std::pair<std::string, std::string>>& parts)
      : progress_(std::move(progress)) {
    for (const auto& [kind, name] : parts) {
      Part* const part = FindPart(kind, name);
      if (part != nullptr) parts_.emplace_back(part, part->exceptions.load());
    }
  }

  bool stopped() const {
    if (stop_) return true;
    for (const auto& [part, before] : parts_) {
      if (part->exceptions != before) return true;
    }
    return false;
  }

  void Report(ProgressEvent event, const ProgressRow& row) {
    nb::gil_scoped_acquire gil;
    if (failed_) return;
    try {
      static constexpr const char* kEvents[] = {"started", "advanced", "improved", "milestone",
                                                "done"};
      progress_(kEvents[static_cast<size_t>(event)], row.name, nb::cast(row.best),
                nb::cast(row.bound), nb::cast(row.gap), row.samples, row.budget);
    } catch (...) {  // an observer must not throw: the run stops, and the caller raises it
      failed_ = std::current_exception();
      stop_ = true;
    }
  }

  // Runs `work` on a thread of its own to its end. Throws what it threw.
  template <typename Work>
  void Run(Work&& work) {
    bool done = false;
    std::exception_ptr thrown;
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      done = true;
      ended_.notify_one();
    });
    {
      nb::gil_scoped_release release;
      std::unique_lock lock(mutex_);
      while (!ended_.wait_for(lock, kLook, [&] { return done; })) {
        lock.unlock();
        LookForSignals();
        lock.lock();
      }
      lock.unlock();
      worker.join();
    }
    if (interrupts_ > 0) ResetStop();
    if (failed_) std::rethrow_exception(failed_);
    if (thrown) std::rethrow_exception(thrown);
    if (interrupts_ > 1) {
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      throw nb::python_error();
    }
  }

  bool interrupted() const { return interrupts_ > 0; }
  bool has_progress() const { return !progress_.is_none(); }

 private:
  // What a handler of the user's raises ends the run, too, and is raised at the end.
  void LookForSignals() {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() == 0) return;
    const bool asked = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0;
    if (asked) {
      PyErr_Clear();
      ++interrupts_;
      RequestStop();  // for work that looks at nothing else
    } else {
      try {
        throw nb::python_error();
      } catch (...) {
        failed_ = std::current_exception();
      }
    }
    stop_ = true;
  }

  nb::object progress_;
  std::vector<std::pair<Part*, int64_t>> parts_;
  std::atomic<bool> stop_ = false;
  int interrupts_ = 0;
  std::exception_ptr failed_;
  std::mutex mutex_;
  std::condition_variable ended_;
};

class Observer final : public ProgressObserver {
 public:
  explicit Observer(Call& call) : call_(call) {}
  void OnProgress(ProgressEvent event, const ProgressRow& row) override {
    if (call_.has_progress()) call_.Report(event, row);
  }

 private:
  Call& call_;
};

// What a command left: its output, its remarks, its errors and the page of its run.
struct CommandResult {
  int exit_code = 0;
  std::string output, remarks, page;
  std::vector<Error> errors;
  bool interrupted = false;
};

CommandResult RunCommand(const std::vector<std::string>& words, nb::object progress,
                         const std::vector<std::pair<std::string, std::string>>& parts) {
  Call call(std::move(progress), parts);
  CommandResult result;
  std::ostringstream out, err;
  call.Run([&] {
    Surroundings surroundings;
    surroundings.stopped = [&] { return call.stopped(); };
    surroundings.start_progress = [&](const ProgressOptions&) {
      return std::make_shared<Observer>(call);
    };
    surroundings.complained = [&](const Error& error) { result.errors.push_back(error); };
    surroundings.page = [&](const std::string& html) { result.page = html; };
    surroundings.parts_throw = true;
    result.exit_code = RunTessera(words, out, err, surroundings);
  });
  result.output = std::move(out).str();
  result.remarks = std::move(err).str();
  result.interrupted = call.interrupted();
  return result;
}

// The program itself, on the streams of the process and with its signals.
int RunProgram(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  InstallStopSignals();
  nb::gil_scoped_release release;
  return RunTessera(words, std::cout, std::cerr, {.terminal = StderrTerminal});
}

}  // namespace

void BindCommands(nb::module_& module) {
  nb::class_<Error>(module, "ErrorValue", "An error of the library as it stands.")
      .def("throw_it", [](const Error& error) { Raise(error); });
  nb::class_<CommandResult>(module, "Outcome", "What a command left.")
      .def_ro("exit_code", &CommandResult::exit_code)
      .def_prop_ro(
          "output",
          [](const CommandResult& o) { return nb::bytes(o.output.data(), o.output.size()); })
      .def_prop_ro(
          "remarks",
          [](const CommandResult& o) { return nb::bytes(o.remarks.data(), o.remarks.size()); })
      .def_prop_ro("page",
                   [](const CommandResult& o) { return nb::bytes(o.page.data(), o.page.size()); })
      .def_ro("errors", &CommandResult::errors)
      .def_ro("interrupted", &CommandResult::interrupted);
  module.def("commands", &CommandList, nb::sig("def commands() -> list[dict[str, typing.Any]]"),
             "All commands with their flags.");
  module.def("run_command", &RunCommand, "words"_a, "progress"_a.none(), "parts"_a,
             "Runs a command of the program; the GIL is free meanwhile.");
  module.def("run_program", &RunProgram, "words"_a, "The program on the streams of the process.");
}

}  // namespace tessera::python
