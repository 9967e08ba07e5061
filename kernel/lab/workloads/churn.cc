// SPDX-License-Identifier: GPL-2.0-only
// Thread T does mixed operations on `files` files in DIRECTORY/cT: create, append, rewrite,
// truncate, fallocate, punch, zero range, holes, O_DIRECT, rename, unlink, fsync, syncfs. The
// program knows the correct contents of each file, and checks them at intervals and at the end.
// `--manifest MANIFEST` stores the correct contents, so that `--check MANIFEST` can check the files
// after a remount. `--resume MANIFEST` continues with the files of an earlier run. `--fitrim LIST`
// also trims the file system, at even intervals over the run. LIST has one item per FITRIM call,
// separated by commas. An item is MINLEN or MINLEN@START+LENGTH in bytes (64K, 4M). `--mix` sets
// how often each operation is chosen: basic, append, holes (more fallocate, punch, zero range and
// sparse writes), direct, indirect (for files without extents), or wide (also mmap, xattrs,
// symbolic links, directories, rename over a file, and writing to unlinked files).
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/xattr.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>

#include "support.h"

namespace {

constexpr std::uint64_t kUnit = 512;  // the unit of all operations

// Fills `out` with the contents of a unit: words computed from the unit's stamp and index. Stamp 0
// means that the unit reads as zeros, because zeros were written or because it is a hole.
void paint(char* out, std::uint32_t stamp, std::uint64_t unit) {
  if (stamp == 0) {
    std::memset(out, 0, kUnit);
    return;
  }
  std::uint64_t word = stamp * 0x9e3779b97f4a7c15ull + unit;
  for (std::uint64_t i = 0; i < kUnit; i += 8) {
    word = word * 6364136223846793005ull + 1442695040888963407ull;
    std::memcpy(out + i, &word, 8);
  }
}

struct File {
  std::string name;
  int fd = -1;  // some files stay open
  std::vector<std::uint32_t> stamps;
  [[nodiscard]] std::uint64_t units() const { return stamps.size(); }
};

enum Op {
  create,
  append,
  rewrite,
  shrink,
  grow,
  falloc,
  punch,
  zero,
  sparse,
  direct,
  move,
  drop,
  flush,
  flush_all,
  compare,
  mapped,
  xattr,
  link_to,
  replace,
  ghost,
  subdir,
  op_count
};

using Weights = std::vector<unsigned>;

Weights weights_of(const std::string& mix) {
  // The weights are in the order of enum Op. Missing weights at the end are 0.
  if (mix == "basic") return {14, 34, 12, 8, 2, 4, 0, 0, 0, 0, 2, 10, 10, 3, 1};
  if (mix == "holes") return {10, 14, 10, 6, 3, 10, 10, 8, 10, 0, 2, 7, 7, 2, 1};
  if (mix == "direct") return {10, 10, 6, 5, 2, 4, 3, 0, 4, 40, 2, 8, 4, 1, 1};
  if (mix == "append") return {6, 70, 4, 2, 0, 0, 0, 0, 0, 0, 0, 4, 10, 3, 1};
  if (mix == "wide") return {16, 20, 8, 6, 3, 4, 3, 3, 6, 6, 3, 8, 5, 2, 1, 6, 8, 6, 5, 4, 3};
  // This mix has no operation that needs extents.
  if (mix == "indirect") return {14, 34, 12, 8, 4, 0, 4, 0, 10, 6, 2, 8, 8, 3, 1};
  std::fprintf(stderr, "churn: no mix '%s': basic, holes, direct, append, wide, indirect\n",
               mix.c_str());
  std::exit(2);
}

class Churn {
 public:
  Churn(const lab::Options& options, std::uint64_t thread)
      : rng_(options.number("seed") * 1000 + thread),
        weights_(weights_of(options.text("mix"))),
        home_(options.directory() + "/c" + std::to_string(thread)),
        most_files_(options.number("files")),
        most_units_(options.number("max-size") / kUnit),
        small_percent_(static_cast<unsigned>(options.number("small-percent"))) {
    if (options.text("resume").empty())
      lab::check(mkdir(home_.c_str(), 0755), home_);
    else
      adopt(options.text("resume"));
    for (const unsigned weight : weights_) total_ += weight;
  }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  void step() {
    std::uint64_t at = rng_.below(total_);
    unsigned op = 0;
    while (at >= weights_[op]) at -= weights_[op++];
    if (files_.empty() || (op == create && files_.size() < most_files_)) op = create;
    if (op == create && files_.size() >= most_files_) op = drop;
    run(static_cast<Op>(op));
    ++done_[op];
  }

