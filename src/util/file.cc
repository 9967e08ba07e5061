// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/file.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "util/fd.h"

namespace e4r {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return error("cannot write standard output: {}", errno_text(errno));
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) return error("cannot read {}: {}", path, errno_text(errno));
  std::string text;
  char buffer[65536];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;)
    text.append(buffer, n);
  if (std::ferror(file.get()) != 0) return error("cannot read {}: {}", path, errno_text(errno));
  return text;
}

std::string read_attribute(const std::string& path) {
  const auto text = read_file(path);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

Status write_output(const std::string& text, const OutputName& name) {
  if (name.path() == "-") return write_stdout(text);
  E4R_TRY(Output out, Output::create(name));
  E4R_CHECK(out.write(text));
  return out.commit();
}

bool is_cut_elf(std::string_view bytes) {
  if (!bytes.starts_with(ELFMAG)) return false;
  if (bytes.size() > EI_CLASS && bytes[EI_CLASS] != ELFCLASS64) return false;
  Elf64_Ehdr head;
  if (bytes.size() < sizeof(head)) return true;
  std::memcpy(&head, bytes.data(), sizeof(head));
  // Whether part of [from, from + size) lies outside the file.
  const auto leaves = [&](std::uint64_t from, std::uint64_t size) {
    return from > bytes.size() || size > bytes.size() - from;
  };
  if (leaves(head.e_phoff, std::uint64_t{head.e_phnum} * sizeof(Elf64_Phdr))) return true;
  for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + head.e_phoff + i * sizeof(segment), sizeof(segment));
    if (leaves(segment.p_offset, segment.p_filesz)) return true;
  }
  return false;
}

namespace {

namespace fs = std::filesystem;

// The backing file of the loop device `name` ("loop0"). `backing` is the file's path according to
// sysfs.
std::optional<FileId> find_shown(const std::string& name, const std::string& backing) {
  const auto named = file_id(backing);
  if (named && named->is_block_device) return named;
  const auto by_device = loop_shows("/dev/" + name);
  return by_device ? by_device : named;
}

// Calls `see` with the name of each loop device in use and its backing file.
template <class See>
void for_each_loop_device(See see) {
  std::error_code failed;
  for (fs::directory_iterator it("/sys/block", failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename();
    if (!name.starts_with("loop")) continue;
    const std::string backing = read_attribute(it->path() / "loop" / "backing_file");
    if (backing.empty()) continue;
    if (const auto shown = find_shown(name, backing)) see(name, *shown);
  }
}

}  // namespace

// The kernel packs lo_device with huge_encode_dev(), which is also the encoding of st_dev on 64-bit
// systems. If a block device backs the loop device, lo_inode is the inode of one of the block
// device's nodes, of which there may be many.
std::optional<FileId> loop_shows(const std::string& node) {
  const Fd fd(::open(node.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct loop_info64 info = {};
  if (!fd.is_open() || ::ioctl(fd.get(), LOOP_GET_STATUS64, &info) != 0) return std::nullopt;
  return FileId{static_cast<dev_t>(info.lo_device), static_cast<ino_t>(info.lo_inode), false};
}

std::vector<std::string> loop_devices_of(const FileId& file) {
  std::vector<std::string> out;
  for_each_loop_device([&](const std::string& name, const FileId& shown) {
    if (shown == file) out.push_back(name);
  });
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> loop_devices_beside(const FileId& device) {
  std::optional<FileId> file;
  std::string own;
  for_each_loop_device([&](const std::string& name, const FileId& shown) {
    if (file_id("/dev/" + name) != device) return;
    file = shown;
    own = name;
  });
  if (!file) return {};
  std::vector<std::string> out = loop_devices_of(*file);
  std::erase(out, own);
  return out;
}

}  // namespace e4r
