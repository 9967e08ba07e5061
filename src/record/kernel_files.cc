// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/kernel_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace e4r::record {
namespace {

namespace fs = std::filesystem;

// Empty when it cannot be read. Files of procfs and sysfs do not say how long they are.
std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return file.bad() ? std::string() : out.str();
}

std::string first_line(const std::string& path) {
  const std::string text = slurp(path);
  return text.substr(0, text.find('\n'));
}

std::string sysfs(const std::string& device_name) {
  return "/sys/fs/ext4/" + device_name;
}

}  // namespace

std::map<std::string, std::string> read_kernel_files(const std::string& device_name) {
  std::map<std::string, std::string> out;
  for (const char* name : {"mb_groups", "mb_structs_summary", "mb_stats", "options"}) {
    std::string text = slurp(fmt::format("/proc/fs/ext4/{}/{}", device_name, name));
    if (!text.empty()) out.emplace(name, std::move(text));
  }
  const auto stats = out.find("mb_stats");
  if (stats != out.end() && stats->second.find("reqs:") == std::string::npos) out.erase(stats);
  return out;
}

std::string read_tunables(const std::string& device_name) {
  std::vector<std::string> lines;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(sysfs(device_name), ec)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("mb_"))
      lines.push_back(fmt::format("{}:{}\n", name, first_line(entry.path())));
  }
  // Not among those files, but a mount option that the kernel chooses itself.
  constexpr std::string_view kScan = "mb_optimize_scan=";
  std::istringstream options(slurp(fmt::format("/proc/fs/ext4/{}/options", device_name)));
  for (std::string option; std::getline(options, option);)
    if (option.starts_with(kScan))
      lines.push_back(fmt::format("mb_optimize_scan:{}\n", option.substr(kScan.size())));
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line;
  if (const std::uint32_t cpus = possible_cpus(); cpus != 0)
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

std::uint32_t possible_cpus() {
  return parse_cpu_list(first_line("/sys/devices/system/cpu/possible")).count;
}

bool is_rotational(const std::string& device_name) {
  const std::string base = fmt::format("/sys/class/block/{}", device_name);
  // A partition has its disk's queue.
  return first_line(base + "/queue/rotational") == "1" ||
         first_line(base + "/../queue/rotational") == "1";
}

bool StatsSwitch::is_off(const std::string& device_name) {
  return first_line(sysfs(device_name) + "/mb_stats") == "0";
}

StatsSwitch::StatsSwitch(const std::string& device_name) {
  if (!is_off(device_name)) return;
  const std::string path = sysfs(device_name) + "/mb_stats";
  std::ofstream file(path);
  file << "1" << std::flush;
  if (file) path_ = path;
}

StatsSwitch::~StatsSwitch() {
  if (path_.empty()) return;
  std::ofstream file(path_);
  file << "0" << std::flush;
}

void switch_stats_off(const std::string& device_name) {
  std::ofstream file(sysfs(device_name) + "/mb_stats");
  file << "0" << std::flush;
}

}  // namespace e4r::record
