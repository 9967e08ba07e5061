// SPDX-License-Identifier: GPL-2.0-only
// Measures direct writes to one file, with many in flight at a time. Each of --threads threads
// keeps --depth writes of --size bytes in flight (Linux aio), in its own region of the file, and
// makes --count writes. The number of writes is fixed instead of the time, because in some guests
// the clock stands still while the program computes.
//   --prepare written|fallocated|hole    the file's state before the run
//             appended  the file grows; only with --threads 1
//   --pattern seq       one write after the other, without gaps
//             block     the first bytes of every block of --block bytes
//             random    anywhere in the region, at multiples of 512 bytes
//   --sync 1            pwrite instead of aio: the depth is the number of threads
// Figures: iops, elapsed_s, and the time from submission to completion, lat_{mean,p50,p99,max}_us.
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include <algorithm>
#include <mutex>

#include "support.h"

namespace {

using Clock = std::chrono::steady_clock;
using lab::check;

struct Setup {
  std::string prepare, pattern;
  std::uint64_t threads, depth, size, count, block, seed;
  bool sync;
  [[nodiscard]] std::uint64_t step() const { return pattern == "block" ? block : size; }
  [[nodiscard]] std::uint64_t region() const { return step() * count; }
};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "diodepth: %s\n", why.c_str());
  std::exit(2);
}

int prepare(const std::string& path, const Setup& setup) {
  const int fd = static_cast<int>(
      check(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0644), "open " + path));
  const std::uint64_t all = setup.threads * setup.region();
  if (setup.prepare == "fallocated")
    check(fallocate(fd, 0, 0, static_cast<off_t>(all)), "fallocate");
  if (setup.prepare == "hole") check(ftruncate(fd, static_cast<off_t>(all)), "ftruncate");
  if (setup.prepare == "written") {
    constexpr std::uint64_t kPiece = 1 << 20;
    const lab::Buffer data(kPiece);
    std::memset(data.data(), 1, kPiece);
    for (std::uint64_t at = 0; at < all; at += kPiece) {
      const std::uint64_t bytes = std::min(kPiece, (all - at + 4095) / 4096 * 4096);
      check(pwrite(fd, data.data(), bytes, static_cast<off_t>(at)), "pwrite");
    }
    check(ftruncate(fd, static_cast<off_t>(all)), "ftruncate");
  }
  check(fsync(fd), "fsync");
  return fd;
}

// The writes of one thread.
class Writer {
 public:
  Writer(int fd, const Setup& setup, std::uint64_t number)
      : fd_(fd),
        setup_(setup),
        base_(number * setup.region()),
        data_(setup.size),
        rng_(setup.seed + number) {
    std::memset(data_.data(), static_cast<int>('a' + number % 26), setup.size);
    latencies_.reserve(setup.count);
  }

  void run() { setup_.sync ? run_sync() : run_async(); }
  [[nodiscard]] const std::vector<float>& latencies() const { return latencies_; }

 private:
  struct Slot {
    iocb control;
    Clock::time_point since;
  };

  std::uint64_t next_offset() {
    const std::uint64_t at = issued_++;
    if (setup_.pattern == "random")
      return base_ + rng_.below((setup_.region() - setup_.size) / 512 + 1) * 512;
    return base_ + at * setup_.step();
  }
  void done(Clock::time_point since, long result) {
    if (result != static_cast<long>(setup_.size)) {
      errno = result < 0 ? static_cast<int>(-result) : EIO;
      lab::die("write");
    }
    latencies_.push_back(std::chrono::duration<float, std::micro>(Clock::now() - since).count());
  }
  void run_sync() {
    while (issued_ < setup_.count) {
      const auto since = Clock::now();
      const std::uint64_t at = next_offset();
      done(since, pwrite(fd_, data_.data(), setup_.size, static_cast<off_t>(at)));
    }
  }
  void submit(aio_context_t context, Slot& slot) {
    slot.control = {};
    slot.control.aio_fildes = static_cast<std::uint32_t>(fd_);
    slot.control.aio_lio_opcode = IOCB_CMD_PWRITE;
    slot.control.aio_buf = reinterpret_cast<std::uint64_t>(data_.data());
    slot.control.aio_nbytes = setup_.size;
    slot.control.aio_offset = static_cast<std::int64_t>(next_offset());
    slot.control.aio_data = reinterpret_cast<std::uint64_t>(&slot);
    slot.since = Clock::now();
    iocb* list[] = {&slot.control};
    check(syscall(SYS_io_submit, context, 1L, list), "io_submit");
  }
  void run_async() {
    aio_context_t context = 0;
    check(syscall(SYS_io_setup, setup_.depth, &context), "io_setup");
    std::vector<Slot> slots(std::min(setup_.depth, setup_.count));
    std::vector<io_event> events(slots.size());
    for (Slot& slot : slots) submit(context, slot);
    for (std::uint64_t ended = 0; ended < setup_.count;) {
      const long got = check(syscall(SYS_io_getevents, context, 1L,
                                     static_cast<long>(events.size()), events.data(), nullptr),
                             "io_getevents");
      for (long i = 0; i < got; ++i) {
        Slot& slot = *reinterpret_cast<Slot*>(events[static_cast<std::size_t>(i)].data);
        done(slot.since, static_cast<long>(events[static_cast<std::size_t>(i)].res));
        if (issued_ < setup_.count) submit(context, slot);
      }
      ended += static_cast<std::uint64_t>(got);
    }
    check(syscall(SYS_io_destroy, context), "io_destroy");
  }

