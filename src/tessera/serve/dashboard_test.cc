// The server as strangers meet it: over sockets, with requests that no browser sends.
#include "tessera/serve/dashboard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/temporary_folder.h"
#include "tessera/record/clock.h"
#include "tessera/run.h"

namespace tessera {
namespace {

constexpr const char* kSettings =
    R"({"config":{"env":"cooperative_navigation","env_settings":{},"algorithm":"maddpg",
    "preset":"","settings":{},"envs":1,"seed":1,"report_every":10},"episodes":50,
    "checkpoint_every":5000})";

// A connection to 127.0.0.1 that reads for at most some seconds.
class Client {
 public:
  explicit Client(int port, int receive_buffer = 0) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  Client(Client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  ~Client() {
    if (socket_ >= 0) ::close(socket_);
  }

  bool connected() const { return connected_; }
  // Bytes that were taken before the server closed the connection.
  size_t Send(const std::string& text) const {
    size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t count = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) break;
      sent += static_cast<size_t>(count);
    }
    return sent;
  }
  // Up to the end of the connection, or until `until` came.
  std::string Receive(const std::string& until = "") const {
    std::string text;
    std::array<char, 4096> bytes{};
    for (;;) {
      const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && text.empty()) return std::strerror(errno);
      if (count <= 0) return text;
      text.append(bytes.data(), static_cast<size_t>(count));
      if (!until.empty() && text.find(until) != std::string::npos) return text;
    }
  }

 private:
  int socket_;
  bool connected_ = false;
};

class DashboardTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<RunDirectory> run =
        RunDirectory::Create(folder_.path() + "/a", {.kind = "train", .settings = kSettings}, {});
    ASSERT_TRUE(run) << ToString(run.error());
    Restart({});
  }

  void Restart(ServerLimits limits) {
    dashboard_ = std::make_unique<Dashboard>(DashboardOptions{.folder = folder_.path(),
                                                              .program = "/bin/false",
                                                              .version = "test",
                                                              .limits = limits,
                                                              .event_streams = 2,
                                                              .scan_seconds = 0.05});
    const Result<void> started = dashboard_->Start();
    ASSERT_TRUE(started) << ToString(started.error());
  }

  std::string Host() const { return fmt::format("127.0.0.1:{}", dashboard_->port()); }
  std::string Ask(const std::string& text) const {
    const Client client(dashboard_->port());
    client.Send(text);
    return client.Receive();
  }
  std::string Get(const std::string& target, const std::string& more = "") const {
    return Ask(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", target, Host(), more));
  }
  std::string Post(const std::string& target, const std::string& body,
                   const std::string& token) const {
    return Ask(
        fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nX-Tessera-Token: {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    target, Host(), token, body.size(), body));
  }
  static std::string StatusOf(const std::string& answer) {
    return answer.size() < 12 ? answer : answer.substr(9, 3);
  }
  std::string IdOfRun() const {
    const std::string list = Get("/api/runs");
    return Json::parse(list.substr(list.find("\r\n\r\n") + 4))["runs"][0]["id"];
  }

  TemporaryFolder folder_;
  std::unique_ptr<Dashboard> dashboard_;
};

TEST_F(DashboardTest, GivesThePageAndTheList) {
  const std::string page = Get("/");
  EXPECT_EQ(StatusOf(page), "200");
  EXPECT_NE(page.find("connect-src 'self'"), std::string::npos);
  EXPECT_NE(page.find("X-Content-Type-Options: nosniff"), std::string::npos);
  EXPECT_NE(Get("/api/runs").find(R"("name":"a")"), std::string::npos);
  const std::string data = Get("/api/runs/" + IdOfRun());
  EXPECT_EQ(StatusOf(data), "200");
  EXPECT_NE(data.find(R"("kind":"train")"), std::string::npos);
}

