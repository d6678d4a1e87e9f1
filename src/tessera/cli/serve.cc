// tessera serve: the runs of a folder as pages that follow them while they go on.
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/serve/dashboard.h"

namespace tessera {
namespace {

struct ServeArguments {
  std::string folder;
  std::string host = "127.0.0.1";
  int64_t port = 7878;
};

std::vector<Flag> Flags(ServeArguments& arguments) {
  return {{.name = "DIR",
           .target = &arguments.folder,
           .help = "folder with runs, or with folders of runs",
           .required = true},
          {.name = "--port",
           .target = &arguments.port,
           .help = "where to take connections; 0: a port that is free",
           .value = "N",
           .least = 0,
           .most = 65535},
          {.name = "--host",
           .target = &arguments.host,
           .help = "address to take connections at; others than this machine's can then look",
           .value = "ADDRESS"}};
}

Result<void> Run(const ServeArguments& arguments, Context& context) {
  Dashboard dashboard({.folder = arguments.folder,
                       .host = arguments.host,
                       .port = static_cast<int>(arguments.port),
                       .version = context.origin.version});
  if (Result<void> started = dashboard.Start(); !started) return started;
  const std::string url = fmt::format("{}#token={}", dashboard.Url(), dashboard.token());
  context.output.Set("url", url);
  if (Result<void> shown = context.output.ShowText(url + "\n"); !shown) return shown;
  context.remark(
      "Who has this address may start and stop runs; without what follows the '#', one may look. "
      "Ctrl-C ends it.");
  if (arguments.host != "127.0.0.1" && arguments.host != "localhost" && arguments.host != "::1") {
    context.remark(
        fmt::format("warning: {} may be reached from other machines, unencrypted", arguments.host));
  }
  while (!context.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  dashboard.Stop();
  return {};
}

}  // namespace

extern const Command kServeCommand = {
    .name = "serve",
    .summary = "the runs of a folder as live pages, for a browser on this machine",
    .examples = {{"tessera serve runs", "prints the address to open"},
                 {"tessera serve runs --port 0", "at a port that is free"}},
    .bind = Bind<ServeArguments, Flags, Run>,
    .details =
        "Pages are those of 'tessera report', and follow runs while they go on. Starting, "
        "stopping,\n"
        "extending and resuming runs needs the token in the address that is printed. Ctrl-C ends\n"
        "the server with exit code 130 and asks the runs that it started to stop; 'tessera "
        "resume'\n"
        "goes on with them. docs/report.md.\n"};

}  // namespace tessera