  int fd_;
  const Setup& setup_;
  std::uint64_t base_;
  std::uint64_t issued_ = 0;
  lab::Buffer data_;
  lab::Rng rng_;
  std::vector<float> latencies_;
};

void report(const Setup& setup, double seconds, std::vector<float>& latencies) {
  std::sort(latencies.begin(), latencies.end());
  double sum = 0;
  for (const float us : latencies) sum += us;
  const auto quantile = [&](double q) -> double {
    return latencies[static_cast<std::size_t>(q * static_cast<double>(latencies.size() - 1))];
  };
  const double writes = static_cast<double>(setup.threads * setup.count);
  lab::figure("writes", setup.threads * setup.count);
  lab::figure("elapsed_s", seconds);
  lab::figure("iops", writes / seconds);
  lab::figure("lat_mean_us", sum / writes);
  lab::figure("lat_p50_us", quantile(0.5));
  lab::figure("lat_p99_us", quantile(0.99));
  lab::figure("lat_max_us", quantile(1));
}

Setup setup_of(const lab::Options& options) {
  const Setup setup = {
      options.text("prepare"), options.text("pattern"), options.number("threads"),
      options.number("depth"), options.number("size"),  options.number("count"),
      options.number("block"), options.number("seed"),  options.number("sync") != 0};
  const auto among = [](const std::string& word, std::initializer_list<const char*> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if (!among(setup.prepare, {"written", "fallocated", "hole", "appended"}))
    refuse("--prepare '" + setup.prepare + "': written, fallocated, hole or appended");
  if (!among(setup.pattern, {"seq", "block", "random"}))
    refuse("--pattern '" + setup.pattern + "': seq, block or random");
  if (setup.threads == 0 || setup.depth == 0 || setup.count == 0 || setup.size == 0 ||
      setup.size % 512 != 0 || setup.block % 512 != 0)
    refuse("--threads, --depth and --count are 1 at least, --size and --block multiples of 512");
  if (setup.pattern == "block" && setup.size > setup.block) refuse("--size is more than --block");
  if (setup.prepare == "appended" && (setup.threads > 1 || setup.pattern != "seq"))
    refuse("--prepare appended is for --threads 1 --pattern seq");
  return setup;
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"threads", "8"},
                              {"depth", "256"},
                              {"size", "2048"},
                              {"count", "4096"},
                              {"block", "4096"},
                              {"seed", "1"},
                              {"sync", "0"},
                              {"prepare", "written"},
                              {"pattern", "seq"}});
  const Setup setup = setup_of(options);
  const int fd = prepare(options.directory() + "/diodepth", setup);
  std::vector<float> latencies;
  std::mutex mutex;
  const lab::Stopwatch watch;
  lab::in_threads(setup.threads, [&](std::uint64_t number) {
    Writer writer(fd, setup, number);
    writer.run();
    const std::lock_guard guard(mutex);
    latencies.insert(latencies.end(), writer.latencies().begin(), writer.latencies().end());
  });
  const double seconds = watch.seconds();
  report(setup, seconds, latencies);
  return 0;
}
