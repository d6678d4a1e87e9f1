// The whole program as a function, so that tests and bindings can call it in process.
#ifndef TESSERA_CLI_RUN_H_
#define TESSERA_CLI_RUN_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tessera/part.h"
#include "tessera/report/terminal.h"
#include "tessera/result.h"
#include "tessera/run.h"

namespace tessera {

// What the program finds around it; tests and bindings bring their own.
struct Surroundings {
  // What `err` is connected to. Default: a file.
  std::function<Terminal()> terminal = [] { return Terminal{}; };

  // Seconds. Default: the system's steady clock.
  std::function<double()> clock = SteadySeconds;

  // Whether the work is to stop at its next safe point. Default: after Ctrl-C.
  std::function<bool()> stopped = StopRequested;

  // Who is told of progress instead of `err`; one at a time. Default: empty (nobody instead).
  std::function<std::shared_ptr<ProgressObserver>(const ProgressOptions&)> start_progress = {};

  // Told of every error that the program reports, in order. Default: empty.
  std::function<void(const Error&)> complained = {};

  // Gets the page of a run, HTML, that a folder would get as report.html. Default: empty.
  std::function<void(const std::string& html)> page = {};

  // Whether parts of the caller's throw: exceptions that the library knows nothing of then pass,
  // instead of being reported as a defect of it. Default: false.
  bool parts_throw = false;
};

// Runs `tessera WORDS...` and returns its exit code. Results go to `out`; errors, remarks and
// progress go to `err`.
int RunTessera(const std::vector<std::string>& words, std::ostream& out, std::ostream& err,
               const Surroundings& surroundings = {});

}  // namespace tessera

#endif  // TESSERA_CLI_RUN_H_
