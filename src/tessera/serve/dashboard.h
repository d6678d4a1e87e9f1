// `tessera serve`: the runs of a folder as pages that follow them while they go on. Who can reach
// the port may look; who knows the token may also start, stop, extend and resume runs.
//
//   GET  /, /runs/ID[,ID...]       the page, which asks for the rest
//   GET  /api/runs                 what runs there are, and what this dashboard has started
//   GET  /api/runs/ID[,ID...]      the data of a page, as `tessera report` has it
//   GET  /api/events               server-sent events: the list whenever it changes
//   GET  /api/runs/ID/events       a run that goes on: how far it is, and that it has ended
//   POST /api/start                {"name": "a", "command": ["map", "resnet18", ...]}
//   POST /api/runs/ID/stop, /resume, /extend   extend: {"to": samples or episodes}
#ifndef TESSERA_SERVE_DASHBOARD_H_
#define TESSERA_SERVE_DASHBOARD_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tessera/result.h"
#include "tessera/serve/bounded_server.h"
#include "tessera/serve/catalogue.h"
#include "tessera/serve/children.h"

namespace tessera {

struct DashboardOptions {
  std::string folder = {};

  // Whose connections are taken. Default: those of this machine.
  std::string host = "127.0.0.1";

  // Default: 0 (one that is free).
  int port = 0;

  std::string program = "/proc/self/exe";  // starts runs
  std::string version = {};                // of the program
  ServerLimits limits = {};

  // Streams of events at a time; they are connections, too. Default: 16.
  int event_streams = 16;

  // Between two looks at the folder. Default: 1.
  double scan_seconds = 1;
};

// Contract:
//   Hosts     a request whose Host is not that of the server, or whose Origin is another one, is
//             refused: pages of other sites cannot read or start anything.
//   Paths     requests name runs by id and never a file; a target with "..", "%" or anything else
//             that no address of ours has is refused.
//   Memory    pages are kept up to kMostCachedBytes; answers of one page share its bytes.
//   Runs      are looked at only; nothing of the dashboard holds a lock of theirs.
class Dashboard {
 public:
  static constexpr size_t kMostCachedBytes = 64 << 20;

  explicit Dashboard(DashboardOptions options);
  ~Dashboard();
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  // Takes connections from here on. Errors: a folder that is none, a port that is taken.
  Result<void> Start();
  // Ends all connections, and asks runs that it started to stop.
  void Stop();

  int port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string Url() const;

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;
  using Text = std::shared_ptr<const std::string>;

  struct Live {
    int watchers = 0;
    Text text = {};
  };
  struct CachedPage {
    std::string stamp;
    Text text;
    int64_t used = 0;
  };

  void AddRoutes();
  httplib::Server::HandlerResponse Guard(const Request& request, Response& response) const;
  bool IsOurHost(const std::string& host) const;

  void Watch();
  void Look();
  Text ListText() const;
  Text LiveText(const CatalogueEntry& entry) const;

  Result<Text> DataOf(const std::string& ids);
  Result<Text> MakeData(const std::vector<CatalogueEntry>& entries) const;
  void Stream(const std::string& id, Response& response);

  Result<void> StartRun(const Request& request);
  Result<void> Act(const std::string& id, const std::string& action, const Request& request);
  Result<CatalogueEntry> EntryOf(const std::string& id);

  const DashboardOptions options_;
  const std::string token_;
  const std::string page_;
  int port_ = 0;
  BoundedServer server_;
  std::thread listener_, watcher_;

  mutable std::mutex mutex_;  // of everything up to `changed_`
  Catalogue catalogue_;
  Children children_;
  Text list_;
  std::map<std::string, Live> live_;  // by id, while somebody watches
  bool ending_ = false;
  std::condition_variable changed_;

  std::mutex making_;  // one page is made at a time
  std::map<std::string, CachedPage> cached_;
  int64_t uses_ = 0;

  std::atomic<int> streams_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_SERVE_DASHBOARD_H_
