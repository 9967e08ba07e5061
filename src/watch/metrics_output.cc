// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/metrics_output.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "util/output.h"
#include "watch/metrics.h"

namespace e4r::watch {

Result<std::unique_ptr<MetricsFile>> MetricsFile::open(const std::string& path) {
  Outputs outputs;
  E4R_CHECK(outputs.writes(path, OutputKind::file));
  std::unique_ptr<MetricsFile> out(new MetricsFile(path));
  out->thread_ = std::thread([file = out.get()] { file->run(); });
  return out;
}

MetricsFile::~MetricsFile() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void MetricsFile::write(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(text);
  }
  changed_.notify_one();
}

std::optional<std::string> MetricsFile::take_error() {
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

Status MetricsFile::write_now(const std::string& text) const {
  E4R_TRY(Output out, Output::create(path_, OutputKind::file));
  E4R_CHECK(out.write(text));
  return out.commit_unsynced();
}

void MetricsFile::run() {
  ::setpriority(PRIO_PROCESS, 0, 0);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return waiting_ || ends_; });
    if (!waiting_) return;
    const std::string text = *std::exchange(waiting_, std::nullopt);
    lock.unlock();
    const Status status = write_now(text);
    lock.lock();
    if (!status.ok() && !fails_) error_ = status.error().message;
    fails_ = !status.ok();
  }
}

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMostRequest = 8192;
constexpr std::size_t kMostIgnored = 64 << 10;  // most bytes ignored after a request
constexpr std::chrono::seconds kMostTime{5};

// The request up to and including its empty line, or nothing if that has not arrived yet.
std::optional<std::string_view> whole_request(std::string_view read) {
  for (std::size_t at = read.find('\n'); at != std::string_view::npos; at = read.find('\n', at + 1))
    for (const std::string_view end : {"\n", "\r\n"})
      if (read.substr(at + 1).starts_with(end)) return read.substr(0, at + 1);
  return std::nullopt;
}

std::string_view without_cr(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// The values of all headers with that name, joined by commas.
std::string header(std::string_view lines, std::string_view name) {
  std::string out;
  while (!lines.empty()) {
    const std::string_view line = without_cr(lines.substr(0, lines.find('\n')));
    lines.remove_prefix(std::min(lines.size(), lines.find('\n') + 1));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !boost::algorithm::iequals(line.substr(0, colon), name))
      continue;
    out += out.empty() ? "" : ",";
    out += line.substr(colon + 1);
  }
  return out;
}

HttpAnswer reply(std::string_view status, std::string_view type,
                 std::shared_ptr<const std::string> body, std::string_view more = "") {
  HttpAnswer out;
  out.head = fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n",
      status, type, body->size(), more);
  out.body = std::move(body);
  return out;
}

HttpAnswer refuse(std::string_view status, std::string_view more = "") {
  return reply(status, "text/plain; charset=utf-8",
               std::make_shared<const std::string>(fmt::format("{}\n", status)), more);
}

}  // namespace

Result<ListenAddress> parse_listen(const std::string& text) {
  const auto colon = text.find_last_of(':');
  const Error wrong =
      error("{}: give ADDRESS:PORT with an IPv4 address or an [IPv6] address", text);
  if (colon == std::string::npos) return wrong;
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + colon + 1, end, port);
  if (parsed.ec != std::errc() || parsed.ptr != end) return wrong;
  std::string host = text.substr(0, colon);
  ListenAddress out;
  out.text = text;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    sockaddr_in6 to = {};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.c_str(), &to.sin6_addr) != 1) return wrong;
    std::memcpy(&out.socket, &to, sizeof to);
    out.size = sizeof to;
    return out;
  }
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &to.sin_addr) != 1) return wrong;
  std::memcpy(&out.socket, &to, sizeof to);
  out.size = sizeof to;
  return out;
}

HttpAnswer answer_http(std::string_view request, const std::shared_ptr<const MetricsTexts>& texts) {
  const std::string_view line = without_cr(request.substr(0, request.find('\n')));
  const auto first = line.find(' '), last = line.find_last_of(' ');
  if (first == std::string_view::npos || last == first || first == 0 ||
      !line.substr(last + 1).starts_with("HTTP/1."))
    return refuse("400 Bad Request");
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (target.substr(0, target.find('?')) != "/metrics") return refuse("404 Not Found");
  if (line.substr(0, first) != "GET") return refuse("405 Method Not Allowed", "Allow: GET\r\n");
  if (texts == nullptr) return refuse("503 Service Unavailable");
  const Exposition format = exposition_for(header(request, "accept"));
  const std::string& text =
      format == Exposition::openmetrics ? texts->openmetrics : texts->prometheus;
  return reply("200 OK", content_type(format), {texts, &text});
}

// Serves the connections.
class MetricsServer::Loop {
 public:
  explicit Loop(MetricsServer& server) : server_(server) {}

