// An HTTP server that no client can exhaust: cpp-httplib for the protocol, on sockets of our own
// that have limits. One request per connection.
#ifndef TESSERA_SERVE_BOUNDED_SERVER_H_
#define TESSERA_SERVE_BOUNDED_SERVER_H_

#include <cstddef>

#include <httplib.h>

namespace tessera {

struct ServerLimits {
  // Connections at a time; more are refused with 503 before a byte of them is read. Default: 32.
  size_t connections = 32;

  // Bytes of a request, line, headers and body together. Default: 128 KiB.
  size_t request_bytes = 128 << 10;

  // A request that takes longer to arrive is dropped. Default: 5 s.
  double request_seconds = 5;

  // An answer that a client does not take for so long is dropped. Default: 5 s.
  double stall_seconds = 5;

  // An answer takes this long and what `bytes_per_second` needs, at most. Streams of events may
  // last (KeepOpen). Default: 10 s, 64 KiB/s.
  double answer_seconds = 10;
  double bytes_per_second = 64 << 10;
};

class BoundedServer : public httplib::Server {
 public:
  explicit BoundedServer(const ServerLimits& limits = {});

  // After binding: connections beyond the limit are refused, not left to wait for the system.
  void WidenBacklog();

  // Of the answer that this thread is giving: it may last as long as its client takes it.
  static void KeepOpen();

 private:
  bool process_and_close_socket(socket_t socket) override;

  const ServerLimits limits_;
};

}  // namespace tessera

#endif  // TESSERA_SERVE_BOUNDED_SERVER_H_
