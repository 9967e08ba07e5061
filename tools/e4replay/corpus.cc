// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/corpus.h"

#include <algorithm>
#include <filesystem>

namespace e4r::tools {

std::string find_corpus() {
  std::error_code failed;
  std::filesystem::path at = std::filesystem::read_symlink("/proc/self/exe", failed);
  while (!failed && at.has_relative_path()) {
    at = at.parent_path();
    for (const char* name : {"share/e4replay/corpus", "traces/corpus"})
      if (std::filesystem::exists(at / name / "MANIFEST", failed)) return at / name;
  }
  return {};
}

Result<std::vector<std::string>> captures_in(const std::string& directory) {
  std::error_code failed;
  std::vector<std::string> out;
  for (std::filesystem::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed))
    if (at->path().extension() == ".e4c") out.push_back(at->path());
  if (failed) return error("{}: {}", directory, failed.message());
  if (out.empty()) return error("{}: has no capture: give a directory of .e4c files", directory);
  std::ranges::sort(out);
  return out;
}

}  // namespace e4r::tools
