// Routes, and the thread that looks at the folder.
#include "tessera/serve/dashboard.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/part.h"
#include "tessera/report/run_data.h"
#include "tessera/runs.h"
#include "tessera/serve/lock_holder.h"

namespace tessera {
namespace {

using Request = httplib::Request;
using Response = httplib::Response;

constexpr const char* kJson = "application/json";
constexpr size_t kMostBeside = 4;  // runs on one page
constexpr size_t kLongestTarget = 256;
constexpr double kStopSeconds = 10;  // for runs to end by themselves

// Commands that make runs.
constexpr std::array<std::string_view, 7> kStarted = {"map",   "compare", "cooptimize", "train",
                                                      "study", "explore", "sweep"};

std::string NewToken() {
  std::array<unsigned char, 16> bytes{};
  TESSERA_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == std::ssize(bytes));
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Takes as long for a wrong word as for the right one.
bool SameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    different |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return different == 0;
}

std::string Dump(const Json& json) { return ToLine(json); }

void Refuse(Response& response, int status, std::string_view why, std::string_view hint = "") {
  response.status = status;
  response.set_content(Dump({{"error", why}, {"hint", hint}}), kJson);
}

void Answer(Response& response, const Result<void>& done) {
  if (!done) return Refuse(response, 400, done.error().message, done.error().hint);
  response.set_content("{}", kJson);
}

// Bytes that several answers share.
void Give(Response& response, std::shared_ptr<const std::string> text, const char* type) {
  const size_t size = text->size();
  response.set_content_provider(
      size, type, [text = std::move(text)](size_t offset, size_t length, httplib::DataSink& sink) {
        return sink.write(text->data() + offset, length);
      });
}

// A name for a folder that is nothing else.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

Error Wrong(std::string message, std::string hint = "") {
  return {.kind = ErrorKind::kBadValue, .message = std::move(message), .hint = std::move(hint)};
}

// The object of a request, read with the limits that all JSON has.
Result<Json> BodyOf(const Request& request) {
  if (const Result<Node> node = ParseJson(request.body, "request"); !node) return node.error();
  Json json = FromText(request.body);
  if (!json.is_object()) return Wrong("the request is no JSON object");
  return json;
}

// The words of a new run: a command that makes one, and nothing that leads out of its folder.
Result<std::vector<std::string>> WordsOf(const Json& body) {
  const auto command = body.find("command");
  std::vector<std::string> words;
  if (command != body.end() && command->is_array() && command->size() <= 64) {
    for (const Json& word : *command) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
  }
  if (words.empty() || words.size() != command->size()) {
    return Wrong("'command' must be a list of at most 64 words");
  }
  if (std::ranges::find(kStarted, words.front()) == kStarted.end()) {
    return Wrong(fmt::format("{} makes no run", Quoted(words.front())),
                 fmt::format("start with one of {}", fmt::join(kStarted, ", ")));
  }
  for (const std::string& word : words) {
    if (word.starts_with("--out") || word.starts_with("--resume")) {
      return Wrong("the folder of a run is chosen by its name");
    }
    // A study names its programs in a file.
    if (word.find("exec:") != std::string::npos || word.starts_with("--allow-exec")) {
      return Wrong("other programs are not started from here");
    }
  }
  return words;
}

}  // namespace

Dashboard::Dashboard(DashboardOptions options)
    : options_(std::move(options)),
      token_(NewToken()),
      page_(ServedPage(options_.version)),
      server_(options_.limits),
      catalogue_(options_.folder),
      children_(options_.program) {}

Dashboard::~Dashboard() { Stop(); }

Result<void> Dashboard::Start() {
  std::error_code code;
  if (!std::filesystem::is_directory(options_.folder, code)) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("{} is no folder", options_.folder),
                 .hint = "name the folder that holds runs"};
  }
  AddRoutes();
  port_ = options_.port;
  if (port_ == 0) {
    port_ = server_.bind_to_any_port(options_.host);
  } else if (!server_.bind_to_port(options_.host, port_)) {
    port_ = -1;
  }
  if (port_ <= 0) {
    return Error{
        .kind = ErrorKind::kIo,
        .message = fmt::format("cannot take connections at {}:{}", options_.host, options_.port),
        .hint = "choose another port; --port 0 takes one that is free"};
  }
  server_.WidenBacklog();
  Look();
  watcher_ = std::thread([this] { Watch(); });
  listener_ = std::thread([this] { server_.listen_after_bind(); });
  while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return {};
}

