// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/file.h"

#include <cerrno>
#include <cstdio>
#include <memory>

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

}  // namespace e4r
