// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/anonymize.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

namespace e4r::capture {
namespace {

constexpr std::uint32_t kDevice = trace::make_dev(8, 0);
constexpr std::uint64_t kEventNs = 1000;

// Returns "6.18.44" for "6.18.44-example-build", since the suffix may reveal who built the kernel.
std::string plain_release(std::string_view release) {
  const auto end =
      std::ranges::find_if(release, [](char c) { return c != '.' && (c < '0' || c > '9'); });
  std::string out(release.begin(), end);
  std::size_t dots = 0;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (out[i] == '.' && ++dots == 3) out.resize(i);
  while (out.ends_with('.')) out.pop_back();
  return out;
}

}  // namespace

Anonymizer::Pool& Anonymizer::pool(std::uint64_t group, std::uint64_t residue) {
  Pool& out = pools_[group * goals() + residue];
  if (!out.numbers.empty()) return out;
  const std::uint64_t first = group * options_.inodes_per_group + 1;
  for (std::uint64_t i = 0; i < options_.inodes_per_group; ++i) {
    const std::uint64_t ino = first + i;
    if (ino >= options_.first_inode && ino % goals() == residue) out.numbers.push_back(ino);
  }
  for (std::size_t i = out.numbers.size(); i > 1; --i)
    std::swap(out.numbers[i - 1], out.numbers[rng_.below(i)]);
  return out;
}

std::uint64_t Anonymizer::inode(std::uint64_t ino) {
  if (ino < options_.first_inode || ino > options_.inodes_count || options_.inodes_per_group == 0)
    return ino;
  const auto known = inodes_.find(ino);
  if (known != inodes_.end()) return known->second;
  Pool& from = pool((ino - 1) / options_.inodes_per_group, ino % goals());
  // The pool has a number for each inode of its kind. Only a contradictory trace can exhaust it,
  // and an inode then keeps its number.
  const std::uint64_t other = from.used < from.numbers.size() ? from.numbers[from.used++] : ino;
  inodes_.emplace(ino, other);
  return other;
}

std::string Anonymizer::start_memory(std::string_view text) {
  constexpr std::string_view kOfInode = "of-inode ";
  std::istringstream lines{std::string(text)};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kOfInode)) {
      std::istringstream words(line.substr(kOfInode.size()));
      std::uint64_t ino = 0;
      std::string rest;
      words >> ino;
      std::getline(words, rest);
      line = fmt::format("{}{}{}", kOfInode, inode(ino), rest);
    }
    out += line + '\n';
  }
  return out;
}

void Anonymizer::apply(trace::Event& event) {
  event.time_ns = ++events_ * kEventNs;
  event.dev = kDevice;
  event.mode &= S_IFMT;
  event.ino = inode(event.ino);
  event.parent = inode(event.parent);
  const auto next = static_cast<std::uint32_t>(pids_.size() + 1);
  if (event.pid != 0) event.pid = pids_.emplace(event.pid, next).first->second;
}

bool is_anonymous(const StartFacts& facts) {
  return facts.recorder.ends_with(kAnonymous);
}

StartFacts anonymous(const StartFacts& facts) {
  StartFacts out = facts;
  out.kernel = plain_release(facts.kernel);
  out.time.clear();
  out.kernel_version.clear();
  out.device = "8:0";
  out.device_name = facts.device_name.empty() ? "" : "disk";
  out.mount_point = facts.mount_point.empty() ? "" : "/mnt";
  out.mount_options.clear();
  out.command.clear();
  return out;
}

EndFacts anonymous(const EndFacts& facts) {
  EndFacts out = facts;
  out.time.clear();
  // Keeps "was remounted" but drops the options.
  for (std::string& change : out.changes) change.resize(std::min(change.find(':'), change.size()));
  return out;
}

std::string anonymous_tunables(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("mb_") || line.starts_with("possible_cpus:")) {
      out += line + "\n";
      continue;
    }
    if (line.find(" ext4 ") == std::string::npos) continue;
    std::string options;
    std::istringstream words(line.substr(line.find(" ext4 ") + 6));
    for (std::string word; std::getline(words, word, ',');)
      for (const std::string_view kept :
           {"mb_optimize_scan=", "stripe=", "data=", "discard", "nodiscard"})
        if (word.starts_with(kept)) options += "," + word.substr(0, word.find(' '));
    out += "/dev/disk /mnt ext4 rw" + options + " 0 0\n";
  }
  return out;
}

bool is_anonymous_text(std::string_view name) {
  for (const std::string_view kept : {"/mb_groups", "/mb_stats", "/mb_structs_summary"})
    if (name.ends_with(kept)) return true;
  return false;
}

}  // namespace e4r::capture