void Dashboard::Stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  server_.stop();
  if (listener_.joinable()) listener_.join();
  if (watcher_.joinable()) watcher_.join();
  children_.Stop(kStopSeconds);
}

std::string Dashboard::Url() const {
  const bool six = options_.host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/", six ? "[" + options_.host + "]" : options_.host, port_);
}

// ---- Who may ask -------------------------------------------------------------------------------

bool Dashboard::IsOurHost(const std::string& host) const {
  const std::string end = fmt::format(":{}", port_);
  if (!host.ends_with(end)) return false;
  const std::string name = host.substr(0, host.size() - end.size());
  if (name == "127.0.0.1" || name == "localhost" || name == "[::1]") return true;
  if (name == options_.host || name == "[" + options_.host + "]") return true;
  // A server for all interfaces has many addresses; a page of another site only has a name.
  const bool all = options_.host == "0.0.0.0" || options_.host == "::";
  return all && !name.empty() && name.find_first_not_of("0123456789.") == std::string::npos;
}

httplib::Server::HandlerResponse Dashboard::Guard(const Request& request,
                                                  Response& response) const {
  const auto refuse = [&](int status, std::string_view why) {
    Refuse(response, status, why);
    return httplib::Server::HandlerResponse::Handled;
  };
  if (request.get_header_value_count("Host") != 1 || !IsOurHost(request.get_header_value("Host"))) {
    return refuse(421, "the request is for another host");
  }
  if (request.has_header("Origin") &&
      request.get_header_value("Origin") != "http://" + request.get_header_value("Host")) {
    return refuse(403, "the request comes from a page of another site");
  }
  const std::string& target = request.target;
  const bool plain = std::ranges::all_of(target, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == ',';
  });
  if (!plain || target.size() > kLongestTarget) return refuse(404, "there is no such page");
  if (request.method == "GET") return httplib::Server::HandlerResponse::Unhandled;
  if (request.method != "POST") return refuse(405, "pages are asked for with GET");
  if (!SameSecret(request.get_header_value("X-Tessera-Token"), token_)) {
    return refuse(403, "this needs the token that 'tessera serve' printed");
  }
  return httplib::Server::HandlerResponse::Unhandled;
}

// ---- Routes ------------------------------------------------------------------------------------

void Dashboard::AddRoutes() {
  server_.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                               {"Referrer-Policy", "no-referrer"},
                               {"Cross-Origin-Resource-Policy", "same-origin"},
                               {"Content-Security-Policy", "frame-ancestors 'none'"},
                               {"Cache-Control", "no-store"}});
  server_.set_pre_routing_handler(
      [this](const Request& request, Response& response) { return Guard(request, response); });
  server_.set_error_handler([](const Request&, Response& response) {
    if (response.body.empty()) Refuse(response, response.status, "there is no such page");
  });
  server_.set_exception_handler([](const Request&, Response& response, const std::exception_ptr&) {
    Refuse(response, 500, "this request needs more memory than there is");
  });
  const auto page = [this](const Request&, Response& response) {
    Give(response, Text(&page_, [](const std::string*) {}), "text/html; charset=utf-8");
  };
  server_.Get("/", page);
  server_.Get("/runs/[0-9a-f,]+", page);
  server_.Get("/api/runs", [this](const Request&, Response& response) {
    const std::lock_guard lock(mutex_);
    Give(response, list_, kJson);
  });
  server_.Get("/api/runs/([0-9a-f,]+)", [this](const Request& request, Response& response) {
    const Result<Text> text = DataOf(request.matches[1]);
    if (!text) return Refuse(response, 404, text.error().message, text.error().hint);
    Give(response, *text, kJson);
  });
  server_.Get("/api/events", [this](const Request&, Response& response) { Stream("", response); });
  server_.Get("/api/runs/([0-9a-f]+)/events", [this](const Request& request, Response& response) {
    Stream(request.matches[1], response);
  });
  server_.Post("/api/start", [this](const Request& request, Response& response) {
    Answer(response, StartRun(request));
  });
  server_.Post("/api/runs/([0-9a-f]+)/([a-z]+)",
               [this](const Request& request, Response& response) {
                 Answer(response, Act(request.matches[1], request.matches[2], request));
               });
}

