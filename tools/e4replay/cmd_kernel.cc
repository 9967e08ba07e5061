// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>

#include "common/child.h"
#include "common/command.h"
#include "guest/changes.h"
#include "guest/kernel_file.h"
#include "guest/overlay.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/output.h"
#include "util/parallel.h"
#include "util/progress.h"

namespace e4r::tools {
namespace kernel_command_parts {

namespace fs = std::filesystem;

constexpr std::string_view kObjects = "e4replay-objects";  // directory in the overlay

struct BuildOptions {
  std::string tree;
  std::string out;
  std::string patch, commits;  // a change: if given, two kernels are built, without and with it
  std::string mballoc;         // replaces the tree's mballoc.c
  std::string base;       // output for the kernel without the change; named after `out` if empty
  std::string directory;  // where to build; in the user's cache if empty
  unsigned jobs = 0;
  bool no_progress = false;
};

// Returns the directory in which a build of the tree is kept for the next command.
Result<std::string> cache_directory(const guest::Tree& tree) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if ((cache == nullptr || *cache == '\0') && (home == nullptr || *home == '\0'))
    return error(
        "neither XDG_CACHE_HOME nor HOME is set: give the build directory with --build-dir");
  const fs::path base =
      cache != nullptr && *cache != '\0' ? fs::path(cache) : fs::path(home) / ".cache";
  const std::size_t hash = std::hash<std::string>()(tree.path);
  return (base / "e4replay/kernels" /
          fmt::format("{}-{:016x}", fs::path(tree.path).filename().string(), hash))
      .string();
}

Status check_tools() {
  std::string missing;
  for (const char* tool : {"make", "gcc", "flex", "bison", "bc"})
    if (find_program(tool).empty())
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", tool);
  if (missing.empty()) return {};
  return error("a kernel's build needs {}: apt install build-essential flex bison bc", missing);
}

// Returns the first error in a log and the number of further errors, or the log's last line if it
// has no errors.
std::string reason(const std::string& log) {
  constexpr std::size_t kMost = 5;
  const auto text = read_file(log);
  if (!text.ok()) return {};
  std::vector<std::string> errors;
  std::string last;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line) && errors.size() < kMost;) {
    if (!line.empty()) last = line;
    if (line.find("error:") != line.npos || line.find("undefined reference") != line.npos)
      errors.push_back(line);
  }
  if (errors.empty()) return last;
  std::string out = errors.front();
  if (errors.size() > 1) out += fmt::format(" (and {} more)", errors.size() - 1);
  return out;
}

// Builds the given make targets and writes the output to a log.
Status make(const std::string& directory, const guest::Tree& tree, const std::string& log,
            const std::vector<std::string>& words) {
  const char* cc = std::getenv("CC");
  std::string compiler = cc != nullptr && *cc != '\0' ? cc : "gcc";
  if (cc == nullptr && !find_program("ccache").empty()) compiler = "ccache gcc";
  // sh redirects make's output to the log. Objects are inside the overlay, so that all paths are
  // relative: a compiler cache can then reuse objects that were compiled in another directory.
  const std::string script =
      "unset MAKEFLAGS MAKELEVEL CROSS_COMPILE; export CCACHE_NOHASHDIR=1; exec \"$@\" >\"$0\" "
      "2>&1";
  std::vector<std::string> argv = {"sh",
                                   "-c",
                                   script,
                                   log,
                                   "make",
                                   "-s",
                                   "-C",
                                   directory + "/source",
                                   "O=" + std::string(kObjects),
                                   "ARCH=um",
                                   "CC=" + compiler,
                                   "KCFLAGS=" + guest::compiler_flags(),
                                   "KBUILD_BUILD_USER=e4replay",
                                   "KBUILD_BUILD_HOST=e4replay"};
  argv.insert(argv.end(), words.begin(), words.end());
  E4R_TRY(const int status, run_child("/bin/sh", argv));
  if (status == 0) return {};
  if (status > 128) return error("{}: the build was ended by signal {}", tree.path, status - 128);
  return error("{}: does not build: {}; {} has the whole output", tree.path, reason(log), log);
}

