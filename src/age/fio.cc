// SPDX-License-Identifier: GPL-2.0-or-later
// fio job files. The settings have the meaning given in the HOWTO of fio 3.33.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <sstream>

#include "age/job.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::age {
namespace {

using Settings = std::map<std::string, std::string>;

// Names of settings that change neither which blocks are requested nor their order. A star matches
// any text.
constexpr std::array kIgnored = std::to_array<std::string_view>({
    "allow_mounted_write",
    "aux-path",
    "bandwidth-log",
    "buffer_compress*",
    "buffer_pattern",
    "bwavgtime",
    "cgroup*",
    "clat_percentiles",
    "clocksource",
    "continue_on_error",
    "cpuchunks",
    "cpumask",
    "cpus_allowed*",
    "create_serialize",
    "dedupe*",
    "description",
    "directory",
    "disable_*",
    "disk_util",
    "do_verify",
    "end_syncfs_stats",
    "error_dump",
    "eta*",
    "exitall*",
    "experimental_verify",
    "fadvise_hint",
    "filename_format",
    "fixedbufs",
    "gid",
    "group_reporting",
    "gtod_*",
    "hipri*",
    "hugepage-size",
    "idletime",
    "ignore_error",
    "invalidate",
    "iodepth*",
    "ioengine",
    "iomem*",
    "iopsavgtime",
    "ioscheduler",
    "job_max_bw",
    "lat_percentiles",
    "latency_*",
    "lockmem",
    "log_*",
    "max_latency",
    "mem",
    "mem_align",
    "name",
    "new_group",
    "nice",
    "norandommap_stats",
    "numa_*",
    "nowait",
    "output*",
    "per_job_logs",
    "percentile_list",
    "pre_read",
    "prio*",
    "ramp_time",
    "random_generator",
    "rate*",
    "refill_buffers",
    "registerfiles",
    "runtime",
    "scramble_buffers",
    "significant_figures",
    "slat_percentiles",
    "sqthread_poll*",
    "ss",
    "ss_*",
    "startdelay",
    "stats",
    "status-interval",
    "steadystate*",
    "thinktime*",
    "thread",
    "timeout",
    "trigger*",
    "uid",
    "unified_rw_reporting",
    "unit_base",
    "verify*",
    "write_*_log",
    "zero_buffers",
});

// Settings that are accepted only with one value, which is fio's default.
struct Fixed {
  std::string_view key;
  std::string_view value;
  std::string_view instead;
};
constexpr std::array kFixed = std::to_array<Fixed>({
    {"create_only", "0", "remove it"},
    {"file_append", "0", "give offset= and size="},
    {"fill_device", "0", "give size="},
    {"kb_base", "1024", "give sizes with powers of 1024"},
    {"loops", "1", "the files would exist already: remove it"},
    {"norandommap", "0", "remove it: each block is written once"},
    {"offset_increment", "0", "give one job for each offset"},
    {"random_distribution", "random", "remove it: each block is written once"},
    {"sync", "0", "give fsync=1"},
    {"time_based", "0", "give io_size="},
    {"unlink", "0", "remove it"},
    {"zonemode", "none", "remove it"},
});

constexpr std::array kEngines = std::to_array<std::string_view>(
    {"sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring"});

bool matches(std::string_view pattern, std::string_view key) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == key;
  const std::string_view rest = pattern.substr(star + 1);
  return key.size() + 1 >= pattern.size() && key.starts_with(pattern.substr(0, star)) &&
         key.ends_with(rest);
}

// Converts fio's alternative names of settings.
std::string_view full_name(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames = {
      {{"readwrite", "rw"},
       {"blocksize", "bs"},
       {"wait_for_previous", "stonewall"},
       {"io_limit", "io_size"},
       {"fdatasync", "fsync"}}};
  for (const auto& [other, name] : kNames)
    if (key == other) return name;
  return key;
}

// Parses a size as fio does without kb_base: k, kb and kib mean 1024, in upper or lower case.
Result<std::uint64_t> parse_fio_size(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, ec] = std::from_chars(text.data(), end, number);
  std::string suffix(at, end);
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  static constexpr std::string_view kUnits = "bkmgtp";
  const auto unit = suffix.empty() ? 0 : kUnits.find(suffix[0]);
  const bool plain = suffix.size() < 2 || (unit > 0 && suffix.substr(1) == "b");
  if (ec != std::errc() || unit == std::string_view::npos || !plain)
    return error("'{}' is not one size, such as 4k or 1g", text);
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(number, std::uint64_t{1} << (10 * unit), &out))
    return error("'{}' is too large", text);
  return out;
}

Result<bool> parse_flag(const std::string& text) {
  if (text.empty() || text == "1") return true;  // a name without a value switches the setting on
  if (text == "0") return false;
  return error("'{}' is neither 0 nor 1", text);
}

// Reads the settings of one job.
class JobReader {
 public:
  explicit JobReader(const Settings& settings) : settings_(settings) {}
  [[nodiscard]] Result<Job> read();