TEST_F(DashboardTest, RefusesOtherHostsAndOrigins) {
  for (const std::string host : {"evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1",
                                 "127.0.0.1.evil.example", ""}) {
    EXPECT_EQ(StatusOf(Ask(fmt::format("GET /api/runs HTTP/1.1\r\nHost: {}\r\n\r\n", host))), "421")
        << host;
  }
  EXPECT_EQ(StatusOf(Ask("GET / HTTP/1.1\r\n\r\n")), "421");
  EXPECT_EQ(StatusOf(Get("/", "Host: evil.example\r\n")), "421");  // a second one
  EXPECT_EQ(StatusOf(Get("/", "Origin: http://evil.example\r\n")), "403");
  EXPECT_EQ(StatusOf(Get("/", "Origin: null\r\n")), "403");
  EXPECT_EQ(StatusOf(Get("/", fmt::format("Origin: http://{}\r\n", Host()))), "200");
}

TEST_F(DashboardTest, PathsLeadNowhereElse) {
  std::ofstream(folder_.path() + "/secret.txt") << "do not read";
  for (const std::string target :
       {"/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/runs/..",
        "/runs/%2fetc", "/api/runs/..%2f..", "/api/runs/a", "/a/run.json", "/secret.txt", "/runs/",
        "/api/", "/api/runs/", "//etc/passwd", "/api/runs/0000/../x", "/api/runs/a%00b", "/?x=1",
        "/runs/../api/runs"}) {
    const std::string answer = Get(target);
    EXPECT_EQ(StatusOf(answer), "404") << target;
    EXPECT_EQ(answer.find("do not read"), std::string::npos) << target;
  }
  EXPECT_NE(StatusOf(Ask(fmt::format("DELETE / HTTP/1.1\r\nHost: {}\r\n\r\n", Host()))), "200");
}

TEST_F(DashboardTest, ActsOnlyWithTheToken) {
  // Asked for first: what is started below ends at once and is in the list, too.
  const std::string run = "/api/runs/" + IdOfRun();
  const std::string start = R"({"name":"new","command":["map","resnet18"]})";
  for (const std::string& token :
       {std::string(), std::string("0"), std::string(32, '0'), dashboard_->token() + "0"}) {
    EXPECT_EQ(StatusOf(Post("/api/start", start, token)), "403") << token;
    EXPECT_EQ(StatusOf(Post(run + "/resume", "{}", token)), "403");
  }
  const std::string started = Post("/api/start", start, dashboard_->token());
  EXPECT_EQ(StatusOf(started), "200") << started;
  for (const std::string body :
       {"", "{", "[]", "{}", R"({"name":5,"command":["map"]})",
        R"({"name":"..","command":["map"]})", R"({"name":"a/b","command":["map"]})",
        R"({"name":"a","command":["map"]})", R"({"name":"b","command":["serve"]})",
        R"({"name":"b","command":["map","--out","/x"]})",
        R"({"name":"b","command":["map","--out=/x"]})", R"({"name":"b","command":"map"})",
        R"({"name":"b","command":["map","--model","exec:rm"]})",
        R"({"name":"b","command":["study","study.yaml","--allow-exec"]})",
        R"({"name":"b","command":[1]})"}) {
    EXPECT_EQ(StatusOf(Post("/api/start", body, dashboard_->token())), "400") << body;
  }
  EXPECT_EQ(StatusOf(Post(run + "/stop", "{}", dashboard_->token())), "400");  // nobody runs it
  EXPECT_EQ(StatusOf(Post(run + "/nothing", "{}", dashboard_->token())), "400");
  EXPECT_EQ(StatusOf(Post(run + "/extend", R"({"to":-1})", dashboard_->token())), "400");
  // SetUp held the run when the first scan saw it; nobody does now, whatever a scan has noticed.
  const std::string resumed = Post(run + "/resume", "{}", dashboard_->token());
  EXPECT_EQ(StatusOf(resumed), "200") << resumed;
}

