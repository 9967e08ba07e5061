// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "util/fd.h"
#include "util/status.h"

namespace e4r::watch {

// The metrics at one moment.
struct MetricsTexts {
  std::string prometheus, openmetrics;
};

struct ListenAddress {
  sockaddr_storage socket = {};
  socklen_t size = 0;
  std::string text;
};
// Parses "127.0.0.1:9435" or "[::1]:9435". For port 0, the kernel chooses a port.
[[nodiscard]] Result<ListenAddress> parse_listen(const std::string& text);

// The answer to a request. `head` is its status line and headers.
struct HttpAnswer {
  std::string head;
  std::shared_ptr<const std::string> body;
};
// Answers a request. `texts` is null before the first metrics.
[[nodiscard]] HttpAnswer answer_http(std::string_view request,
                                     const std::shared_ptr<const MetricsTexts>& texts);

// Answers GET /metrics, in a thread of its own with a low priority. Keeps at most kMost
// connections. Each connection may send 8 KiB and take five seconds. If another client connects,
// the oldest connection is closed.
class MetricsServer {
 public:
  static constexpr std::size_t kMost = 32;

  // The Error says why the server cannot listen on the address.
  [[nodiscard]] static Result<std::unique_ptr<MetricsServer>> open(const ListenAddress& address);
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;
  // Closes all connections.
  ~MetricsServer();

  void show(MetricsTexts texts);
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  class Loop;

  MetricsServer() = default;
  [[nodiscard]] Status listen(const ListenAddress& address);
  [[nodiscard]] std::shared_ptr<const MetricsTexts> texts() const;

  Fd listener_, ends_;  // ends_ is an eventfd
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;  // guards the next member
  std::shared_ptr<const MetricsTexts> texts_;
  std::thread thread_;
};

}  // namespace e4r::watch