 private:
  [[nodiscard]] const std::string* find(const std::string& key) const {
    const auto at = settings_.find(key);
    return at == settings_.end() ? nullptr : &at->second;
  }
  template <class T>
  Status take(const std::string& key, T& into, Result<T> (*parse)(const std::string&)) const {
    const std::string* const value = find(key);
    if (value == nullptr) return {};
    const auto parsed = parse(*value);
    if (!parsed.ok()) return error("{}: {}", key, parsed.error().message);
    into = *parsed;
    return {};
  }
  Status take_number(const std::string& key, std::uint64_t& into) const {
    const std::string* const value = find(key);
    if (value == nullptr) return {};
    const auto parsed = parse_u64(*value);
    if (!parsed.ok()) return error("{}: '{}' is not a number", key, *value);
    into = *parsed;
    return {};
  }
  Status read_direction(Job& job) const;
  Status read_block_size(Job& job) const;
  Status read_sizes(Job& job) const;
  Status read_files(Job& job) const;
  Status read_space(Job& job) const;
  Status read_syncs(Job& job) const;

  const Settings& settings_;
};

Status JobReader::read_direction(Job& job) const {
  const std::string* const value = find("rw");
  const std::string rw = value == nullptr ? "read" : *value;
  static constexpr std::array kReads = {"read", "randread"};
  static constexpr std::array kBoth = {"rw", "readwrite", "randrw"};
  const auto is_in = [&rw](const auto& list) { return std::ranges::find(list, rw) != list.end(); };
  bool overwrite = false;
  E4R_CHECK(take("overwrite", overwrite, parse_flag));
  if (rw != "write" && rw != "randwrite" && !is_in(kReads) && !is_in(kBoth))
    return error("rw: '{}': give write, randwrite, read, randread, rw or randrw", rw);
  job.random = rw.starts_with("rand");
  job.laid_out = overwrite || is_in(kReads) || is_in(kBoth);
  bool direct = false, buffered = true, created_late = false;
  E4R_CHECK(take("direct", direct, parse_flag));
  E4R_CHECK(take("buffered", buffered, parse_flag));
  E4R_CHECK(take("create_on_open", created_late, parse_flag));
  job.direct = direct || !buffered;
  job.created_first = !created_late;
  if (created_late && job.laid_out)
    return error("create_on_open: files that are read or overwritten must exist: remove it");
  return {};
}

Status JobReader::read_block_size(Job& job) const {
  job.bs = 4096;
  const std::string* const value = find("bs");
  if (value == nullptr) return {};
  // The setting may have sizes for reads, writes and trims. The second size is for writes.
  std::istringstream parts(*value);
  std::string first, second;
  std::getline(parts, first, ',');
  const bool has_second = static_cast<bool>(std::getline(parts, second, ','));
  const auto size = parse_fio_size(has_second && !second.empty() ? second : first);
  if (!size.ok()) return error("bs: {}", size.error().message);
  job.bs = *size;
  return {};
}

Status JobReader::read_sizes(Job& job) const {
  std::uint64_t all = 0, each = 0;
  E4R_CHECK(take("size", all, parse_fio_size));
  E4R_CHECK(take("filesize", each, parse_fio_size));
  E4R_CHECK(take("offset", job.offset, parse_fio_size));
  E4R_CHECK(take("io_size", job.io, parse_fio_size));
  if (all == 0 && each == 0) return error("size: is missing: give size= or filesize=");
  job.size = each != 0 ? each : all / std::max<std::uint64_t>(job.files, 1);
  // In fio, `size` is the amount that is written, and `filesize` the size of the files.
  if (each != 0 && all != 0 && job.io == 0) job.io = all;
  return {};
}

Status JobReader::read_files(Job& job) const {
  E4R_CHECK(take_number("numjobs", job.writers));
  E4R_CHECK(take_number("nrfiles", job.files));
  E4R_CHECK(take_number("randseed", job.seed));
  if (const std::string* const names = find("filename")) {
    job.files = 1 + static_cast<std::uint64_t>(std::ranges::count(*names, ':'));
    job.shared = true;
  }
  const std::string* const service = find("file_service_type");
  if (service != nullptr && *service != "roundrobin" && *service != "sequential")
    return error("file_service_type: '{}': give roundrobin or sequential", *service);
  job.in_turn = service == nullptr || *service == "roundrobin";
  std::uint64_t open = job.files;
  E4R_CHECK(take_number("openfiles", open));
  if (open < job.files && job.in_turn)
    return error("openfiles: fewer than nrfiles changes the order of writes: remove it");
  if (const std::string* const directory = find("directory"))
    if (directory->find(':') != std::string::npos)
      return error("directory: several directories: give a job for each");
  if (const std::string* const engine = find("ioengine"))
    if (std::ranges::find(kEngines, *engine) == kEngines.end())
      return error("ioengine: '{}' writes files in an unsupported way: give psync", *engine);
  return {};
}

Status JobReader::read_space(Job& job) const {
  const std::string* const value = find("fallocate");
  const std::string how = value == nullptr ? "native" : *value;
  if (how == "native" || how == "posix" || how == "1")
    job.space = Job::Space::extend;
  else if (how == "keep")
    job.space = Job::Space::reserve;
  else if (how != "none" && how != "0" && how != "truncate")
    return error("fallocate: '{}': give none, native, posix, keep or truncate", how);
  if (!job.created_first)
    job.space = Job::Space::none;  // fio allocates space only for files that it sets up
  return {};
}