TEST_F(DashboardTest, DropsRequestsThatAreTooLarge) {
  const std::string head = fmt::format("GET / HTTP/1.1\r\nHost: {}\r\n", Host());
  std::string many = head;
  for (int i = 0; i < 300'000; ++i) many += fmt::format("X-{}: {}\r\n", i, "0123456789012345678");
  for (const std::string& text : {head + "X: " + std::string(10 << 20, 'a'), many,
                                  "GET /" + std::string(10 << 20, 'a') + " HTTP/1.1\r\n\r\n"}) {
    const Client client(dashboard_->port());
    // What one end has sent and the other has not read fits the buffers of the system.
    EXPECT_LT(client.Send(text), text.size());
    EXPECT_NE(StatusOf(client.Receive()), "200");
  }
  EXPECT_EQ(StatusOf(Get("/")), "200");
}

TEST_F(DashboardTest, FiveHundredConnectionsAreBounded) {
  Restart({.connections = 8, .request_seconds = 2});
  std::vector<Client> clients;
  for (int i = 0; i < 500; ++i) {
    clients.emplace_back(dashboard_->port());
    EXPECT_TRUE(clients.back().connected());
  }
  // Those beyond the limit are told so at once; the others are dropped, and there is room again.
  int refused = 0;
  for (const Client& client : clients) refused += StatusOf(client.Receive()) == "503";
  EXPECT_GT(refused, 250);
  std::string answer;
  for (int i = 0; i < 50 && StatusOf(answer) != "200"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    answer = Get("/");
  }
  EXPECT_EQ(StatusOf(answer), "200");
}

TEST_F(DashboardTest, SlowReadersAndSlowWritersAreDropped) {
  Restart({.connections = 2, .request_seconds = 0.2, .stall_seconds = 0.2});
  std::vector<Client> slow;
  for (int i = 0; i < 2; ++i) {
    slow.emplace_back(dashboard_->port(), /*receive_buffer=*/1024);
    slow.back().Send(i == 0 ? "GET / HTTP/1.1\r\nHo"
                            : fmt::format("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", Host()));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::string answer;
  for (int i = 0; i < 50 && StatusOf(answer) != "200"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    answer = Get("/");
  }
  EXPECT_EQ(StatusOf(answer), "200");
}

TEST_F(DashboardTest, TellsWhatChangesWhileARunGoesOn) {
  const std::string journal = folder_.path() + "/a/journal";
  std::filesystem::create_directories(journal);
  const Client client(dashboard_->port());
  client.Send(
      fmt::format("GET /api/runs/{}/events HTTP/1.1\r\nHost: {}\r\n\r\n", IdOfRun(), Host()));
  EXPECT_NE(client.Receive("parts").find("text/event-stream"), std::string::npos);
  std::ofstream(journal + "/progress.jsonl") << R"({"episodes":10,"team_return":-5.5})" << '\n';
  EXPECT_NE(client.Receive("-5.5").find("-5.5"), std::string::npos);
}

TEST_F(DashboardTest, StreamsOfEventsAreBounded) {
  const std::string text = fmt::format("GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", Host());
  std::vector<Client> open;
  for (int i = 0; i < 2; ++i) {
    open.emplace_back(dashboard_->port());
    open.back().Send(text);
    EXPECT_EQ(StatusOf(open.back().Receive("data: ")), "200");
  }
  EXPECT_EQ(StatusOf(Ask(text)), "503");
  const double begin = SteadySeconds();
  dashboard_->Stop();  // does not wait for them
  EXPECT_LT(SteadySeconds() - begin, 5);
}

TEST_F(DashboardTest, DamagedRunsDoNoHarm) {
  std::filesystem::create_directory(folder_.path() + "/b");
  std::ofstream(folder_.path() + "/b/run.json") << "{\"format\": \"<script>\"";
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::string list = Get("/api/runs");
  EXPECT_NE(list.find(R"("state":"damaged")"), std::string::npos);
  EXPECT_NE(list.find(R"("state":"open")"), std::string::npos);
}

}  // namespace
}  // namespace tessera
