// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/overlay.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <vector>

#include "allocator/kernel.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/text.h"

namespace e4r::guest {
namespace {

std::string read_all(std::FILE* pipe) {
  std::string out;
  std::array<char, 65536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), got);
  return out;
}

}  // namespace

Result<std::string> git(const std::vector<std::string>& words) {
  // Keep warnings out of the output: git's messages go to a file.
  const Fd messages = memory_file("e4replay git", 0);
  if (!messages.is_open()) return error("cannot make a file in memory: {}", errno_text(errno));
  std::string command = "{ git --no-optional-locks";
  for (const std::string& word : words) command += ' ' + shell_quote(word);
  command += fmt::format("; }} 2>/proc/{}/fd/{} </dev/null", ::getpid(), messages.get());
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return error("cannot start git");
  std::string out = read_all(pipe);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return error("git is missing: apt install git");
  if (status == 0) return out;
  E4R_TRY(const std::string said, read_file(messages.path()));
  return error("git says: {}", escape(said.substr(0, said.find('\n'))));
}

}  // namespace e4r::guest

namespace fs = std::filesystem;

namespace e4r::guest {
namespace {

constexpr std::string_view kExt4 = "fs/ext4";
// A file in fs/ext4 that a driver file replaces. The replacement includes the tree's own file.
struct Replaced {
  std::string_view name;
  std::string_view trees;  // name of the tree's own file in the overlay
  const std::string_view& content;
};
constexpr Replaced kMballoc = {"mballoc.c", "mballoc-tree.c", kMballocC};
constexpr Replaced kHeader = {"ext4.h", "ext4-tree.h", kExt4H};

// A header that the compiler reads before each file.
constexpr std::string_view kSpinlocks = "e4replay-spinlocks.h";

// A header with the tree's names of the items that the driver uses.
constexpr std::string_view kNames = "e4replay-tree.h";
// The driver's other files.
struct DriverFile {
  std::string_view name;
  const std::string_view& content;
};
constexpr DriverFile kDriverFiles[] = {
    {"e4replay-protocol.h", kProtocolH}, {"e4replay-state.h", kStateH},
    {"e4replay-host.c", kHostC},         {"e4replay-checksum.c", kChecksumC},
    {"e4replay-commits.c", kCommitsC},   {"e4replay-inodes.c", kInodesC},
    {"e4replay-locks.c", kLocksC},       {"e4replay-requests.c", kRequestsC},
    {"e4replay-memory.c", kMemoryC},     {"e4replay-pretend.c", kPretendC},
    {"e4replay-files.c", kFilesC},       {"e4replay-driver.c", kDriverC},
    {kSpinlocks, kSpinlocksH},
};

Error fail(std::string_view what, const std::error_code& ec) {
  return error("cannot write {}: {}", what, ec.message());
}

// Returns the value in a line "NAME = VALUE" of a Makefile.
std::string make_variable(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t equals = line.find('=');
    if (equals == line.npos || line.find_first_not_of(" \t", name.size()) != equals) continue;
    const std::size_t from = line.find_first_not_of(" \t", equals + 1);
    return from == line.npos ? std::string() : line.substr(from);
  }
  return {};
}

// Writes a file unless it already has these contents.
Status bring_up_to_date(const fs::path& path, std::string_view content) {
  std::error_code ec;
  if (fs::is_symlink(path, ec)) fs::remove(path, ec);
  if (fs::exists(path, ec)) {
    const auto old = read_file(path.string());
    if (old.ok() && *old == content) return {};
  }
  return write_output(std::string(content), path.string());
}

Status link(const fs::path& target, const fs::path& name) {
  std::error_code ec;
  if (fs::is_symlink(name, ec)) {
    if (fs::read_symlink(name, ec) == target) return {};
    fs::remove(name, ec);
  }
  fs::create_directories(name.parent_path(), ec);
  fs::create_symlink(target, name, ec);
  return ec ? Status(fail(name.string(), ec)) : Status();
}

// Removes dangling links from the overlay. A file that is removed from the tree leaves such a link.
void drop_dead_links(const fs::path& directory) {
  std::error_code ec;
  std::vector<fs::path> dead;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory, ec))
    if (entry.is_symlink(ec) && !fs::exists(entry.path(), ec)) dead.push_back(entry.path());
  for (const fs::path& path : dead) fs::remove(path, ec);
}