Status JobReader::read_syncs(Job& job) const {
  E4R_CHECK(take_number("fsync", job.fsync));
  bool at_end = false, at_close = false;
  E4R_CHECK(take("end_fsync", at_end, parse_flag));
  E4R_CHECK(take("fsync_on_close", at_close, parse_flag));
  job.end_fsync = at_end || at_close;
  return take("stonewall", job.waits, parse_flag);
}

Result<Job> JobReader::read() {
  Job job;
  E4R_CHECK(read_files(job));
  E4R_CHECK(read_direction(job));
  E4R_CHECK(read_block_size(job));
  E4R_CHECK(read_sizes(job));
  E4R_CHECK(read_space(job));
  E4R_CHECK(read_syncs(job));
  return job;
}

constexpr std::array kUsed = std::to_array<std::string_view>({"rw",
                                                              "bs",
                                                              "size",
                                                              "filesize",
                                                              "io_size",
                                                              "offset",
                                                              "nrfiles",
                                                              "numjobs",
                                                              "fallocate",
                                                              "direct",
                                                              "buffered",
                                                              "filename",
                                                              "overwrite",
                                                              "create_on_open",
                                                              "fsync",
                                                              "end_fsync",
                                                              "fsync_on_close",
                                                              "stonewall",
                                                              "file_service_type",
                                                              "openfiles",
                                                              "randseed"});

enum class Use : std::uint8_t { used, ignored };

// Whether and how a setting is supported.
Result<Use> use_of(const std::string& key, const std::string& value) {
  if (value.find("${") != std::string::npos || value.starts_with('$'))
    return error("{}: '{}': write the value itself: variables are not supported", key, value);
  for (const Fixed& fixed : kFixed) {
    if (fixed.key != key) continue;
    if (value == fixed.value) return Use::ignored;
    return error("{}={} changes which blocks are allocated in an unsupported way: {}", key,
                 value.empty() ? "1" : value, fixed.instead);
  }
  if (std::ranges::find(kUsed, key) != kUsed.end()) return Use::used;
  const auto is_it = [&key](std::string_view pattern) { return matches(pattern, key); };
  if (std::ranges::any_of(kIgnored, is_it)) return Use::ignored;
  return error("{}: is not supported, and it may change which blocks are allocated: remove it",
               key);
}

// Reads the lines of a job file.
class FileReader {
 public:
  explicit FileReader(std::string name) : name_(std::move(name)) {}
  Status take(std::string line, std::size_t number);
  Result<Wanted> finish();

 private:
  Status end_job();

  std::string name_;
  Settings global_, own_;
  std::string section_;
  std::size_t section_line_ = 0;
  Wanted out_;
};

Status FileReader::take(std::string line, std::size_t number) {
  line = std::string(trim(line));
  if (line.empty() || line[0] == ';' || line[0] == '#') return {};
  if (line[0] == '[') {
    if (line.back() != ']' || line.size() < 3)
      return error("{}: line {}: '{}' is not the head of a job, such as [job1]", name_, number,
                   line);
    E4R_CHECK(end_job());
    section_ = line.substr(1, line.size() - 2);
    section_line_ = number;
    own_ = section_ == "global" ? Settings() : global_;
    return {};
  }
  if (section_.empty())
    return error("{}: line {}: '{}' belongs to no job: begin with [global] or [NAME]", name_,
                 number, line);
  const auto equals = line.find('=');
  const std::string given(trim(std::string_view(line).substr(0, equals)));
  const std::string value(
      equals == std::string::npos ? "" : trim(std::string_view(line).substr(equals + 1)));
  const std::string key(full_name(given));
  const auto use = use_of(key, value);
  if (!use.ok()) return error("{}: line {}: {}", name_, number, use.error().message);
  if (*use == Use::ignored) {
    const std::string text = equals == std::string::npos ? given : given + "=" + value;
    if (std::ranges::find(out_.ignored, text) == out_.ignored.end()) out_.ignored.push_back(text);
  }
  (section_ == "global" ? global_ : own_)[key] = value;
  return {};
}

Status FileReader::end_job() {
  if (section_.empty() || section_ == "global") return {};
  auto job = JobReader(own_).read();
  if (!job.ok())
    return error("{}: [{}] at line {}: {}", name_, section_, section_line_, job.error().message);
  job->name = section_;
  out_.jobs.push_back(*std::move(job));
  return {};
}

Result<Wanted> FileReader::finish() {
  E4R_CHECK(end_job());
  if (out_.jobs.empty()) return error("{}: has no job: a job begins with [NAME]", name_);
  return std::move(out_);
}

}  // namespace

Result<Wanted> parse_fio(std::string_view text, const std::string& name) {
  FileReader reader(name);
  std::istringstream lines{std::string(text)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) E4R_CHECK(reader.take(line, ++number));
  return reader.finish();
}

}  // namespace e4r::age
