// SPDX-License-Identifier: GPL-2.0-or-later
#include "e4replay/bundled.h"

#include <algorithm>
#include <filesystem>
#include <functional>

namespace e4r::tools {
namespace {

namespace fs = std::filesystem;

// The directories with captures, each named relative to the installation or to the source tree.
constexpr const char* kCaptures[] = {"share/e4replay/captures", "traces"};
constexpr const char* kCorpus[] = {"share/e4replay/corpus", "traces/corpus"};

// Returns the first of the directories beside or above this program that has a MANIFEST, or "".
fs::path find_directory(const char* const (&names)[2]) {
  std::error_code failed;
  fs::path at = fs::read_symlink("/proc/self/exe", failed);
  while (!failed && at.has_relative_path()) {
    at = at.parent_path();
    for (const char* name : names)
      if (fs::exists(at / name / "MANIFEST", failed)) return at / name;
  }
  return {};
}

}  // namespace

std::string find_corpus() {
  return find_directory(kCorpus);
}

std::string find_capture(const std::string& word) {
  std::error_code failed;
  if (word.empty() || word.find('/') != std::string::npos || fs::exists(word, failed)) return word;
  for (const auto& names : {std::cref(kCaptures), std::cref(kCorpus)}) {
    const fs::path directory = find_directory(names);
    if (directory.empty()) continue;
    for (const std::string& file : {word, word + ".e4c"})
      if (fs::path(file).extension() == ".e4c" && fs::exists(directory / file, failed))
        return directory / file;
  }
  return word;
}

Result<std::vector<std::string>> captures_in(const std::string& directory) {
  std::error_code failed;
  std::vector<std::string> out;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
       at.increment(failed))
    if (at->path().extension() == ".e4c") out.push_back(at->path());
  if (failed) return error("{}: {}", directory, failed.message());
  if (out.empty()) return error("{}: has no capture: give a directory of .e4c files", directory);
  std::ranges::sort(out);
  return out;
}

}  // namespace e4r::tools