  void compare_all() {
    for (const auto& file : files_) compare_file(*file);
  }

  void write_manifest(std::ofstream& out) const {
    for (const auto& file : files_) {
      out << home_ << '/' << file->name << ' ' << file->units();
      std::size_t i = 0;
      while (i < file->stamps.size()) {
        std::size_t end = i;
        while (end < file->stamps.size() && file->stamps[end] == file->stamps[i]) ++end;
        out << ' ' << file->stamps[i] << 'x' << end - i;
        i = end;
      }
      out << '\n';
    }
  }

  [[nodiscard]] std::uint64_t full() const { return full_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::uint64_t kDirectMax = 256 << 10;

  // Continues with the files of an earlier run.
  void adopt(const std::string& manifest);

  void run(Op op) {
    if (op == create) return make();
    const std::size_t index = rng_.below(files_.size());
    File& file = *files_[index];
    switch (op) {
      case append:
        return put(file, file.units(), length());
      case rewrite:
        return put(file, rng_.below(file.units() + 1), length());
      case sparse:
        return put(file, file.units() + rng_.below(most_units_ / 4), length());
      case direct:
        return put_direct(file);
      case shrink:
        return resize(file, rng_.below(file.units() + 1));
      case grow:
        return resize(file, std::min(file.units() + length(), most_units_));
      case falloc:
        return reserve(file);
      case punch:
        return blank(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
      case zero:
        return blank(file, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);
      case move:
        return rename_file(file);
      case drop:
        return remove(index);
      case flush:
        return with(file, [&](int fd) { synced(fsync(fd), file); });
      case flush_all:
        return with(file, [&](int fd) { synced(syncfs(fd), file); });
      case compare:
        return compare_file(file);
      default:
        return;
    }
  }

  // Draws the number of units to write. It is usually small, sometimes large.
  std::uint64_t length() {
    const std::uint64_t most =
        rng_.percent(small_percent_) ? 64 : std::max<std::uint64_t>(most_units_ / 4, 1);
    return rng_.between(1, std::max<std::uint64_t>(most >> rng_.below(6), 1));
  }

  std::string path(const File& file) const { return home_ + "/" + file.name; }

  // Calls body(fd) with the file's open descriptor, or with a temporary one.
  template <class Body>
  void with(File& file, const Body& body, int flags = O_RDWR) {
    if (file.fd >= 0 && flags == O_RDWR) return body(file.fd);
    const int fd = static_cast<int>(lab::check(open(path(file).c_str(), flags), path(file)));
    body(fd);
    lab::check(close(fd), path(file));
  }

  // Returns whether the call succeeded. Counts ENOSPC; other errors end the program.
  bool ok(long result, const File& file) {
    if (result >= 0) return true;
    if (errno != ENOSPC) lab::die(path(file));
    ++full_;
    return false;
  }
  void synced(int result, const File& file) { ok(result, file); }

  void make() {
    auto file = std::make_unique<File>();
    file->name = std::to_string(next_name_++);
    const int fd = open(path(*file).c_str(), O_CREAT | O_EXCL | O_RDWR, 0644);
    if (!ok(fd, *file)) return;
    if (rng_.percent(30))
      file->fd = fd;
    else
      lab::check(close(fd), path(*file));
    files_.push_back(std::move(file));
    if (rng_.percent(80)) put(*files_.back(), 0, length());
  }

  void note(File& file, std::uint64_t at, std::uint64_t units, std::uint32_t stamp) {
    if (file.stamps.size() < at + units) file.stamps.resize(at + units, 0);
    std::fill_n(file.stamps.begin() + static_cast<std::ptrdiff_t>(at), units, stamp);
    bytes_ += units * kUnit;
  }

  void put(File& file, std::uint64_t at, std::uint64_t units) {
    if (at >= most_units_) return;
    units = std::min(units, most_units_ - at);
    const std::uint32_t stamp = ++stamp_;
    buffer_.resize(units * kUnit);
    for (std::uint64_t i = 0; i < units; ++i) paint(&buffer_[i * kUnit], stamp, at + i);
    with(file, [&](int fd) {
      const long n = pwrite(fd, buffer_.data(), buffer_.size(), static_cast<off_t>(at * kUnit));
      if (!ok(n, file)) return;
      accept(file, at, static_cast<std::uint64_t>(n), stamp);
    });
  }

  // Records the units that a write has written. Near ENOSPC, a write may stop within a unit. In
  // that case, truncates the file so that it ends before this unit.
  void accept(File& file, std::uint64_t at, std::uint64_t bytes, std::uint32_t stamp) {
    const std::uint64_t units = bytes / kUnit;
    if (units > 0) note(file, at, units, stamp);
    if (bytes % kUnit != 0)
      lab::check(truncate(path(file).c_str(), static_cast<off_t>(file.units() * kUnit)),
                 path(file));
  }

  // Truncates the file to the unit `at`, because a call that failed with ENOSPC may have done part
  // of its work without reporting it.
  void forget_from(File& file, std::uint64_t at) { resize(file, std::min(at, file.units())); }

  void put_direct(File& file) {
    const std::uint64_t align = rng_.percent(80) ? 4096 / kUnit : 1;
    const std::uint64_t at = rng_.below(std::max<std::uint64_t>(file.units(), 8)) / align * align;
    std::uint64_t units =
        std::min(std::max(length() / align, std::uint64_t{1}) * align, kDirectMax / kUnit);
    if (at + units > most_units_) return;
    const std::uint32_t stamp = ++stamp_;
    for (std::uint64_t i = 0; i < units; ++i) paint(aligned_.data() + i * kUnit, stamp, at + i);
    with(
        file,
        [&](int fd) {
          const long n = pwrite(fd, aligned_.data(), units * kUnit, static_cast<off_t>(at * kUnit));
          if (ok(n, file))
            accept(file, at, static_cast<std::uint64_t>(n), stamp);
          else
            forget_from(file, at);
        },
        O_RDWR | O_DIRECT);
  }

  void resize(File& file, std::uint64_t units) {
    lab::check(truncate(path(file).c_str(), static_cast<off_t>(units * kUnit)), path(file));
    file.stamps.resize(units, 0);
  }

  void reserve(File& file) {
    const std::uint64_t at = rng_.below(file.units() + 1);
    const std::uint64_t units = std::min(length() * 4, most_units_ - std::min(at, most_units_));
    if (units == 0) return;
    const bool keep = rng_.percent(40);
    with(file, [&](int fd) {
      const bool done =
          ok(fallocate(fd, keep ? FALLOC_FL_KEEP_SIZE : 0, static_cast<off_t>(at * kUnit),
                       static_cast<off_t>(units * kUnit)),
             file);
      if (keep || done) {
        if (!keep && file.units() < at + units) file.stamps.resize(at + units, 0);
        return;
      }
      // The call may have succeeded in part, so set the size again.
      lab::check(ftruncate(fd, static_cast<off_t>(file.units() * kUnit)), path(file));
    });
  }

  void blank(File& file, int mode) {
    if (file.units() == 0) return;
    const std::uint64_t at = rng_.below(file.units());
    const std::uint64_t units = std::min(length(), file.units() - at);
    with(file, [&](int fd) {
      if (!ok(fallocate(fd, mode, static_cast<off_t>(at * kUnit),
                        static_cast<off_t>(units * kUnit)),
              file))
        return forget_from(file, at);
      std::fill_n(file.stamps.begin() + static_cast<std::ptrdiff_t>(at), units, 0u);
    });
  }

  void rename_file(File& file) {
    const std::string old = path(file);
    const std::string old_name = file.name;
    file.name = std::to_string(next_name_++) + "-renamed";
    // A rename can fail with ENOSPC, if the directory needs another block.
    if (!ok(rename(old.c_str(), path(file).c_str()), file)) file.name = old_name;
  }

  void remove(std::size_t index) {
    File& file = *files_[index];
    lab::check(unlink(path(file).c_str()), path(file));
    if (file.fd >= 0) lab::check(close(file.fd), path(file));
    files_[index] = std::move(files_.back());
    files_.pop_back();
  }

  // Writes pages through a mapping; page faults allocate blocks for holes.
  void put_mapped(File& file) {
    constexpr std::uint64_t kPage = 4096 / kUnit;
    const std::uint64_t pages = file.units() / kPage;
    if (pages == 0) return;
    const std::uint64_t at = rng_.below(pages);
    const std::uint64_t count = std::min(rng_.between(1, 16), pages - at);
    with(file, [&](int fd) {
      // If a page fault finds no space, the kernel kills the process. So reserve the space first.
      if (!ok(fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at * 4096),
                        static_cast<off_t>(count * 4096)),
              file))
        return;
      void* const map = mmap(nullptr, count * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                             static_cast<off_t>(at * 4096));
      if (map == MAP_FAILED) lab::die(path(file));
      const std::uint32_t stamp = ++stamp_;
      for (std::uint64_t i = 0; i < count * kPage; ++i)
        paint(static_cast<char*>(map) + i * kUnit, stamp, at * kPage + i);
      note(file, at * kPage, count * kPage, stamp);
      lab::check(munmap(map, count * 4096), path(file));
    });
  }