using Names = std::vector<std::string_view>;

bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Links every entry of a directory except the entries in `but`.
Status link_all(const fs::path& from, const fs::path& to, const Names& but) {
  std::error_code ec;
  fs::create_directories(to, ec);
  if (ec) return fail(to.string(), ec);
  for (const fs::directory_entry& entry : fs::directory_iterator(from, ec)) {
    const std::string name = entry.path().filename().string();
    if (among(but, name) || name == ".git") continue;
    E4R_CHECK(link(entry.path(), to / name));
  }
  return ec ? Status(error("{}: {}", from.string(), ec.message())) : Status();
}

// Links the files of a directory and its subdirectories one by one, except git's own files, changed
// files and those in `but`.
Status link_files(const fs::path& from, const fs::path& to, const FileChanges& changed,
                  const Names& but) {
  std::error_code ec;
  for (fs::recursive_directory_iterator at(from, ec), end; !ec && at != end; at.increment(ec)) {
    if (at->path().filename() == ".git") {
      at.disable_recursion_pending();
      continue;
    }
    if (at->is_directory(ec) && !at->is_symlink(ec)) continue;
    const fs::path path = at->path().lexically_relative(from);
    if (path.parent_path() == kExt4 && among(but, path.filename().string())) continue;
    if (changed.contains(path.string())) continue;
    E4R_CHECK(link(at->path(), to / path));
  }
  return ec ? Status(error("{}: {}", from.string(), ec.message())) : Status();
}

// Returns git's output about the tree; empty if git does not know the tree.
std::string git_of(const Tree& tree, std::vector<std::string> words) {
  words.insert(words.begin(), {"-C", tree.path});
  Result<std::string> out = git(words);
  return out.ok() ? *std::move(out) : std::string();
}

