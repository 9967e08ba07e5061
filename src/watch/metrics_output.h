// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/socket.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "util/fd.h"
#include "util/status.h"

// The destinations of metrics: a file, and an HTTP server.
namespace e4r::watch {

// A file that is replaced as a whole again and again, by a thread of its own. So a disk that is
// slow, full or frozen delays no other thread.
class MetricsFile {
 public:
  // The Error says why the file cannot be written: its directory is missing, or it is not a regular
  // file.
  [[nodiscard]] static Result<std::unique_ptr<MetricsFile>> open(const std::string& path);
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  // Waits until the last text has been written.
  ~MetricsFile();

  // Queues the text for writing. It replaces a text that is still waiting.
  void write(std::string text);
  // Why the file could not be written. Reported once, until writing has succeeded again.
  [[nodiscard]] std::optional<std::string> take_error();

 private:
  explicit MetricsFile(std::string path) : path_(std::move(path)) {}
  void run();
  [[nodiscard]] Status write_now(const std::string& text) const;

  std::string path_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::optional<std::string> waiting_, error_;
  bool fails_ = false, ends_ = false;
  std::thread thread_;
};

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
