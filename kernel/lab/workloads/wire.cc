// SPDX-License-Identifier: GPL-2.0-only
// Connects guests of Linux 7.3, which have no device for uml_switch, by a network. Every packet
// that a guest sends goes to all other guests. Guests connect to the socket SOCKET with the
// transport "bess" of User Mode Linux's vector driver
// (Documentation/virt/uml/user_mode_linux_howto_v2.rst), where each message is a packet. A packet
// waits until the receiving guest reads it. Between SIGUSR1 and SIGUSR2 the network is cut: packets
// are dropped. (They are not refused, because a guest that cannot send would do nothing but retry.)
// Runs on the host, until its standard input ends.
//   wire SOCKET
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <csignal>

#include "support.h"

namespace {

constexpr int kQueue = 8 << 20;  // limit of the bytes that wait for a guest
constexpr int kAtOnce = 64;      // packets to forward from one guest before the next guest's turn

volatile std::sig_atomic_t is_cut = 0;

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    lab::die(path);
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  const int fd = static_cast<int>(lab::check(socket(AF_UNIX, SOCK_SEQPACKET, 0), "socket"));
  lab::check(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), path);
  lab::check(listen(fd, 8), path);
  return fd;
}

// Forwards the packets that guest `from` has sent. Returns false if that guest has disconnected.
// Drops packets to guests that have disconnected.
bool hand_on(int from, const std::vector<int>& guests) {
  static char packet[1 << 16];
  for (int i = 0; i < kAtOnce; ++i) {
    const long size = recv(from, packet, sizeof packet, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return false;
    if (size < 0) return true;
    for (const int to : guests)
      if (to != from && is_cut == 0)
        static_cast<void>(send(to, packet, static_cast<std::size_t>(size), MSG_NOSIGNAL));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv, {});
  std::signal(SIGUSR1, [](int) { is_cut = 1; });
  std::signal(SIGUSR2, [](int) { is_cut = 0; });
  const int door = listen_at(options.directory());
  std::vector<int> guests;
  for (;;) {
    std::vector<pollfd> ready = {{STDIN_FILENO, 0, 0}, {door, POLLIN, 0}};
    for (const int guest : guests) ready.push_back({guest, POLLIN, 0});
    if (poll(ready.data(), ready.size(), -1) < 0) {
      if (errno == EINTR) continue;
      lab::die("poll");
    }
    if ((ready[0].revents & POLLHUP) != 0) return 0;
    const std::vector<int> here = guests;
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (ready[i + 2].revents == 0 || hand_on(here[i], guests)) continue;
      std::erase(guests, here[i]);
      close(here[i]);
    }
    if (ready[1].revents == 0) continue;
    guests.push_back(static_cast<int>(lab::check(accept(door, nullptr, nullptr), "accept")));
    lab::check(setsockopt(guests.back(), SOL_SOCKET, SO_SNDBUFFORCE, &kQueue, sizeof kQueue),
               "queue");
  }
}