// Finds the tree's commit. A tree that was unpacked inside another repository has no commit.
void find_commit(Tree& tree) {
  std::istringstream lines(git_of(tree, {"rev-parse", "--show-toplevel", "HEAD"}));
  std::string top, commit;
  std::error_code ec;
  if (!std::getline(lines, top) || !std::getline(lines, commit)) return;
  if (!fs::equivalent(top, tree.path, ec) ||
      !std::ranges::all_of(commit, [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return;
  tree.commit = commit;
  tree.dirty =
      !git_of(tree, {"status", "--porcelain", "--untracked-files=no", "--ignore-submodules"})
           .empty();
}

// Links the files that git tracks or does not ignore, one by one. Skips changed files, and the
// files of fs/ext4 in `but`.
Status link_sources(const Tree& tree, const fs::path& to, const FileChanges& changed,
                    const Names& but) {
  const std::string names = git_of(tree, {"ls-files", "-z", "-co", "--exclude-standard"});
  if (names.find(std::string("fs/ext4/mballoc.c") + '\0') == names.npos)
    return error(
        "{}: has object files among its sources, and git cannot tell them apart: run `make "
        "mrproper` there, or give a clean copy",
        tree.path);
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, '\0');) {
    std::error_code ec;
    const fs::path path(name);
    if (path.parent_path() == kExt4 && among(but, path.filename().string())) continue;
    if (changed.contains(name) || !fs::exists(fs::path(tree.path) / path, ec)) continue;
    E4R_CHECK(link(fs::path(tree.path) / name, to / name));
  }
  return {};
}

// Searches a C source for an array with a name that begins with `begin` and ends with `end`.
// Returns the name, or an empty string.
std::string array_named(const std::string& source, std::string_view begin, std::string_view end) {
  const auto in_name = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  const std::string tail = std::string(end) + '[';
  for (std::size_t at = source.find(tail); at != source.npos; at = source.find(tail, at + 1)) {
    std::size_t from = at;
    while (from > 0 && in_name(source[from - 1])) --from;
    std::string name = source.substr(from, at + end.size() - from);
    if (name.starts_with(begin)) return name;
  }
  return {};
}

// The properties of the tree that matter to the driver.
struct DriversView {
  std::string
      macros;   // the tree's names of the items that the driver uses, and the tree's features
  bool header;  // the driver's ext4.h replaces the tree's
};

// A text in ext4.h or mballoc.h that only some kernels have, and the macro that tells the driver.
struct Feature {
  std::string_view text, macro;
  bool in_mballoc = false;
};
constexpr Feature kFeatures[] = {
    {"ac_orig_goal_len;", "E4R_REMEMBERS_GOAL", true},
    // Linux 5.9 to 6.7 can discard a given number of preallocations.
    {"ext4_discard_preallocations(struct inode *, unsigned int)", "E4R_DISCARDS_SOME"},
    // Linux 6.17 and later have several stream goals, which hold only a group.
    {"*s_mb_last_groups;", "E4R_STREAMS_BY_INODE"},
    // Later kernels keep two lists of freed extents, for transactions with even and odd numbers.
    {"s_freed_data_list[2];", "E4R_FREED_LISTS"},
    // Since Linux 6.4, an inode's preallocations are in a tree.
    {"inode_node;", "E4R_PREALLOC_TREES", true},
    // Linux 5.9 and later count an inode's preallocations.
    {"i_prealloc_active;", "E4R_COUNTS_PREALLOCS"},
    // Linux 5.13 to 6.16 keep groups on lists by their largest free extent.
    {"list_head *s_mb_largest_free_orders;", "E4R_GROUP_LISTS"},
    // Linux 6.1 to 6.16 also keep them on lists by their average free extent.
    {"list_head *s_mb_avg_fragment_size;", "E4R_AVERAGE_LISTS"},
    // Since Linux 5.15, jbd2 expects the trigger type of a metadata block.
    {"EXT4_JTR_NONE", "E4R_JOURNAL_TRIGGERS"},
};

Result<DriversView> drivers_view(const Tree& tree, const FileChanges& changes) {
  const auto header = [&](std::string_view name) -> Result<std::string> {
    const std::string path = fmt::format("{}/{}", kExt4, name);
    const auto changed = changes.find(path);
    if (changed == changes.end()) return read_file((fs::path(tree.path) / path).string());
    if (changed->second) return *changed->second;
    return error("{}: the change removes {}", tree.path, path);
  };
  E4R_TRY(const std::string ext4, header("ext4.h"));
  const auto mballoc = header("mballoc.h");
  std::string out = "/* What the driver reads, as this tree calls it. */\n";
  std::vector<std::string_view> missing;
  for (const std::string_view what : {"groups_considered", "hits"}) {
    const std::string name = array_named(ext4, "s_bal_c", fmt::format("_{}", what));
    const std::string stock = fmt::format("s_bal_cX_{}", what);
    if (name.empty())
      missing.push_back(what);
    else if (name != stock)
      out += fmt::format("#define {} {}\n", stock, name);
  }
  // Kernels without mb_stats have neither array. Linux 5.13 added mb_stats; some earlier stable
  // releases have it, too.
  constexpr allocator::Release kFirstStats = {5, 13, 0};
  const bool has_stats =
      allocator::parse_release(tree.version).value_or(kFirstStats) >= kFirstStats;
  if (missing.size() == 1 || (has_stats && !missing.empty()))
    return error("{}: fs/ext4/ext4.h has no array s_bal_cX_{}, which the driver reads", tree.path,
                 missing[0]);
  if (!missing.empty()) out += "#define E4R_COUNTS_NO_GROUPS\n";
  for (const Feature& feature : kFeatures) {
    const bool has = feature.in_mballoc
                         ? mballoc.ok() && mballoc->find(feature.text) != mballoc->npos
                         : ext4.find(feature.text) != ext4.npos;
    if (has) out += fmt::format("#define {}\n", feature.macro);
  }
  // Older trees compute checksums through the crypto API, newer ones call the library's function.
  const bool crypto = ext4.find("s_chksum_driver;") != ext4.npos;
  if (crypto) out += "#define E4R_SUMS_BY_CRYPTO\n";
  if (!tree.commit.empty())
    out += fmt::format("#define E4R_SOURCE \" commit={} dirty={}\"\n", tree.commit,
                       tree.dirty ? 1 : 0);
  return DriversView{std::move(out), !crypto};
}

// Returns `changes`, and every other file that an earlier call changed in this directory. Such a
// file gets the tree's content again. It is written, not linked, so that its modification time is
// new: make compares modification times.
Result<FileChanges> with_earlier(const Tree& tree, const fs::path& noted,
                                 const FileChanges& changes) {
  FileChanges out = changes;
  std::error_code ec;
  if (fs::exists(noted, ec)) {
    E4R_TRY(const std::string text, read_file(noted.string()));
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) {
      if (out.contains(name)) continue;
      const fs::path file = fs::path(tree.path) / name;
      out[name] = std::nullopt;
      if (!fs::exists(file, ec)) continue;
      E4R_TRY(out[name], read_file(file.string()));
    }
  }
  return out;
}

