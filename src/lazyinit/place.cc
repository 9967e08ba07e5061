// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/place.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>

#include "util/fd.h"
#include "util/file.h"
#include "util/status.h"
#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr std::string_view kOffset = "?offset=";

}  // namespace

ImageLocation place_of(const std::string& name) {
  const std::size_t mark = name.rfind(kOffset);
  if (mark == std::string::npos) return {name};
  std::error_code failed;
  if (std::filesystem::exists(name, failed)) return {name};
  const auto offset = parse_u64(std::string_view(name).substr(mark + kOffset.size()));
  return offset.ok() ? ImageLocation{name.substr(0, mark), *offset} : ImageLocation{name};
}

std::string name_of(const ImageLocation& place) {
  if (place.offset == 0) return place.file;
  return fmt::format("{}{}{}", place.file, kOffset, place.offset);
}

Result<std::string> find_device(const std::string& text) {
  const bool label = text.starts_with("LABEL=");
  if (!label && !text.starts_with("UUID=")) return text;
  // Uses no cache file, so that libblkid examines every device. With a cache file, it may miss
  // changes of the last two seconds.
  blkid_cache found = nullptr;
  if (::blkid_get_cache(&found, "/dev/null") != 0)
    return error("{}: libblkid cannot be used: out of memory", text);
  const std::unique_ptr<std::remove_pointer_t<blkid_cache>, decltype(&::blkid_put_cache)> cache(
      found, &::blkid_put_cache);
  const std::unique_ptr<char, decltype(&std::free)> name(
      ::blkid_get_devname(cache.get(), text.c_str(), nullptr), &std::free);
  if (name) return std::string(name.get());
  std::error_code failed;
  if (std::filesystem::exists(text, failed)) return text;
  return error("{}: no readable device has this {}: blkid lists them", text,
               label ? "label" : "UUID");
}

namespace {

bool is_on_a_file(dev_t device) {
  const auto backing = device_attribute(device, "loop/backing_file");
  struct stat st = {};
  return backing && ::stat(backing->c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

bool is_all_holes(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.is_open() && ::lseek(fd.get(), 0, SEEK_DATA) < 0 && errno == ENXIO;
}

}  // namespace

std::optional<std::string> device_attribute(dev_t device, const std::string& name) {
  for (const char* up : {"", "/.."}) {
    const auto text =
        read_file(fmt::format("/sys/dev/block/{}:{}{}/{}", major(device), minor(device), up, name));
    if (text.ok()) return text->substr(0, text->find('\n'));
  }
  return std::nullopt;
}

Storage look_at_storage(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0) return {errno == ENOENT, true};
  if (S_ISREG(st.st_mode)) return {is_all_holes(path), true};
  if (!S_ISBLK(st.st_mode)) return {};
  return {false, device_attribute(st.st_rdev, "queue/discard_max_hw_bytes") == "0" ||
                     is_on_a_file(st.st_rdev)};
}

}  // namespace e4r::lazyinit