  void run() {
    std::vector<pollfd> polled;
    for (;;) {
      polled.assign({{server_.ends_.get(), POLLIN, 0}, {server_.listener_.get(), POLLIN, 0}});
      for (const Connection& c : connections_)
        polled.push_back({c.fd.get(), static_cast<short>(c.sends ? POLLOUT : POLLIN), 0});
      ::poll(polled.data(), polled.size(), wait_ms());
      if (polled[0].revents != 0) return;
      std::size_t i = 2;
      for (Connection& c : connections_)
        if (polled[i++].revents != 0) c.over = !serve(c);
      const auto now = Steady::now();
      std::erase_if(connections_, [&](const Connection& c) { return c.over || now >= c.until; });
      if (polled[1].revents != 0) accept_all();
    }
  }

 private:
  struct Connection {
    Fd fd;
    Steady::time_point until;
    std::string read = {};
    HttpAnswer answer = {};
    std::size_t sent = 0, ignored = 0;
    bool sends = false, over = false;
  };

  [[nodiscard]] int wait_ms() const {
    if (connections_.empty()) return -1;
    const auto left = connections_.front().until - Steady::now();  // the oldest connection
    return static_cast<int>(
        std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
  }

  void accept_all() {
    for (std::size_t i = 0; i < kMost; ++i) {
      Fd fd(::accept4(server_.listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!fd.is_open()) {
        // The process is out of descriptors or memory. Wait instead of retrying at once.
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
          ::poll(nullptr, 0, /*milliseconds*/ 100);
        return;
      }
      if (connections_.size() == kMost) connections_.pop_front();
      connections_.push_back({std::move(fd), Steady::now() + kMostTime});
    }
  }

  // Returns false if the connection must be closed.
  bool serve(Connection& c) const {
    return c.sends ? send(c) : c.answer.body == nullptr ? read(c) : ignore(c);
  }

  // Reads some bytes. Returns their number, 0 if none have arrived yet, and -1 at the end.
  static ssize_t receive(const Connection& c, std::span<char> into) {
    const ssize_t got = ::recv(c.fd.get(), into.data(), into.size(), 0);
    if (got > 0) return got;
    return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
  }

  bool read(Connection& c) const {
    std::array<char, 2048> piece;
    const ssize_t got = receive(c, piece);
    if (got < 0) return false;
    c.read.append(piece.data(), static_cast<std::size_t>(got));
    if (const auto request = whole_request(c.read))
      c.answer = answer_http(*request, server_.texts());
    else if (c.read.size() >= kMostRequest)
      c.answer = refuse("431 Request Header Fields Too Large");
    else
      return true;
    c.read = std::string();
    c.sends = true;
    return send(c);
  }

  static bool send(Connection& c) {
    for (;;) {
      const std::string& head = c.answer.head;
      const std::string_view left =
          c.sent < head.size() ? std::string_view(head).substr(c.sent)
                               : std::string_view(*c.answer.body).substr(c.sent - head.size());
      if (left.empty()) break;
      const ssize_t sent = ::send(c.fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      c.sent += static_cast<std::size_t>(sent);
    }
    // Closing the connection while the client still sends could make it lose the answer.
    c.sends = false;
    return ::shutdown(c.fd.get(), SHUT_WR) == 0;
  }

  static bool ignore(Connection& c) {
    std::array<char, 2048> piece;
    const ssize_t got = receive(c, piece);
    if (got < 0) return false;
    c.ignored += static_cast<std::size_t>(got);
    return c.ignored < kMostIgnored;
  }

  MetricsServer& server_;
  std::deque<Connection> connections_;  // oldest first
};

Status MetricsServer::listen(const ListenAddress& address) {
  constexpr int kYes = 1, kWaiting = 1024;
  const auto fail = [&] {
    return error("cannot listen on {}: {}", address.text, errno_text(errno));
  };
  ends_ = Fd(::eventfd(0, EFD_CLOEXEC));
  listener_ = Fd(::socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!ends_.is_open() || !listener_.is_open()) return fail();
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
  if (address.socket.ss_family == AF_INET6)
    ::setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &kYes, sizeof kYes);
  sockaddr_storage bound = address.socket;
  socklen_t size = address.size;
  auto* const socket = reinterpret_cast<sockaddr*>(&bound);
  if (::bind(listener_.get(), socket, size) != 0 || ::listen(listener_.get(), kWaiting) != 0 ||
      ::getsockname(listener_.get(), socket, &size) != 0)
    return fail();
  // The port has the same offset in both kinds of addresses.
  sockaddr_in named = {};
  std::memcpy(&named, &bound, sizeof named);
  port_ = ntohs(named.sin_port);
  return {};
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(const ListenAddress& address) {
  std::unique_ptr<MetricsServer> out(new MetricsServer());
  E4R_CHECK(out->listen(address));
  out->thread_ = std::thread([server = out.get()] {
    constexpr int kLow = 10;
    ::setpriority(PRIO_PROCESS, 0, kLow);
    Loop(*server).run();
  });
  return out;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  while (::write(ends_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void MetricsServer::show(MetricsTexts texts) {
  auto shown = std::make_shared<const MetricsTexts>(std::move(texts));
  const std::lock_guard lock(mutex_);
  texts_.swap(shown);
}

std::shared_ptr<const MetricsTexts> MetricsServer::texts() const {
  const std::lock_guard lock(mutex_);
  return texts_;
}

}  // namespace e4r::watch