// ---- Watching ----------------------------------------------------------------------------------

void Dashboard::Watch() {
  std::unique_lock lock(mutex_);
  const auto pause = std::chrono::duration<double>(options_.scan_seconds);
  while (!changed_.wait_for(lock, pause, [this] { return ending_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void Dashboard::Look() {
  const std::lock_guard lock(mutex_);
  catalogue_.Scan();
  children_.Reap();
  list_ = ListText();
  for (auto& [id, live] : live_) {
    if (const CatalogueEntry* const entry = catalogue_.Find(id)) live.text = LiveText(*entry);
  }
  changed_.notify_all();
}

Dashboard::Text Dashboard::ListText() const {
  Json json = catalogue_.ToJson();
  json["jobs"] = children_.ToJson();
  return std::make_shared<const std::string>(Dump(json));
}

Dashboard::Text Dashboard::LiveText(const CatalogueEntry& entry) const {
  const RunTail* const tail = catalogue_.TailOf(entry.id);
  return std::make_shared<const std::string>(
      Dump({{"running", entry.running()},
            {"ended", entry.state == RunState::kEnded},
            {"live", tail == nullptr ? Json(nullptr) : tail->ToJson()}}));
}

// The list of runs, or one run, as events: whenever the text is another one, and now and then a
// line that says nothing, so that a client that has gone is noticed.
void Dashboard::Stream(const std::string& id, Response& response) {
  if (streams_.fetch_add(1) >= options_.event_streams) {
    --streams_;
    return Refuse(response, 503, "too many pages follow already");
  }
  {
    const std::lock_guard lock(mutex_);
    const CatalogueEntry* const entry = catalogue_.Find(id);
    if (!id.empty() && entry == nullptr) {
      --streams_;
      return Refuse(response, 404, "there is no such run");
    }
    if (!id.empty()) {
      Live& live = live_[id];
      ++live.watchers;
      live.text = LiveText(*entry);
    }
  }
  BoundedServer::KeepOpen();
  const auto send = [this, id, sent = std::string(), silent = 0](size_t,
                                                                 httplib::DataSink& sink) mutable {
    Text text;
    {
      std::unique_lock lock(mutex_);
      const auto news = [&] {
        text = id.empty() ? list_ : live_[id].text;
        return ending_ || (text != nullptr && *text != sent);
      };
      changed_.wait_for(lock, std::chrono::seconds(1), news);
      if (ending_) return false;
    }
    if (text != nullptr && *text != sent) {
      sent = *text;
      const std::string event = fmt::format("data: {}\n\n", sent);
      return sink.write(event.data(), event.size());
    }
    constexpr std::string_view kNothing = ":\n\n";
    return ++silent % 10 != 0 || sink.write(kNothing.data(), kNothing.size());
  };
  response.set_chunked_content_provider("text/event-stream", send, [this, id](bool) {
    --streams_;
    if (id.empty()) return;
    const std::lock_guard lock(mutex_);
    if (--live_[id].watchers == 0) live_.erase(id);
  });
}

// ---- Pages -------------------------------------------------------------------------------------

Result<CatalogueEntry> Dashboard::EntryOf(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const CatalogueEntry* const entry = catalogue_.Find(id);
  if (entry == nullptr) return Wrong("there is no such run");
  return *entry;
}

Result<Dashboard::Text> Dashboard::DataOf(const std::string& ids) {
  std::vector<CatalogueEntry> entries;
  std::string stamp;
  for (const std::string_view id : Split(ids, ',')) {
    if (entries.size() == kMostBeside) {
      return Wrong(fmt::format("a page shows at most {} runs", kMostBeside));
    }
    Result<CatalogueEntry> entry = EntryOf(std::string(id));
    if (!entry) return entry.error();
    if (entry->state == RunState::kDamaged) return Wrong(entry->error);
    stamp += entry->stamp + ";";
    entries.push_back(*std::move(entry));
  }
  const std::lock_guard lock(making_);
  CachedPage& page = cached_[ids];
  if (page.text == nullptr || page.stamp != stamp) {
    Result<Text> made = MakeData(entries);
    if (!made) {
      cached_.erase(ids);
      return made.error();
    }
    page = {.stamp = stamp, .text = *std::move(made)};
  }
  page.used = ++uses_;
  const Text text = page.text;
  // Those that were asked for least recently go first.
  const auto bytes = [this] {
    size_t sum = 0;
    for (const auto& [key, value] : cached_) sum += value.text->size();
    return sum;
  };
  while (!cached_.empty() && bytes() > kMostCachedBytes) {
    cached_.erase(
        std::ranges::min_element(cached_, {}, [](const auto& item) { return item.second.used; }));
  }
  return text;
}

Result<Dashboard::Text> Dashboard::MakeData(const std::vector<CatalogueEntry>& entries) const {
  std::vector<RunDirectory> runs;
  for (const CatalogueEntry& entry : entries) {
    Result<RunDirectory> run = RunDirectory::ReadOnly(entry.path);
    if (!run) return run.error();
    runs.push_back(*std::move(run));
  }
  // A run that goes on has no result yet; its journals tell how far it is.
  if (runs.size() == 1 && !runs.front().header().ended()) {
    Json run = OpenRunData(runs.front());
    {
      const std::lock_guard lock(mutex_);
      const RunTail* const tail = catalogue_.TailOf(entries.front().id);
      run["live"] = tail == nullptr ? Json(nullptr) : tail->ToJson();
    }
    return std::make_shared<const std::string>(Dump({{"version", options_.version},
                                                     {"runs", Json::array({std::move(run)})},
                                                     {"diffs", Json::array({nullptr})}}));
  }
  const Result<Json> data = ReportData(runs, options_.version);
  if (!data) return data.error();
  return std::make_shared<const std::string>(Dump(*data));
}

// ---- Runs --------------------------------------------------------------------------------------

Result<void> Dashboard::StartRun(const Request& request) {
  const Result<Json> body = BodyOf(request);
  if (!body) return body.error();
  const auto given = body->find("name");
  const std::string name =
      given != body->end() && given->is_string() ? given->get<std::string>() : std::string();
  if (!IsPlainName(name)) {
    return Wrong("'name' must be a name for a folder", "letters, digits, '.', '_' and '-'");
  }
  Result<std::vector<std::string>> words = WordsOf(*body);
  if (!words) return words.error();
  const std::string folder = options_.folder + "/" + name;
  std::error_code code;
  if (std::filesystem::symlink_status(folder, code).type() !=
      std::filesystem::file_type::not_found) {
    return Wrong(fmt::format("{} is there already", name), "choose another name");
  }
  words->insert(words->end(), {"--out", folder});
  const std::lock_guard lock(mutex_);
  return children_.Start(name, *words);
}

Result<void> Dashboard::Act(const std::string& id, const std::string& action,
                            const Request& request) {
  const Result<CatalogueEntry> entry = EntryOf(id);
  if (!entry) return entry.error();
  if (action == "stop") return InterruptHolder(entry->path);
  if (LockList::Now().HolderOf(entry->path)) return Wrong("the run goes on already");
  std::vector<std::string> words;
  if (action == "resume") {
    // The last scan may have seen a holder that is gone by now: only what cannot change is asked of
    // it.
    if (entry->state == RunState::kEnded) return Wrong("the run has ended");
    if (entry->state == RunState::kDamaged) return Wrong(entry->error);
    words = {"resume", entry->path};
  } else if (action == "extend") {
    const Result<Json> body = BodyOf(request);
    if (!body) return body.error();
    const auto to = body->find("to");
    if (to == body->end() || !to->is_number_integer() || to->get<int64_t>() < 1) {
      return Wrong("'to' must be a number of samples or episodes");
    }
    const std::string count = fmt::format("{}", to->get<int64_t>());
    if (entry->kind == kTrainRun) {
      words = {"train", "--resume", "--out", entry->path, "--episodes", count};
    } else if (entry->kind == kMapRun) {
      words = {"resume", entry->path, "--samples", count};
    } else {
      return Wrong(fmt::format("a run of {} has an end of its own", entry->kind),
                   "runs of map and train can be extended");
    }
  } else {
    return Wrong(fmt::format("{} is nothing that a run can do", Quoted(action)));
  }
  const std::lock_guard lock(mutex_);
  return children_.Start(entry->name, words);
}

}  // namespace tessera