Status note_changes(const fs::path& noted, const FileChanges& changes) {
  std::string names;
  for (const auto& [name, content] : changes) names += name + '\n';
  return changes.empty() ? Status() : bring_up_to_date(noted, names);
}

// Returns the path of a tree's file in the overlay.
fs::path place_of(const fs::path& overlay, const std::string& name,
                  const std::vector<Replaced>& replaced) {
  for (const Replaced& file : replaced)
    if (fs::path(name) == fs::path(kExt4) / file.name) return overlay / kExt4 / file.trees;
  return overlay / name;
}

Status make_changes(const fs::path& overlay, const FileChanges& changes,
                    const std::vector<Replaced>& replaced) {
  std::error_code ec;
  for (const auto& [name, content] : changes) {
    const fs::path place = place_of(overlay, name, replaced);
    if (!content) {
      fs::remove(place, ec);
      continue;
    }
    fs::create_directories(place.parent_path(), ec);
    E4R_CHECK(bring_up_to_date(place, *content));
  }
  return {};
}

}  // namespace

Result<Tree> look_at_tree(const std::string& path) {
  std::error_code ec;
  Tree tree;
  tree.path = fs::canonical(path, ec).string();
  if (ec) return error("{}: {}", path, ec.message());
  const fs::path top(tree.path);
  const auto makefile = read_file((top / "Makefile").string());
  if (!makefile.ok() || !fs::exists(top / kExt4 / "ext4.h", ec))
    return error("{}: is not a kernel tree: there is no Makefile or no fs/ext4 in it", path);
  if (!fs::exists(top / kExt4 / "mballoc.c", ec))
    return error("{}: has no fs/ext4/mballoc.c, the code that decides", path);
  tree.version = fmt::format(
      "{}.{}.{}{}", make_variable(*makefile, "VERSION"), make_variable(*makefile, "PATCHLEVEL"),
      make_variable(*makefile, "SUBLEVEL"), make_variable(*makefile, "EXTRAVERSION"));
  const auto release = allocator::parse_release(tree.version);
  constexpr allocator::Release kFirst = {5, 4, 0};
  if (!release) return error("{}: its Makefile does not say which version it is", path);
  if (*release < kFirst)
    return error("{}: is Linux {}; the driver is for 5.4 and later", path, tree.version);
  tree.built_in = fs::exists(top / ".config", ec) || fs::exists(top / "include/config", ec) ||
                  fs::exists(top / "arch/x86/include/generated", ec);
  find_commit(tree);
  return tree;
}