// A kernel to build: its output file, the source tree, and the changes to the tree.
struct Wanted {
  std::string out;
  guest::Tree tree;  // names the commit that is built
  guest::FileChanges changes;
};

// Returns the output file for the kernel without the change, by default "mine-base.uml" for
// "mine.uml".
std::string base_name(const BuildOptions& o) {
  if (!o.base.empty()) return o.base;
  const fs::path out(o.out);
  return (out.parent_path() / (out.stem().string() + "-base" + out.extension().string())).string();
}

Result<std::vector<Wanted>> wanted_kernels(const BuildOptions& o, const guest::Tree& tree) {
  guest::Tree base = tree, with = tree;
  if (!o.mballoc.empty()) {
    E4R_TRY(guest::FileChanges changes, guest::with_mballoc(o.mballoc));
    with.dirty = true;
    return std::vector<Wanted>{{o.out, std::move(with), std::move(changes)}};
  }
  if (o.patch.empty() && o.commits.empty()) return std::vector<Wanted>{{o.out, tree, {}}};
  guest::TwoTrees trees;
  if (o.patch.empty()) {
    E4R_TRY(trees, guest::with_commits(tree, o.commits));
    base.commit = trees.base_commit;
    with.commit = trees.with_commit;
    base.dirty = with.dirty = false;
  } else {
    E4R_TRY(trees, guest::with_patch(tree, o.patch));
    with.dirty = true;
  }
  return std::vector<Wanted>{{base_name(o), std::move(base), std::move(trees.base)},
                             {o.out, std::move(with), std::move(trees.with)}};
}

// Returns the directory for objects. Changed trees use a directory of their own, because some of
// their files are not links to the tree.
Result<std::string> build_directory(const BuildOptions& o, const guest::Tree& tree) {
  std::string directory = o.directory;
  if (directory.empty()) {
    E4R_TRY(directory, cache_directory(tree));
    if (!o.patch.empty() || !o.commits.empty() || !o.mballoc.empty()) directory += "-changed";
  }
  directory = fs::absolute(directory).string();
  if (fs::path(directory).lexically_relative(tree.path).string().substr(0, 2) != "..")
    return error(
        "{}: is inside the kernel tree, where nothing is written: give another --build-dir",
        directory);
  return directory;
}

// Builds the tree with the changes in `directory`, which must be locked.
Status build_in(const std::string& directory, const Wanted& wanted, unsigned jobs) {
  const guest::Tree& tree = wanted.tree;
  std::error_code ec;
  E4R_CHECK(guest::make_overlay(tree, directory + "/source", wanted.changes));
  const std::string objects = fmt::format("{}/source/{}", directory, kObjects);
  fs::create_directories(objects, ec);
  if (ec) return error("{}: {}", directory, ec.message());
  const std::string config = directory + "/guest.config";
  const std::string dot_config = objects + "/.config";
  E4R_CHECK(guest::write_config(tree, config));
  if (!fs::exists(dot_config, ec) ||
      fs::last_write_time(dot_config, ec) < fs::last_write_time(config, ec))
    E4R_CHECK(make(directory, tree, directory + "/configure.log",
                   {"allnoconfig", "KCONFIG_ALLCONFIG=" + config}));
  E4R_CHECK(guest::check_config(dot_config));
  return make(directory, tree, directory + "/build.log",
              {fmt::format("-j{}", thread_count(jobs)), "linux"});
}

Status write_kernel(const std::string& directory, const OutputName& name) {
  E4R_TRY(const std::string kernel,
          read_file(fmt::format("{}/source/{}/linux", directory, kObjects)));
  E4R_TRY(Output out, Output::create(name, OutputKind::file, {.mode = 0777}));
  E4R_CHECK(out.write(kernel));
  return out.commit();
}

