// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/metrics_output.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/temp_dir.h"
#include "util/fd.h"
#include "util/file.h"

namespace e4r::watch {
namespace {

// ---- Answers to requests.

std::shared_ptr<const MetricsTexts> texts() {
  return std::make_shared<const MetricsTexts>(MetricsTexts{"plain\n", "open\n# EOF\n"});
}

std::string status_of(std::string_view request) {
  const std::string head = answer_http(request, texts()).head;
  return head.substr(0, head.find("\r\n"));
}

TEST(AnswerHttp, GivesTheTextThatTheClientAccepts) {
  const HttpAnswer plain = answer_http("GET /metrics HTTP/1.1\r\nHost: x\r\n", texts());
  EXPECT_EQ(*plain.body, "plain\n");
  EXPECT_EQ(plain.head,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: 6\r\nConnection: close\r\n\r\n");
  for (const std::string_view request :
       {"GET /metrics HTTP/1.1\r\nACCEPT:application/openmetrics-text\r\n",
        "GET /metrics?a=b HTTP/1.0\nhost: x\naccept: text/plain\nAccept: "
        "application/openmetrics-text; version=1.0.0\n"}) {
    const HttpAnswer open = answer_http(request, texts());
    EXPECT_EQ(*open.body, "open\n# EOF\n");
    EXPECT_NE(open.head.find("Content-Type: application/openmetrics-text; version=1.0.0;"),
              std::string::npos);
  }
}

TEST(AnswerHttp, RefusesEverythingElse) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status_of("GET /metrics/x HTTP/1.1\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status_of("POST /etc HTTP/1.1\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_EQ(status_of("POST /metrics HTTP/1.1\r\n"), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_EQ(status_of("HEAD /metrics HTTP/1.1\r\n"), "HTTP/1.1 405 Method Not Allowed");
  EXPECT_NE(answer_http("PUT /metrics HTTP/1.1\r\n", texts()).head.find("\r\nAllow: GET\r\n"),
            std::string::npos);
  for (const std::string_view request :
       {"", "\r\n", " ", "  ", "GET /metrics\r\n", "GET /metrics HTTP/2\r\n", "GET HTTP/1.1\r\n",
        " /metrics HTTP/1.1\r\n", "\xff\xfe\n"})
    EXPECT_EQ(status_of(request), "HTTP/1.1 400 Bad Request") << request;
  EXPECT_EQ(answer_http("GET /metrics HTTP/1.1\r\n", nullptr).head.substr(0, 12), "HTTP/1.1 503");
}

TEST(ParseListen, TakesAddressesAndNoNames) {
  for (const char* good : {"127.0.0.1:9435", "0.0.0.0:1", "[::1]:65535", "[2001:db8::1]:80"})
    EXPECT_TRUE(parse_listen(good).ok()) << good;
  for (const char* bad :
       {"", ":", "9435", ":9435", "localhost:9435", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
        "127.0.0.1:-1", "127.0.0.1:80x", "::1:80", "[::1]", "[]:80", "[127.0.0.1]:80", "127.1:80"})
    EXPECT_FALSE(parse_listen(bad).ok()) << bad;
}

// ---- A server and hostile clients.

class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  [[nodiscard]] bool send(std::string_view bytes) const {
    return connected_ && ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                             static_cast<ssize_t>(bytes.size());
  }
  // Returns everything that arrives until the server closes the connection.
  [[nodiscard]] std::string all() const {
    std::string out;
    std::array<char, 4096> piece;
    for (;;) {
      const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
      if (got <= 0) return out;
      out.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

 private:
  Fd fd_;
  bool connected_ = false;
};

constexpr std::string_view kRequest = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

class Served : public testing::Test {
 protected:
  Served() : server_(*MetricsServer::open(*parse_listen("127.0.0.1:0"))) {
    server_->show({std::string(100'000, 'x') + "\n", "open\n"});
  }
  [[nodiscard]] std::string get() const {
    const Client client(server_->port());
    EXPECT_TRUE(client.send(kRequest));
    return client.all();
  }
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(Served, GetsTheWholeText) {
  const std::string answer = get();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer.substr(0, 100);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + std::string(100'000, 'x') + "\n"));
  server_->show({"second\n", "open\n"});
  EXPECT_TRUE(get().ends_with("\r\n\r\nsecond\n"));
}

TEST_F(Served, ARequestMayComeInPieces) {
  const Client client(server_->port());
  for (const char c : kRequest) ASSERT_TRUE(client.send({&c, 1}));
  EXPECT_TRUE(client.all().starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(Served, HugeHeadersAreRefused) {
  const Client client(server_->port());
  EXPECT_TRUE(client.send("GET /metrics HTTP/1.1\r\nX: " + std::string(8192, 'y')));
  EXPECT_TRUE(client.all().starts_with("HTTP/1.1 431 "));
}

// When there are too many connections, the server must not keep the oldest: a client could block it
// by opening enough connections.
TEST_F(Served, ClientsThatSayNothingKeepNobodyOut) {
  std::vector<std::unique_ptr<Client>> silent;
  for (std::size_t i = 0; i < 3 * MetricsServer::kMost; ++i) {
    silent.push_back(std::make_unique<Client>(server_->port()));
    ASSERT_TRUE(silent.back()->send(i % 2 == 0 ? "GET /met" : "\r"));
  }
  EXPECT_TRUE(get().starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(silent.front()->all(), "") << "it was closed";
}

TEST_F(Served, AClientThatReadsNothingKeepsNobodyOut) {
  server_->show({std::string(50 << 20, 'x'), "open\n"});
  const Client lazy(server_->port());
  ASSERT_TRUE(lazy.send(kRequest));
  server_->show({"small\n", "open\n"});
  EXPECT_TRUE(get().ends_with("\r\n\r\nsmall\n"));
  server_.reset();  // the server ends at once
}

TEST_F(Served, APortThatIsTakenIsAnError) {
  const auto second =
      MetricsServer::open(*parse_listen(fmt::format("127.0.0.1:{}", server_->port())));
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("Address already in use"), std::string::npos)
      << second.error().message;
}

// ---- The metrics file.

std::string eventually(const std::string& path, const std::string& text) {
  constexpr std::chrono::milliseconds kStep{5};
  for (;; std::this_thread::sleep_for(kStep))
    if (const auto read = read_file(path); read.ok() && *read == text) return *read;
}

TEST(MetricsFile, IsReplacedWhole) {
  const test::TempDir dir;
  const std::string path = dir.file("e4replay.prom");
  auto file = *MetricsFile::open(path);
  for (const std::string text : {"one\n", "two\n"}) {
    file->write(text);
    EXPECT_EQ(eventually(path, text), text);
  }
  file->write("last\n");
  file.reset();
  EXPECT_EQ(*read_file(path), "last\n");
  struct stat st = {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(st.st_mode & 0777, 0666 & ~mask);
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path()))
    ++entries;
  EXPECT_EQ(entries, 1u) << "nothing else is left";
}

TEST(MetricsFile, NeedsADirectoryFirst) {
  const test::TempDir dir;
  EXPECT_FALSE(MetricsFile::open(dir.file("none/e4replay.prom")).ok());
  EXPECT_FALSE(MetricsFile::open(dir.path()).ok());
  EXPECT_FALSE(MetricsFile::open("/dev/null").ok());
  EXPECT_FALSE(MetricsFile::open("/dev/stdout").ok());
}

TEST(MetricsFile, ReportsAnErrorOnce) {
  const test::TempDir dir;
  std::filesystem::create_directory(dir.file("a"));
  const auto file = *MetricsFile::open(dir.file("a/e4replay.prom"));
  std::filesystem::remove(dir.file("a"));
  constexpr std::chrono::milliseconds kStep{5};
  std::optional<std::string> failure;
  file->write("one\n");
  while (!(failure = file->take_error())) std::this_thread::sleep_for(kStep);
  EXPECT_NE(failure->find("a/e4replay.prom"), std::string::npos) << *failure;
  file->write("two\n");
  file->write("three\n");
  std::filesystem::create_directory(dir.file("a"));
  file->write("four\n");
  EXPECT_EQ(eventually(dir.file("a/e4replay.prom"), "four\n"), "four\n");
  EXPECT_FALSE(file->take_error());
}

}  // namespace
}  // namespace e4r::watch
