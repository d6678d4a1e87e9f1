// A socket with limits, and threads for so many of them.
#include "tessera/serve/bounded_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/record/clock.h"

namespace tessera {
namespace {

// One connection. cpp-httplib reads lines byte by byte, so that there is a buffer.
class SocketStream final : public httplib::Stream {
 public:
  SocketStream(socket_t socket, const ServerLimits& limits)
      : socket_(socket), limits_(limits), begin_(SteadySeconds()) {}

  void KeepOpen() { keep_open_ = true; }

  bool is_readable() const override { return at_ < end_ || Wait(POLLIN, 0); }
  bool is_writable() const override { return Wait(POLLOUT, 0); }

  ssize_t read(char* to, size_t size) override {
    if (at_ == end_ && !Fill()) return -1;
    const size_t count = std::min(size, end_ - at_);
    std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(at_), count, to);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* from, size_t size) override {
    size_t sent = 0;
    while (sent < size) {
      const ssize_t count = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) {
        sent += static_cast<size_t>(count);
        sent_ += static_cast<double>(count);
        continue;
      }
      if (count < 0 && errno == EINTR) continue;
      const bool full = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (!full || TooSlow() || !Wait(POLLOUT, limits_.stall_seconds)) return -1;
    }
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool Wait(short what, double seconds) const {
    pollfd waited{.fd = socket_, .events = what, .revents = 0};
    int ready = 0;
    do {
      ready = ::poll(&waited, 1, static_cast<int>(seconds * 1000));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
  }

  bool TooSlow() const {
    const double allowed = limits_.answer_seconds + sent_ / limits_.bytes_per_second;
    return !keep_open_ && SteadySeconds() - begin_ > limits_.request_seconds + allowed;
  }

  bool Fill() {
    const double left = begin_ + limits_.request_seconds - SteadySeconds();
    if (received_ >= limits_.request_bytes || left <= 0 || !Wait(POLLIN, left)) return false;
    const ssize_t count = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count <= 0) return false;
    at_ = 0;
    end_ = static_cast<size_t>(count);
    received_ += end_;
    return true;
  }

  const socket_t socket_;
  const ServerLimits& limits_;
  const double begin_;
  bool keep_open_ = false;
  double sent_ = 0;
  size_t received_ = 0;
  std::array<char, 4096> buffer_;
  size_t at_ = 0, end_ = 0;
};

thread_local SocketStream* current = nullptr;  // what this thread answers
thread_local bool refusing = false;            // there is no thread for this connection

// As many threads as connections may be open; more are refused at once.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  explicit ConnectionThreads(size_t count) {
    threads_.reserve(count);
    try {
      for (size_t i = 0; i < count; ++i) threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // Fewer connections, where the system gives no more threads.
    }
  }

  void enqueue(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      if (open_ < threads_.size()) {
        ++open_;
        tasks_.push_back(std::move(task));
        wake_.notify_one();
        return;
      }
    }
    refusing = true;
    task();
    refusing = false;
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
      --open_;
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  size_t open_ = 0;  // connections that have a thread or are about to
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

BoundedServer::BoundedServer(const ServerLimits& limits) : limits_(limits) {
  new_task_queue = [this] { return new ConnectionThreads(limits_.connections); };
  set_payload_max_length(limits_.request_bytes);
}

void BoundedServer::WidenBacklog() { ::listen(svr_sock_, SOMAXCONN); }

void BoundedServer::KeepOpen() {
  if (current != nullptr) current->KeepOpen();
}

bool BoundedServer::process_and_close_socket(socket_t socket) {
  if (refusing) {
    constexpr std::string_view kBusy =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    [[maybe_unused]] const ssize_t sent =
        ::send(socket, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::close(socket);
    return false;
  }
  SocketStream stream(socket, limits_);
  current = &stream;
  bool closed = false;
  const bool done = process_request(stream, /*close_connection=*/true, closed, nullptr);
  current = nullptr;
  ::shutdown(socket, SHUT_WR);
  ::close(socket);
  return done;
}

}  // namespace tessera