Result<int> build(const BuildOptions& o) {
#if !defined(__x86_64__)
  return error("kernels with the driver run on x86-64 only");
#endif
  if (!o.base.empty() && o.patch.empty() && o.commits.empty())
    return usage_error("--base is for --patch and --commit, which make two kernels");
  E4R_TRY(const guest::Tree tree, guest::look_at_tree(o.tree));
  E4R_TRY(const std::vector<Wanted> kernels, wanted_kernels(o, tree));
  Outputs outputs;
  outputs.reads(o.tree + "/fs/ext4/mballoc.c");
  outputs.reads(o.patch);
  outputs.reads(o.mballoc);
  for (const Wanted& wanted : kernels) E4R_CHECK(outputs.writes(wanted.out, OutputKind::file));
  E4R_CHECK(check_tools());
  E4R_TRY(const std::string directory, build_directory(o, tree));
  std::error_code ec;
  fs::create_directories(directory, ec);
  const Fd lock(::open((directory + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock.is_open()) return error("{}: {}", directory, errno_text(errno));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return error("{}: another build is using it: wait for it, or give another --build-dir",
                 directory);
  E4R_CHECK(guest::claim_directory(tree, directory));
  std::string text;
  for (const Wanted& wanted : kernels) {
    Progress progress(!o.no_progress);
    progress.show(fmt::format("building {}: Linux {} of {}", wanted.out, tree.version, tree.path));
    E4R_CHECK(build_in(directory, wanted, o.jobs));
    E4R_CHECK(write_kernel(directory, outputs.name_of(wanted.out)));
    E4R_TRY(const guest::KernelFile made, guest::read_kernel_file(wanted.out));
    const std::string commit = guest::commit_text(made.commit, made.dirty);
    text += fmt::format("{}: Linux {}{}{}; -p kernel:{}\n", wanted.out, made.release,
                        commit.empty() ? "" : ", ", commit, wanted.out);
  }
  E4R_CHECK(write_output(text, "-"));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  app.require_subcommand();
  auto options = std::make_shared<BuildOptions>();
  CommandLine sub = app.add_subcommand(
      "build", "make a policy from a kernel tree",
      "  e4replay kernel build ~/linux -o mine.uml\n"
      "  e4replay replay run.e4c -p legacy,kernel:mine.uml\n"
      "Nothing is written to the tree. Objects are kept, so that the next build of the same tree\n"
      "compiles only what has changed. $CC selects a compiler other than gcc.\n"
      "  e4replay kernel build ~/linux --patch fix.patch -o mine.uml\n"
      "  e4replay review --base kernel:mine-base.uml --with kernel:mine.uml "
      "run.e4c\n");
  sub.add_option("tree", options->tree, "the kernel's source, Linux 5.4 or later")
      .required()
      .type_name("TREE");
  sub.add_option("-o,--out", options->out, "the kernel to make").required().type_name("FILE");
  const DeclaredOption patch =
      sub.add_option("--patch", options->patch,
                     "make two kernels: of the tree as it is, and with the patch")
          .type_name("FILE");
  const DeclaredOption commits =
      sub.add_option("--commit", options->commits,
                     "make two kernels: of the tree at commit A, and at commit B")
          .type_name("A..B")
          .excludes(patch);
  sub.add_option("--mballoc", options->mballoc,
                 "compile this mballoc.c, and the mballoc.h next to it, instead of the tree's; for "
                 "example a vendor's file in a similar stable tree")
      .type_name("FILE")
      .excludes(patch)
      .excludes(commits);
  sub.add_option("--base", options->base,
                 "the kernel without the change (default: FILE with \"-base\" before its ending)")
      .type_name("FILE");
  sub.add_option("--build-dir", options->directory,
                 "where objects are kept (default: ~/.cache/e4replay/kernels)")
      .type_name("DIR");
  sub.add_option("-j,--jobs", options->jobs, "compilers at once (default: one per CPU)")
      .type_name("N");
  sub.add_flag("--no-progress", options->no_progress, "no progress line on the terminal");
  return [options] { return build(*options); };
}

}  // namespace kernel_command_parts

const Command& kernel_command() {
  static const Command kCommand = {
      "kernel", "make a policy from a kernel tree, whose own code decides",
      "  e4replay kernel build ~/linux -o mine.uml\n", kernel_command_parts::declare};
  return kCommand;
}

}  // namespace e4r::tools
