// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/place.h"

#include <blkid/blkid.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <type_traits>

#include "util/units.h"

namespace e4r::lazyinit {
namespace {

constexpr std::string_view kOffset = "?offset=";

}  // namespace

Place place_of(const std::string& name) {
  const std::size_t mark = name.rfind(kOffset);
  if (mark == std::string::npos) return {name};
  std::error_code failed;
  if (std::filesystem::exists(name, failed)) return {name};
  const auto offset = parse_u64(std::string_view(name).substr(mark + kOffset.size()));
  return offset.ok() ? Place{name.substr(0, mark), *offset} : Place{name};
}

std::string name_of(const Place& place) {
  if (place.offset == 0) return place.file;
  return fmt::format("{}{}{}", place.file, kOffset, place.offset);
}

Result<std::string> named_device(const std::string& text) {
  const bool label = text.starts_with("LABEL=");
  if (!label && !text.starts_with("UUID=")) return text;
  // Without a file for its cache, libblkid looks at every device. With one, it does not see for two
  // seconds what has become of a device.
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
  return error("{}: no device that can be read from here has this {}: blkid lists them", text,
               label ? "label" : "UUID");
}

}  // namespace e4r::lazyinit
