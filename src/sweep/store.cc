// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "sweep/line.h"
#include "trace/output.h"
#include "util/file.h"

namespace e4r::sweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "sweep.json";
constexpr const char* kJournal = "points.journal";
constexpr const char* kPoints = "points.jsonl";
constexpr std::array<std::string_view, 6> kFiles = {kManifest,    kJournal,       kPoints,
                                                    "points.csv", "sweep.sqlite", "summary.json"};

// Whether this is a temporary file for one of the results, such as "points.csv.Xy12Ab".
bool is_leftover(const std::string& name) {
  return std::ranges::any_of(kFiles, [&name](std::string_view of) {
    return name.size() > of.size() + 1 && name.starts_with(of) && name[of.size()] == '.';
  });
}

// The names in a directory; empty if it does not exist.
Result<std::vector<std::string>> names_in(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code failed;
  const fs::file_status status = fs::status(directory, failed);
  if (status.type() == fs::file_type::not_found) return out;
  if (failed) return error("{}: {}", directory, failed.message());
  if (!fs::is_directory(status)) return error("{}: is not a directory", directory);
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
       it.increment(failed))
    out.push_back(it->path().filename().string());
  if (failed) return error("{}: {}", directory, failed.message());
  return out;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether the directory holds a sweep.
Result<bool> holds_sweep(const std::string& directory, bool resume) {
  E4R_TRY(const std::vector<std::string> names, names_in(directory));
  if (!resume && !names.empty())
    return error(
        "{}: is not empty: --resume goes on with the sweep in it, or give another "
        "directory with -o",
        directory);
  if (has(names, kManifest)) return true;
  if (!std::ranges::all_of(names, is_leftover))
    return error("{}: is not empty and holds no sweep: give another directory with -o", directory);
  return false;
}

// Fails before hours of work rather than after them.
Status check_parent(const std::string& directory) {
  std::error_code failed;
  const fs::path parent = fs::path(directory + "/.").parent_path().parent_path();
  if (parent.empty() || fs::exists(directory, failed) || fs::is_directory(parent, failed))
    return {};
  return error("{}: cannot make the directory: there is no directory {}", directory,
               parent.string());
}

Result<std::string> read_if_there(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return std::string();
  return read_file(path);
}

Result<Fd> lock_directory(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    return error("{}: cannot make the directory: {}", directory, errno_text(errno));
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return error("{}: {}", directory, errno_text(errno));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return error("{}: another sweep is at work in it", directory);
  return fd;
}

}  // namespace

void take_lines(std::string_view text, const Plan& plan, const Range& range, Finished& into) {
  into.lines.resize(plan.points.size());
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto index = end == std::string_view::npos ? std::nullopt : point_of(plan, line);
    if (!index || !range.holds(*index)) {
      ++into.damaged;
    } else if (into.lines[*index].empty()) {
      into.lines[*index] = named_line(line);
      ++into.count;
    }
  }
}

Status take_files(const std::string& directory, const Plan& plan, const Range& range,
                  Finished& into) {
  for (const char* name : {kPoints, kJournal}) {
    E4R_TRY(const std::string text, read_if_there(fmt::format("{}/{}", directory, name)));
    take_lines(text, plan, range, into);
  }
  return {};
}

std::vector<std::string> Store::files(const std::string& directory) {
  std::vector<std::string> out;
  out.reserve(std::size(kFiles));
  for (const std::string_view name : kFiles) out.push_back(fmt::format("{}/{}", directory, name));
  return out;
}

Status Store::check(const std::string& directory, bool resume) {
  E4R_CHECK(check_parent(directory));
  const auto found = holds_sweep(directory, resume);
  return found.ok() ? Status() : Status(found.error());
}

Result<Finished> Store::look(const std::string& directory, const std::string& manifest,
                             const Plan& plan, const Range& range, bool resume) {
  Finished out;
  out.lines.resize(plan.points.size());
  E4R_TRY(const bool there, holds_sweep(directory, resume));
  if (!there) return out;
  const std::string path = fmt::format("{}/{}", directory, kManifest);
  E4R_TRY(const std::string found, read_file(path));
  if (const Status same = same_sweep(found, manifest); !same.ok())
    return error("{}: is of another sweep: {}; give another directory with -o", path,
                 same.error().message);
  E4R_CHECK(take_files(directory, plan, range, out));
  return out;
}

Result<Store> Store::begin(const std::string& directory, const std::string& manifest,
                           const Plan& plan, const Range& range, bool resume) {
  E4R_TRY(Fd lock, lock_directory(directory));
  E4R_TRY(Finished finished, look(directory, manifest, plan, range, resume));
  E4R_TRY(const std::vector<std::string> names, names_in(directory));
  for (const std::string& name : names)
    if (is_leftover(name)) ::unlink(fmt::format("{}/{}", directory, name).c_str());
  Store out(directory, std::move(lock), std::move(finished));
  if (!has(names, kManifest)) E4R_CHECK(out.write(kManifest, manifest));
  std::string journal;
  for (const std::string& line : out.finished_.lines)
    if (!line.empty()) journal.append(line).append("\n");
  const std::string path = out.file(kJournal);
  E4R_CHECK(out.write(kJournal, journal));
  out.journal_ = Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!out.journal_.is_open()) return error("{}: {}", path, errno_text(errno));
  return out;
}

std::string Store::file(std::string_view name) const {
  return fmt::format("{}/{}", directory_, name);
}

Status Store::write(std::string_view name, std::string_view text) const {
  E4R_TRY(const auto out, trace::OutputFile::create(file(name)));
  E4R_CHECK(out->write(text));
  return out->commit();
}

Status Store::add(std::size_t index, std::string line) {
  const std::lock_guard lock(*mutex_);
  line += '\n';
  if (const int failed = write_all(journal_.get(), line); failed != 0)
    return error("cannot write {}: {}", file(kJournal), errno_text(failed));
  line.pop_back();
  if (finished_.lines[index].empty()) ++finished_.count;
  finished_.lines[index] = std::move(line);
  return {};
}

Status Store::suspend() {
  if (::fsync(journal_.get()) != 0)
    return error("cannot write {}: {}", file(kJournal), errno_text(errno));
  return {};
}

Status Store::end() {
  if (::unlink(file(kJournal).c_str()) != 0 && errno != ENOENT)
    return error("cannot remove {}: {}", file(kJournal), errno_text(errno));
  return {};
}

}  // namespace e4r::sweep
