// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/start_image.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/child.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

// mke2fs makes no file system with a journal in less than about half of it.
constexpr std::uint64_t kLeastBytes = 8 << 20;

// Of a file system that is the same whenever it is made.
constexpr const char* kFixedUuid = "e4e4e4e4-e4e4-4e4e-8e4e-e4e4e4e4e4e4";

}  // namespace

Result<std::uint64_t> parse_start_size(const std::string& size) {
  const auto bytes = parse_size(size);
  if (!bytes.ok()) return error("{}: is not a size such as 10G", size);
  if (*bytes < kLeastBytes)
    return error("{}: is too small for a file system that ages: give {} or more", size,
                 format_size(kLeastBytes));
  return *bytes;
}

Status StartImage::make_in(std::uint64_t bytes, const std::string& size,
                           const std::string& directory, const std::string& where,
                           std::uint32_t block_size, bool repeatable) {
  E4R_TRY(const std::string mke2fs, find_mke2fs());
  auto file = anonymous_file(directory, true);
  if (!file.ok()) return error("{}: {}", where, file.error().message);
  made_ = *std::move(file);
  path_ = made_.path();
  if (::ftruncate(made_.get(), static_cast<off_t>(bytes)) != 0)
    return error("{} of {} bytes: {}", where, bytes, errno_text(errno));
  std::string extended = "nodiscard,lazy_itable_init=1";
  if (repeatable) extended += std::string(",hash_seed=") + kFixedUuid;
  std::vector<std::string> arguments = {"mke2fs", "-q", "-F", "-t", "ext4", "-E", extended};
  if (block_size != 0) {
    arguments.emplace_back("-b");
    arguments.push_back(std::to_string(block_size));
  }
  std::string program = mke2fs;
  if (repeatable) {
    // mke2fs takes the time from this.
    arguments.insert(arguments.begin(), {"env", "E2FSPROGS_FAKE_TIME=1577836800"});
    arguments[2] = mke2fs;
    arguments.insert(arguments.end(), {"-U", kFixedUuid});
    program = "/usr/bin/env";
  }
  arguments.push_back(path_);
  E4R_TRY(const int status, run_child(program, arguments));
  if (status != 0) return error("mke2fs made no file system of {}: status {}", size, status);
  return {};
}

Result<StartImage> StartImage::open(const std::string& target, const OutputName& output) {
  StartImage out;
  out.path_ = target;
  std::error_code ec;
  if (std::filesystem::exists(target, ec)) return out;
  if (!parse_size(target).ok())
    return error("{}: is neither an image nor a size such as 10G", target);
  E4R_TRY(const std::uint64_t bytes, parse_start_size(target));
  E4R_TRY(const std::string behind_links, output_target(output));
  E4R_CHECK(out.make_in(bytes, target, directory_of(behind_links),
                        output.path() + ": cannot create a file beside it"));
  return out;
}

Result<StartImage> StartImage::make(const std::string& size, const std::string& directory,
                                    std::uint32_t block_size, bool repeatable) {
  E4R_TRY(const std::uint64_t bytes, parse_start_size(size));
  StartImage out;
  E4R_CHECK(out.make_in(bytes, size, directory, "cannot make a file system of " + size, block_size,
                        repeatable));
  return out;
}

}  // namespace e4r::tools