Status make_overlay(const Tree& tree, const std::string& directory, const FileChanges& wanted) {
  const fs::path from(tree.path), to(directory);
  std::error_code ec;
  fs::create_directories(to, ec);
  if (ec) return fail(directory, ec);
  const fs::path noted = to / ".e4replay-changed";
  E4R_TRY(const FileChanges changes, with_earlier(tree, noted, wanted));
  const bool by_file = tree.built_in || !changes.empty();
  E4R_TRY(const DriversView view, drivers_view(tree, changes));
  std::vector<Replaced> replaced = {kMballoc};
  if (view.header) replaced.push_back(kHeader);
  Names own;
  for (const Replaced& file : replaced) own.push_back(file.name);
  // Linking directories and linking single files cannot be mixed: a directory of the overlay would
  // have to be both a link and a real directory.
  const fs::path mark = to / ".e4replay-sources";
  if (fs::exists(mark, ec) != by_file) {
    fs::remove_all(to, ec);
    fs::create_directories(to / kExt4, ec);
  }
  E4R_CHECK(note_changes(noted, changes));
  // The driver's header may remain from another version of the tree.
  const fs::path header = to / kExt4 / kHeader.name;
  const bool ours = !view.header && !changes.contains(fmt::format("{}/{}", kExt4, kHeader.name));
  if (ours && !fs::is_symlink(header, ec)) fs::remove(header, ec);
  if (by_file) {
    E4R_CHECK(tree.built_in ? link_sources(tree, to, changes, own)
                            : link_files(from, to, changes, own));
    E4R_CHECK(bring_up_to_date(mark, "files\n"));
  } else {
    E4R_CHECK(link_all(from, to, {"fs"}));
    E4R_CHECK(link_all(from / "fs", to / "fs", {"ext4"}));
    E4R_CHECK(link_all(from / kExt4, to / kExt4, own));
  }
  drop_dead_links(to / kExt4);
  for (const Replaced& file : replaced) {
    if (!changes.contains(fmt::format("{}/{}", kExt4, file.name)))
      E4R_CHECK(link(from / kExt4 / file.name, to / kExt4 / file.trees));
    E4R_CHECK(bring_up_to_date(to / kExt4 / file.name, file.content));
  }
  for (const DriverFile& file : kDriverFiles)
    E4R_CHECK(bring_up_to_date(to / kExt4 / file.name, file.content));
  E4R_CHECK(make_changes(to, changes, replaced));
  return bring_up_to_date(to / kExt4 / kNames, view.macros);
}

std::string compiler_flags() {
  return fmt::format("-include $(srctree)/{}/{}", kExt4, kSpinlocks);
}

Status claim_directory(const Tree& tree, const std::string& directory) {
  const fs::path mark = fs::path(directory) / "tree";
  std::error_code ec;
  if (fs::exists(mark, ec)) {
    E4R_TRY(const std::string owner, read_file(mark.string()));
    if (owner != tree.path + "\n")
      return error("{}: another tree was built there: give each tree its own --build-dir",
                   directory);
    return {};
  }
  return write_output(tree.path + "\n", mark.string());
}

Status write_config(const Tree& tree, const std::string& path) {
  std::string text(kUmlConfig);
  // OpenWrt's patches add broadcast_uevent(), which does not link without CONFIG_NET.
  const auto events = read_file(tree.path + "/lib/kobject_uevent.c");
  if (events.ok() && events->find("broadcast_uevent") != events->npos) text += "CONFIG_NET=y\n";
  return bring_up_to_date(path, text);
}

Status check_config(const std::string& dot_config) {
  E4R_TRY(const std::string text, read_file(dot_config));
  std::istringstream wanted{std::string(kUmlConfig)};
  for (std::string line; std::getline(wanted, line);)
    if (line.starts_with("CONFIG_") && text.find('\n' + line + '\n') == text.npos)
      return error("{}: the tree does not take {}, which the guest needs", dot_config, line);
  return {};
}

}  // namespace e4r::guest