  // Small attributes are stored in the inode. Large attributes are stored in a block, or in several
  // blocks if the file system supports that.
  void set_xattr(File& file) {
    const std::string value(rng_.between(1, 900), 'v');
    const std::string name = "user.a" + std::to_string(rng_.below(4));
    const std::string where = path(file);
    if (rng_.percent(20)) {
      if (removexattr(where.c_str(), name.c_str()) < 0 && errno != ENODATA) lab::die(where);
      return;
    }
    ok(setxattr(where.c_str(), name.c_str(), value.data(), value.size(), 0), file);
  }

  // Targets longer than 59 bytes need a block.
  void make_link() {
    const std::string where = home_ + "/l" + std::to_string(rng_.below(200));
    if (unlink(where.c_str()) == 0) return;
    const std::string target(rng_.between(1, 250), 't');
    if (symlink(target.c_str(), where.c_str()) < 0 && errno != ENOSPC) lab::die(where);
  }

  void make_directory() {
    const std::string where = home_ + "/d" + std::to_string(rng_.below(50));
    if (rmdir(where.c_str()) == 0) return;
    if (mkdir(where.c_str(), 0755) < 0 && errno != ENOSPC) lab::die(where);
  }

  void rename_over(std::size_t index) {
    const std::size_t other = rng_.below(files_.size());
    if (other == index) return;
    File& from = *files_[index];
    const File& to = *files_[other];
    const std::string name = to.name;
    if (!ok(rename(path(from).c_str(), path(to).c_str()), from)) return;
    from.name = name;
    if (to.fd >= 0) lab::check(close(to.fd), name);
    files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(other));
  }

