// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <span>

#include "json/text.h"
#include "report/json_parts.h"
#include "trace/writer.h"
#include "util/bytes.h"
#include "util/file.h"
#include "util/text.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;

// Follows the opening brace. Early versions did not write it.
constexpr std::string_view kName = "\"schema\":\"e4replay-sweep-point/1\",";
constexpr std::string_view kPoint = "\"point\":";
constexpr std::string_view kSum = ",\"crc\":\"";
constexpr std::size_t kTail = kSum.size() + 8 + 2;  // eight digits, a quote and a brace

std::string tail_of(std::string_view body) {
  return fmt::format("{}{:08x}\"}}", kSum, checksum(body));
}

json::object head_of(const Plan& plan, std::size_t index) {
  const Point& point = plan.points[index];
  json::object tunables;
  for (std::size_t i = 0; i < plan.spec.axes.size(); ++i)
    if (point.values[i]) tunables[plan.spec.axes[i].tunable->name] = *point.values[i];
  return {{"point", index + 1},
          {"capture", plan.spec.captures[point.capture]},
          {"policy", point.policy->name},
          {"tunables", std::move(tunables)}};
}

// The object's members, without its braces.
std::string members_of(const json::object& object) {
  const std::string out = json_line(object);
  return out.substr(1, out.size() - 2);
}

// Makes a line from these members, with the schema and the checksum.
std::string line_of(std::string_view members) {
  std::string line = fmt::format("{{{}{}", kName, members);
  return line + tail_of(line);
}

// The members of a line, without the schema. Empty if the checksum is wrong.
std::optional<std::string_view> members_in(std::string_view line) {
  if (line.size() < kTail || !line.starts_with('{')) return std::nullopt;
  std::string_view body = line.substr(0, line.size() - kTail);
  if (line.substr(body.size()) != tail_of(body)) return std::nullopt;
  body.remove_prefix(1);
  if (body.starts_with(kName)) body.remove_prefix(kName.size());
  return body;
}

results::Value value_of(const json::value* value) {
  if (value == nullptr) return {};
  if (value->is_int64()) return static_cast<std::uint64_t>(value->get_int64());
  if (value->is_uint64()) return value->get_uint64();
  if (value->is_double()) return value->get_double();
  return {};
}

}  // namespace

std::string point_line(const Plan& plan, std::size_t index, const results::Outcome& run,
                       const std::string& doubt) {
  json::object object = head_of(plan, index);
  if (!doubt.empty()) object["doubt"] = doubt;
  report::put_rows(object, run);
  return line_of(members_of(object));
}

std::string with_schema(std::string_view line) {
  const auto members = members_in(line);
  return members ? line_of(*members) : std::string(line);
}

std::optional<std::size_t> point_of(const Plan& plan, std::string_view line) {
  const auto members = members_in(line);
  if (!members || !members->starts_with(kPoint)) return std::nullopt;
  std::size_t number = 0;
  const char* const digits = members->data() + kPoint.size();
  const auto [end, ec] = std::from_chars(digits, members->data() + members->size(), number);
  if (ec != std::errc() || number == 0 || number > plan.points.size()) return std::nullopt;
  // The line's description of the point must match the plan.
  if (!members->starts_with(members_of(head_of(plan, number - 1)) + ",")) return std::nullopt;
  return number - 1;
}

std::vector<std::string> doubts_of(const Plan& plan, const Lines& lines) {
  std::vector<std::string> out(plan.spec.captures.size());
  std::vector<bool> known(out.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t capture = plan.points[i].capture;
    if (known[capture] || lines[i].empty()) continue;
    known[capture] = true;
    boost::system::error_code failed;
    const json::value line = json::parse(lines[i], failed);
    const json::value* doubt =
        failed || !line.is_object() ? nullptr : line.get_object().if_contains("doubt");
    if (doubt != nullptr && doubt->is_string()) out[capture] = doubt->get_string().c_str();
  }
  return out;
}

std::vector<results::Value> figures_of(std::string_view line) {
  boost::system::error_code failed;
  const json::value document = json::parse(line, failed);
  std::vector<results::Value> out;
  for (const results::Row& row : results::rows())
    out.push_back(failed || !document.is_object()
                      ? results::Value()
                      : value_of(report::find_at(document.get_object(), row.key)));
  return out;
}

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
        "{}: is not empty: continue the sweep in it with --resume, or give another directory with "
        "-o",
        directory);
  if (has(names, kManifest)) return true;
  if (!std::ranges::all_of(names, is_leftover))
    return error("{}: is not empty and holds no sweep: give another directory with -o", directory);
  return false;
}

// Makes sure that the directory can be created, before hours of work and not after them.
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
    return error("{}: is in use by another sweep", directory);
  return fd;
}

}  // namespace

void take_lines(std::string_view text, const Plan& plan, const PointRange& range, Finished& into) {
  into.lines.resize(plan.points.size());
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto index = end == std::string_view::npos ? std::nullopt : point_of(plan, line);
    if (!index || !range.holds(*index)) {
      ++into.damaged;
    } else if (into.lines[*index].empty()) {
      into.lines[*index] = with_schema(line);
      ++into.count;
    }
  }
}

Status take_files(const std::string& directory, const Plan& plan, const PointRange& range,
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
                             const Plan& plan, const PointRange& range, bool resume) {
  Finished out;
  out.lines.resize(plan.points.size());
  E4R_TRY(const bool there, holds_sweep(directory, resume));
  if (!there) return out;
  const std::string path = fmt::format("{}/{}", directory, kManifest);
  E4R_TRY(const std::string found, read_file(path));
  if (const Status same = same_sweep(found, manifest); !same.ok())
    return error("{}: belongs to another sweep: {}; give another directory with -o", path,
                 same.error().message);
  E4R_CHECK(take_files(directory, plan, range, out));
  return out;
}

