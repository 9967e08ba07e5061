// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/changes.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "guest/overlay.h"
#include "util/file.h"
#include "util/text.h"

namespace fs = std::filesystem;

namespace e4r::guest {
namespace {

using FileNames = std::set<std::string>;

// Whether a file name leads out of the tree.
bool leads_out(const std::string& name) {
  const fs::path path(name);
  bool out = !path.is_relative();
  for (const fs::path& part : path) out = out || part == "..";
  return out;
}

Result<std::optional<std::string>> content_of(const fs::path& file) {
  std::error_code ec;
  if (!fs::exists(file, ec)) return std::optional<std::string>();
  E4R_TRY(std::string text, read_file(file.string()));
  return std::optional<std::string>(std::move(text));
}

// A temporary directory that the destructor removes.
class Scratch {
 public:
  Scratch() {
    std::string name = temporary_directory() + "/e4replay-patch-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ec;
    if (!path_.empty()) fs::remove_all(path_, ec);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Returns options that let git patch files in a directory outside any repository.
std::vector<std::string> apply_in(const fs::path& directory) {
  return {"-C", directory.string(), "-c", "core.autocrlf=false", "--git-dir=/nonexistent", "apply"};
}

// Lists the files that a patch names.
Result<FileNames> files_of(const fs::path& directory, const std::string& patch) {
  std::vector<std::string> words = apply_in(directory);
  words.insert(words.end(), {"--numstat", "-z", patch});
  const auto listed = git(words);
  if (!listed.ok()) return error("{}: is not a patch: {}", patch, listed.error().message);
  // Entries are "ADDED TAB REMOVED TAB NAME NUL"; for a renamed file "TAB NUL FROM NUL TO NUL".
  FileNames out;
  std::istringstream entries(*listed);
  for (std::string entry; std::getline(entries, entry, '\0');) {
    const std::size_t tab = entry.rfind('\t');
    std::string name = tab == entry.npos ? entry : entry.substr(tab + 1);
    if (!name.empty()) out.insert(std::move(name));
  }
  if (out.empty()) return error("{}: is a patch that changes nothing", patch);
  for (const std::string& name : out)
    if (leads_out(name))
      return error("{}: changes '{}', which is not in the tree", patch, escape(name));
  return out;
}

// Lists the files that differ between two commits. An empty `to` means the working tree.
Result<FileNames> differing(const Tree& tree, const std::string& from, const std::string& to) {
  std::vector<std::string> words = {"-C", tree.path,      "diff",          "--name-only",
                                    "-z", "--no-renames", "--no-ext-diff", from};
  if (!to.empty()) words.push_back(to);
  words.emplace_back("--");
  E4R_TRY(const std::string listed, git(words));
  FileNames out;
  std::istringstream names(listed);
  for (std::string name; std::getline(names, name, '\0');) out.insert(name);
  return out;
}

Result<FileChanges> at_commit(const Tree& tree, const std::string& commit, const FileNames& names) {
  FileChanges out;
  for (const std::string& name : names) {
    const std::string object = fmt::format("{}:{}", commit, name);
    if (!git({"-C", tree.path, "cat-file", "-e", object}).ok()) {
      out[name] = std::nullopt;
      continue;
    }
    E4R_TRY(out[name], git({"-C", tree.path, "cat-file", "blob", object}));
  }
  return out;
}

}  // namespace

Result<TwoTrees> with_patch(const Tree& tree, const std::string& patch) {
  std::error_code ec;
  const std::string file = fs::absolute(patch, ec).string();
  E4R_TRY(const std::string text, read_file(patch));
  const Scratch scratch;
  if (scratch.path().empty())
    return error("{}: cannot make a directory there", temporary_directory());
  E4R_TRY(const FileNames names, files_of(scratch.path(), file));
  TwoTrees out;
  for (const std::string& name : names) {
    E4R_TRY(out.base[name], content_of(fs::path(tree.path) / name));
    if (!out.base[name]) continue;
    fs::create_directories((scratch.path() / name).parent_path(), ec);
    E4R_CHECK(write_output(*out.base[name], (scratch.path() / name).string()));
  }
  std::vector<std::string> words = apply_in(scratch.path());
  words.push_back(file);
  const auto applied = git(words);
  if (!applied.ok())
    return error("{}: does not apply to {}: {}", patch, tree.path, applied.error().message);
  for (const std::string& name : names) {
    E4R_TRY(out.with[name], content_of(scratch.path() / name));
  }
  return out;
}

Result<TwoTrees> with_commits(const Tree& tree, const std::string& range) {
  const std::size_t dots = range.find("..");
  if (dots == range.npos || dots == 0 || dots + 2 >= range.size() || range[dots + 2] == '.')
    return error("--commit {}: give A..B, the commit before the change and the one with it", range);
  std::string commits[2] = {range.substr(0, dots), range.substr(dots + 2)};
  for (std::string& commit : commits) {
    const auto found =
        git({"-C", tree.path, "rev-parse", "--verify", "--end-of-options", commit + "^{commit}"});
    if (!found.ok())
      return error("{}: has no commit '{}': {}", tree.path, escape(commit), found.error().message);
    commit = found->substr(0, found->find('\n'));
  }
  E4R_TRY(FileNames names, differing(tree, commits[0], commits[1]));
  E4R_TRY(const FileNames others, differing(tree, commits[0], ""));
  if (names.empty()) return error("--commit {}: nothing differs between the two", range);
  names.insert(others.begin(), others.end());
  TwoTrees out;
  E4R_TRY(out.base, at_commit(tree, commits[0], names));
  E4R_TRY(out.with, at_commit(tree, commits[1], names));
  out.base_commit = commits[0];
  out.with_commit = commits[1];
  return out;
}

Result<FileChanges> with_mballoc(const std::string& mballoc_c) {
  FileChanges out;
  E4R_TRY(out["fs/ext4/mballoc.c"], read_file(mballoc_c));
  const fs::path header = fs::path(mballoc_c).parent_path() / "mballoc.h";
  std::error_code ec;
  if (fs::exists(header, ec)) {
    E4R_TRY(out["fs/ext4/mballoc.h"], read_file(header.string()));
  }
  return out;
}

}  // namespace e4r::guest