  // Continues to write after unlinking the file.
  void write_unlinked(std::size_t index) {
    File& file = *files_[index];
    const int fd = static_cast<int>(lab::check(open(path(file).c_str(), O_RDWR), path(file)));
    lab::check(unlink(path(file).c_str()), path(file));
    if (file.fd >= 0) lab::check(close(file.fd), path(file));
    buffer_.assign(length() * kUnit, 'g');
    ok(pwrite(fd, buffer_.data(), buffer_.size(), static_cast<off_t>(file.units() * kUnit)), file);
    if (rng_.percent(50)) synced(fsync(fd), file);
    lab::check(close(fd), file.name);
    files_[index] = std::move(files_.back());
    files_.pop_back();
  }

  void compare_file(File& file);

  lab::Rng rng_;
  Weights weights_;
  unsigned total_ = 0;
  std::string home_;
  std::uint64_t most_files_, most_units_;
  unsigned small_percent_;
  std::vector<std::unique_ptr<File>> files_;
  std::string buffer_;
  lab::Buffer aligned_{kDirectMax};
  std::uint64_t next_name_ = 0, full_ = 0, bytes_ = 0;
  std::uint32_t stamp_ = 0;
  std::uint64_t done_[op_count] = {};
};

// Fails unless the open file has the contents that the stamps describe.
void compare_contents(int fd, const std::string& path, const std::vector<std::uint32_t>& stamps) {
  struct stat st {};
  lab::check(fstat(fd, &st), path);
  if (static_cast<std::uint64_t>(st.st_size) != stamps.size() * kUnit) {
    std::fprintf(stderr, "churn: %s: size %lld, expected %zu\n", path.c_str(),
                 static_cast<long long>(st.st_size), stamps.size() * kUnit);
    std::_Exit(1);
  }
  std::string got(1 << 16, 0);
  char want[kUnit];
  for (std::uint64_t at = 0; at < stamps.size(); at += got.size() / kUnit) {
    const long n =
        lab::check(pread(fd, got.data(), got.size(), static_cast<off_t>(at * kUnit)), path);
    for (long i = 0; i < n; i += static_cast<long>(kUnit)) {
      const std::uint64_t unit = at + static_cast<std::uint64_t>(i) / kUnit;
      paint(want, stamps[unit], unit);
      if (std::memcmp(want, &got[static_cast<std::size_t>(i)], kUnit) == 0) continue;
      std::fprintf(stderr, "churn: %s: wrong contents at byte %llu\n", path.c_str(),
                   static_cast<unsigned long long>(unit * kUnit));
      std::_Exit(1);
    }
  }
}