Result<Store> Store::begin(const std::string& directory, const std::string& manifest,
                           const Plan& plan, const PointRange& range, bool resume) {
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

namespace {

Status take_part(const std::string& directory, const std::string& manifest, const Plan& plan,
                 Finished& into) {
  E4R_TRY(const PointRange range, range_of(manifest, plan));
  Finished part;
  part.lines.resize(plan.points.size());
  E4R_CHECK(take_files(directory, plan, range, part));
  into.damaged += part.damaged;
  for (std::size_t i = 0; i < part.lines.size(); ++i) {
    if (part.lines[i].empty()) continue;
    if (into.lines[i].empty())
      ++into.count;
    else if (into.lines[i] != part.lines[i])
      return error("{}: its point {} differs from the same point of an earlier part", directory,
                   i + 1);
    into.lines[i] = std::move(part.lines[i]);
  }
  return {};
}

}  // namespace

Result<Joined> join(const std::vector<std::string>& directories, std::string_view program) {
  Joined out;
  for (const std::string& directory : directories) {
    const std::string path = directory + "/sweep.json";
    if (::access(path.c_str(), F_OK) != 0)
      return error("{}: holds no sweep: run its job again, or leave it out", directory);
    E4R_TRY(const std::string manifest, read_file(path));
    const auto whole = whole_manifest(manifest, program);
    if (!whole.ok()) return error("{}: {}", path, whole.error().message);
    if (out.manifest.empty()) {
      out.manifest = whole->text;
      out.plan = whole->plan;
      out.finished.lines.resize(out.plan.points.size());
    } else if (const Status same = same_sweep(whole->text, out.manifest); !same.ok()) {
      return error("{}: belongs to another sweep than {}: {}", path, directories.front(),
                   same.error().message);
    }
    if (const Status taken = take_part(directory, manifest, out.plan, out.finished); !taken.ok())
      return taken.error();
  }
  if (out.manifest.empty()) return error("no part is given: give the directories of parts");
  out.plan.doubts = doubts_of(out.plan, out.finished.lines);
  return out;
}

std::string missing_points(const Lines& lines) {
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].empty()) continue;
    const std::size_t first = i + 1;
    while (i + 1 < lines.size() && lines[i + 1].empty()) ++i;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", first);
    if (i + 1 != first) out += fmt::format("-{}", i + 1);
  }
  return out;
}

namespace {

// Assigns the points $first to $last to job `$job`. The sizes of two jobs differ by at most one
// point.
std::string arithmetic(const Jobs& jobs) {
  return fmt::format("first=$(((job - 1) * {0} / {1} + 1))\nlast=$((job * {0} / {1}))\n",
                     jobs.points, jobs.jobs);
}

std::string heading(const Jobs& jobs, std::string_view how) {
  return fmt::format("# {} points of a sweep in {} jobs: {}\n", jobs.points, jobs.jobs, how);
}

std::string merge_command(const Jobs& jobs) {
  return fmt::format("\"${{E4REPLAY:-e4replay}}\" sweep --merge {}/part-* --best {} -o {} --resume",
                     shell_quote(jobs.directory), shell_quote(jobs.best),
                     shell_quote(jobs.directory + "/all"));
}

std::string run_part(const Jobs& jobs, std::string_view threads) {
  return fmt::format(
      "\"${{E4REPLAY:-e4replay}}\" {} --threads {} \\\n    --points \"$first-$last\" -o {}/part-"
      "\"$job\" --resume\n",
      jobs.command, threads, shell_quote(jobs.directory));
}

}  // namespace

// After a node failure, Slurm requeues a job only if the cluster's JobRequeue or the job itself
// says so. Slurm opens --output before the job runs, and fails the job if the directory is missing,
// so the job opens its own log.
std::string slurm_script(const Jobs& jobs) {
  return "#!/bin/sh\n#SBATCH --job-name=e4replay-sweep\n" +
         fmt::format("#SBATCH --array=1-{}\n", jobs.jobs) +
         "#SBATCH --requeue\n#SBATCH --output=/dev/null\n" +
         heading(jobs, "give this to sbatch; a job that is run again continues.") +
         "# The output of a job is in log-N next to its part-N. When all jobs have ended,\n"
         "# running this file with sh joins the parts, or says what is missing.\n"
         "set -eu\n" +
         fmt::format("if [ -z \"${{SLURM_ARRAY_TASK_ID:-}}\" ]; then\n    exec {}\nfi\n",
                     merge_command(jobs)) +
         "job=$SLURM_ARRAY_TASK_ID\n" + arithmetic(jobs) +
         fmt::format("mkdir -p {0}\nexec >>{0}/log-\"$job\" 2>&1\nexec ",
                     shell_quote(jobs.directory)) +
         run_part(jobs, "\"${SLURM_CPUS_PER_TASK:-1}\"");
}

// -q makes parallel quote the words that it passes to a shell, since the script's name may contain
// blanks.
std::string parallel_script(const Jobs& jobs) {
  return "#!/bin/sh\n" +
         heading(jobs,
                 "runs them with GNU parallel and joins the parts; if run again, it continues.") +
         "set -eu\n" +
         fmt::format(
             "if [ $# -eq 0 ]; then\n    mkdir -p {0}\n    seq {1} | parallel -q sh \"$0\"\n",
             shell_quote(jobs.directory), jobs.jobs) +
         "    exec " + merge_command(jobs) + "\nfi\njob=$1\n" + arithmetic(jobs) + "exec " +
         run_part(jobs, "1");
}

}  // namespace e4r::sweep
