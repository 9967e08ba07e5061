// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/kernel_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "util/file.h"

namespace e4r::record {
namespace {

namespace fs = std::filesystem;

// The content of a file that the file system has in procfs. Empty if there is no such file.
std::string read_proc(const std::string& device_name, std::string_view name) {
  auto text = read_file(fmt::format("/proc/fs/ext4/{}/{}", device_name, name));
  return text.ok() ? *std::move(text) : std::string();
}

}  // namespace

std::string sysfs_directory(const std::string& device_name) {
  return "/sys/fs/ext4/" + device_name;
}

std::string read_options(const std::string& device_name) {
  return read_proc(device_name, "options");
}

std::map<std::string, std::string> read_kernel_files(const std::string& device_name) {
  std::map<std::string, std::string> out;
  for (const char* name : {"mb_groups", "mb_structs_summary", "mb_stats", "options"}) {
    std::string text = read_proc(device_name, name);
    if (!text.empty()) out.emplace(name, std::move(text));
  }
  const auto stats = out.find("mb_stats");
  if (stats != out.end() && stats->second.find("reqs:") == std::string::npos) out.erase(stats);
  return out;
}

std::string read_tunables(const std::string& device_name) {
  std::vector<std::string> lines;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(sysfs_directory(device_name), ec)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("mb_"))
      lines.push_back(fmt::format("{}:{}\n", name, read_attribute(entry.path())));
  }
  // The mount option mb_optimize_scan is not among the sysfs files, and /proc/mounts may lack it.
  // The summary shows it from 5.13 on (ext4_mb_seq_structs_summary_show).
  constexpr std::string_view kScan = "optimize_scan: ";
  std::istringstream summary(read_proc(device_name, "mb_structs_summary"));
  for (std::string line; std::getline(summary, line);)
    if (line.starts_with(kScan))
      lines.push_back(fmt::format("mb_optimize_scan:{}\n", line.substr(kScan.size())));
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  if (const std::uint32_t cpus = possible_cpus().count; cpus != 0)
    out += fmt::format("possible_cpus:{}\n", cpus);
  return out;
}

CpuList parse_cpu_list(const std::string& text) {
  CpuList out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    std::uint32_t first = 0;
    const char* end = part.data() + part.size();
    const auto [at, ec] = std::from_chars(part.data(), end, first);
    std::uint32_t last = first;
    if (ec != std::errc() ||
        (at != end && *at == '-' && std::from_chars(at + 1, end, last).ec != std::errc()))
      continue;
    if (last < first) continue;
    out.count += last - first + 1;
    out.last = std::max(out.last, last);
  }
  return out;
}

CpuList possible_cpus() {
  return parse_cpu_list(read_attribute("/sys/devices/system/cpu/possible"));
}

bool is_rotational(const std::string& device_name) {
  const std::string base = fmt::format("/sys/class/block/{}", device_name);
  // A partition uses its disk's queue.
  return read_attribute(base + "/queue/rotational") == "1" ||
         read_attribute(base + "/../queue/rotational") == "1";
}

bool is_stats_off(const std::string& device_name) {
  return read_attribute(sysfs_directory(device_name) + "/mb_stats") == "0";
}

void switch_stats(const std::string& device_name, bool on) {
  std::ofstream file(sysfs_directory(device_name) + "/mb_stats");
  file << (on ? '1' : '0') << std::flush;
}

}  // namespace e4r::record