void Churn::compare_file(File& file) {
  with(file, [&](int fd) { compare_contents(fd, path(file), file.stamps); });
}

struct Entry {
  std::string path;
  std::vector<std::uint32_t> stamps;
};

std::vector<Entry> read_manifest(const std::string& manifest) {
  std::ifstream in(manifest);
  std::vector<Entry> out;
  Entry entry;
  std::uint64_t units = 0;
  while (in >> entry.path >> units) {
    entry.stamps.clear();
    while (entry.stamps.size() < units) {
      std::uint32_t stamp = 0;
      std::size_t count = 0;
      char x = 0;
      if (!(in >> stamp >> x >> count)) lab::die(manifest);
      entry.stamps.insert(entry.stamps.end(), count, stamp);
    }
    out.push_back(entry);
  }
  return out;
}

void Churn::adopt(const std::string& manifest) {
  constexpr std::uint64_t kNewNames = 1'000'000;
  constexpr std::uint32_t kNewStamps = 1'000'000'000;
  for (Entry& entry : read_manifest(manifest)) {
    if (entry.path.rfind(home_ + "/", 0) != 0) continue;
    auto file = std::make_unique<File>();
    file->name = entry.path.substr(home_.size() + 1);
    file->stamps = std::move(entry.stamps);
    files_.push_back(std::move(file));
  }
  next_name_ = kNewNames;
  stamp_ = kNewStamps;
}

