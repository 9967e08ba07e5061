// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/storage.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "record/volume.h"
#include "trace/event.h"
#include "trace/trace.h"
#include "util/file.h"
#include "util/loop_devices.h"

namespace e4r::record {
namespace {

namespace fs = std::filesystem;

class Search {
 public:
  explicit Search(std::uint32_t wanted) : wanted_(wanted) {}

  Stored in_file(const std::string& path) {
    struct stat st = {};
    if (::stat(path.c_str(), &st) != 0) return Stored::unknown;
    const dev_t dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
    return on_device(number_of(dev));
  }

 private:
  Stored on_device(std::uint32_t dev) {
    if (dev == wanted_) return Stored::there;
    if (!seen_.insert(dev).second) return Stored::elsewhere;
    const fs::path place =
        fmt::format("/sys/dev/block/{}:{}", trace::dev_major(dev), trace::dev_minor(dev));
    std::error_code failed;
    if (!fs::exists(place, failed)) return below_mount(dev);
    Stored out = below_loop(place);
    if (fs::exists(place / "partition", failed)) out = worse(out, listed(place / ".."));
    for (fs::directory_iterator it(place / "slaves", failed), end; !failed && it != end;
         it.increment(failed))
      out = worse(out, listed(it->path()));
    return out;
  }

  // Examines a block device listed in sysfs.
  Stored listed(const fs::path& place) {
    const auto dev = trace::parse_device(read_attribute(place / "dev"));
    return dev.ok() ? on_device(*dev) : Stored::elsewhere;
  }

  Stored below_loop(const fs::path& place) {
    const std::string backing = read_attribute(place / "loop" / "backing_file");
    if (backing.empty()) return Stored::elsewhere;
    std::error_code failed;
    const auto shown = loop_shows("/dev/" + fs::canonical(place, failed).filename().string());
    if (!shown || fs::is_block_file(backing, failed)) return in_file(backing);
    return on_device(number_of(shown->device));
  }

  // Examines a file system without its own block device, such as an overlay or Btrfs.
  Stored below_mount(std::uint32_t dev) {
    const auto mount = find_mount(dev);
    if (!mount) return Stored::elsewhere;
    if (mount->type != "overlay")
      return mount->source.starts_with('/') ? in_file(mount->source) : Stored::elsewhere;
    constexpr std::string_view kUpper = "upperdir=";
    std::istringstream options(mount->options);
    for (std::string option; std::getline(options, option, ',');)
      if (option.starts_with(kUpper)) return in_file(option.substr(kUpper.size()));
    return Stored::elsewhere;  // without an upper directory it takes no writes
  }

  static Stored worse(Stored a, Stored b) {
    if (a == Stored::there || b == Stored::there) return Stored::there;
    return a == Stored::unknown ? a : b;
  }

  std::uint32_t wanted_;
  std::set<std::uint32_t> seen_;
};

}  // namespace

Stored stored_on(const std::string& directory, std::uint32_t dev) {
  return Search(dev).in_file(directory);
}

}  // namespace e4r::record
