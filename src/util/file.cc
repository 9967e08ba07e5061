// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace e4r {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status write_stream(const std::string& text, std::FILE* stream, const std::string& name) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (!written || std::fflush(stream) != 0)
    return error("cannot write {}: {}", name, errno_text(errno));
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

Status check_output(const std::string& path) {
  if (path == "-" || path.starts_with("/dev/")) return {};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return error("cannot write {}: {}", path, errno_text(EISDIR));
  const std::string parent = std::filesystem::path(path).parent_path().string();
  if (access(parent.empty() ? "." : parent.c_str(), W_OK) != 0)
    return error("cannot write {}: {}", path, errno_text(errno));
  return {};
}

Status write_output(const std::string& text, const std::string& path) {
  if (path == "-") return write_stream(text, stdout, "standard output");
  // A device or a pipe cannot be replaced by a renamed file.
  const bool special = path.starts_with("/dev/");
  const std::string target = special ? path : fmt::format("{}.{}.tmp", path, getpid());
  File file(std::fopen(target.c_str(), "we"), std::fclose);
  if (!file) return error("cannot write {}: {}", path, errno_text(errno));
  Status status = write_stream(text, file.get(), path);
  if (std::fclose(file.release()) != 0 && status.ok())
    status = error("cannot write {}: {}", path, errno_text(errno));
  if (special) return status;
  if (status.ok() && std::rename(target.c_str(), path.c_str()) != 0)
    status = error("cannot write {}: {}", path, errno_text(errno));
  if (!status.ok()) std::remove(target.c_str());
  return status;
}

}  // namespace e4r