// Parses "0,64K,0@100M+300M" into FITRIM calls; without a range, a call covers the whole file
// system.
std::vector<fstrim_range> read_trims(const std::string& list) {
  std::vector<fstrim_range> out;
  std::istringstream in(list);
  std::string word;
  while (std::getline(in, word, ',')) {
    const std::size_t at = word.find('@'), plus = word.find('+', at == word.npos ? 0 : at);
    fstrim_range range = {0, std::numeric_limits<std::uint64_t>::max(), 0};
    range.minlen = lab::size(word.substr(0, at));
    if (at != word.npos && plus != word.npos) {
      range.start = lab::size(word.substr(at + 1, plus - at - 1));
      range.len = lab::size(word.substr(plus + 1));
    }
    out.push_back(range);
  }
  return out;
}

// Calls FITRIM; returns the number of trimmed bytes.
std::uint64_t trim(const std::string& directory, fstrim_range range) {
  const int fd = static_cast<int>(lab::check(open(directory.c_str(), O_RDONLY), directory));
  lab::check(ioctl(fd, FITRIM, &range), "FITRIM");
  close(fd);
  return range.len;
}

// Compares every file that a manifest names.
std::uint64_t check_manifest(const std::string& manifest) {
  const std::vector<Entry> entries = read_manifest(manifest);
  for (const Entry& entry : entries) {
    const int fd = static_cast<int>(lab::check(open(entry.path.c_str(), O_RDONLY), entry.path));
    compare_contents(fd, entry.path, entry.stamps);
    close(fd);
  }
  return entries.size();
}

}  // namespace

int main(int argc, char** argv) {
  const lab::Options options(argc, argv,
                             {{"threads", "1"},
                              {"ops", "1000"},
                              {"files", "500"},
                              {"max-size", "4M"},
                              {"small-percent", "60"},
                              {"seed", "1"},
                              {"mix", "basic"},
                              {"manifest", ""},
                              {"resume", ""},
                              {"fitrim", ""},
                              {"check", ""}});
  if (!options.text("check").empty()) {
    lab::figure("files_compared", check_manifest(options.text("check")));
    return 0;
  }
  const lab::Stopwatch clock;
  const std::uint64_t threads = std::max<std::uint64_t>(options.number("threads"), 1);
  std::vector<std::unique_ptr<Churn>> all;
  for (std::uint64_t i = 0; i < threads; ++i) all.push_back(std::make_unique<Churn>(options, i));
  const std::vector<fstrim_range> trims = read_trims(options.text("fitrim"));
  const std::uint64_t ops = options.number("ops");
  lab::in_threads(threads, [&](std::uint64_t thread) {
    std::size_t trimmed = thread == 0 ? 0 : trims.size();
    for (std::uint64_t i = 0; i < ops; ++i) {
      all[thread]->step();
      while (trimmed < trims.size() && i + 1 >= ops * (trimmed + 1) / (trims.size() + 1)) {
        const std::uint64_t bytes = trim(options.directory(), trims[trimmed]);
        lab::figure(("trimmed_" + std::to_string(++trimmed)).c_str(), bytes);
      }
    }
    all[thread]->compare_all();
  });
  lab::figure("elapsed_s", clock.seconds());
  std::uint64_t full = 0, bytes = 0;
  for (const auto& churn : all) {
    full += churn->full();
    bytes += churn->bytes();
  }
  lab::figure("bytes_written", bytes);
  lab::figure("times_full", full);
  if (!options.text("manifest").empty()) {
    std::ofstream out(options.text("manifest"));
    for (const auto& churn : all) churn->write_manifest(out);
    if (!out.flush()) lab::die(options.text("manifest"));
  }
  return 0;
}
