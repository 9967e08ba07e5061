// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/kernel_file.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <filesystem>
#include <mutex>
#include <sstream>

#include "allocator/kernel.h"
#include "allocator/tunables.h"
#include "guest/protocol.h"
#include "util/file.h"

namespace e4r::guest {
namespace {

constexpr std::string_view kElf = "\177ELF";
// The prefix of a tree's tunable among the options after a file name.
constexpr std::string_view kSysfs = "sysfs.";

// The value of "KEY=VALUE" in a line; `key` includes the "=".
std::string_view value_of(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return {};
  const std::size_t from = at + key.size();
  return line.substr(from, line.find_first_of(" \n", from) - from);
}

// Returns the name of the policy that models the release, or else the nearest release.
std::string_view model_of(std::string_view release) {
  const auto all = allocator::policies();
  // Find the policy with the latest rules of the release.
  const auto latest = std::find_if(all.rbegin(), all.rend(), [&](const allocator::Policy* policy) {
    return allocator::stands_for(*policy, release);
  });
  if (latest != all.rend()) return (*latest)->name;
  const auto parsed = allocator::parse_release(release);
  if (!parsed) return "linux-7.3";
  if (*parsed < allocator::Release{6, 5, 0}) return "legacy";
  if (parsed->major == 6 && parsed->minor < 12) return "linux-6.5";
  return parsed->major == 6 && parsed->minor < 17 ? "linux-6.12.77" : "linux-7.3";
}

// Returns the model that has the kernel's criteria and counters. A patch that adds criteria may
// have its own model with the same counters.
const allocator::Policy& model_of(const KernelFile& file) {
  const allocator::Policy& of_release = *allocator::find_policy(model_of(file.release));
  if (file.criteria == 0 || file.criteria == of_release.ladder.size()) return of_release;
  const allocator::Policy* found = nullptr;
  for (const allocator::Policy* policy : allocator::policies())
    if (policy->ladder.size() == file.criteria && policy->kernel.stats == of_release.kernel.stats &&
        (found == nullptr || (policy->long_term && !found->long_term)))
      found = policy;
  return found == nullptr ? of_release : *found;
}

struct KernelPolicy {
  std::string name, summary, source, release;
  std::unique_ptr<const allocator::Policy> policy;
};

// Kernel policies, which are kept until the program ends.
std::mutex made_mutex;
std::deque<KernelPolicy> made;

const allocator::Policy& make_policy(std::string name, std::string source, const KernelFile& file) {
  KernelPolicy& out = made.emplace_back();
  out.name = std::move(name);
  out.summary = "the code of Linux " + file.release;
  out.source = std::move(source);
  out.release = file.release;
  const allocator::Policy& model = model_of(file);
  out.policy.reset(new allocator::Policy{.name = out.name,
                                         .alias = {},
                                         .summary = out.summary,
                                         .source = out.source,
                                         .ladder = model.ladder,
                                         .kernel = model.kernel,
                                         .releases = {},
                                         .walk_only = model.walk_only});
  return *out.policy;
}

// Checks a tunable that only the tree has.
Status check(const TreeTunable& tunable, const std::string& text) {
  if (tunable.name.empty() || tunable.value.empty())
    return error("kernel:{}: write a tunable that only this tree has as sysfs.NAME=VALUE", text);
  if (const allocator::TunableInfo* info = allocator::find_tunable(tunable.name);
      info != nullptr && !info->own)
    return error("kernel:{}: every tree has this tunable: give --set {}={}", text, tunable.name,
                 tunable.value);
  return {};
}

}  // namespace

std::string commit_text(const std::string& commit, bool dirty) {
  if (commit.empty()) return {};
  return fmt::format("commit {}{}", commit.substr(0, 12),
                     dirty ? " with changes that are not committed" : "");
}

Result<KernelFile> read_kernel_file(const std::string& path) {
  const Result<std::string> read = read_file(path);
  if (!read.ok()) return read.error();
  const std::string_view bytes = *read;
  if (!bytes.starts_with(kElf))
    return error("{}: is not a kernel: `e4replay kernel build TREE -o FILE` makes one", path);
  if (is_cut_elf(bytes)) return error("{}: is a truncated program: copy or build it again", path);
  const std::size_t at = bytes.find(E4R_IDENTITY " protocol=");
  if (at == bytes.npos)
    return error(
        "{}: contains no e4replay driver: `e4replay kernel build` makes kernels that have one",
        path);
  const std::string_view line = bytes.substr(at, std::min(bytes.find('\n', at), at + 256) - at);
  if (value_of(line, "protocol=") != std::to_string(E4R_PROTOCOL))
    return error("{}: was made by another version of e4replay: build it again", path);
  KernelFile out = {path, std::string(value_of(line, "release=")), 0};
  const std::string_view criteria = value_of(line, "criteria=");
  std::from_chars(criteria.data(), criteria.data() + criteria.size(), out.criteria);
  out.commit = value_of(line, " commit=");
  out.dirty = value_of(line, " dirty=") == "1";
  return out;
}

KernelChoice parse_kernel(const std::string& text) {
  std::error_code ec;
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.find(':', slash == text.npos ? 0 : slash);
  if (colon == text.npos || std::filesystem::exists(text, ec)) return {text, {}, {}};
  KernelChoice out;
  out.path = text.substr(0, colon);
  std::istringstream options(text.substr(colon + 1));
  for (std::string option; std::getline(options, option, ':');) {
    if (option.starts_with(kSysfs)) {
      const std::size_t equals = std::min(option.find('='), option.size());
      out.tunables.push_back({option.substr(kSysfs.size(), equals - kSysfs.size()),
                              option.substr(std::min(equals + 1, option.size()))});
    } else {
      out.mount_options += (out.mount_options.empty() ? "" : ",") + option;
    }
  }
  return out;
}

Result<const allocator::Policy*> kernel_policy(const std::string& text) {
  const KernelChoice choice = parse_kernel(text);
  E4R_TRY(const KernelFile file, read_kernel_file(choice.path));
  for (const TreeTunable& tunable : choice.tunables) E4R_CHECK(check(tunable, text));
  const std::scoped_lock lock(made_mutex);
  // Files with the same name are distinguished by their paths.
  std::string name = std::string(kKernelPrefix) + text.substr(text.rfind('/') + 1);
  for (const KernelPolicy& old : made) {
    if (old.source == text) return old.policy.get();
    if (old.name == name) name = std::string(kKernelPrefix) + text;
  }
  return &make_policy(std::move(name), text, file);
}

const allocator::Policy& restore_kernel_policy(const std::string& name, const KernelFile& file) {
  const std::scoped_lock lock(made_mutex);
  for (const KernelPolicy& old : made)
    if (old.name == name && old.source == file.path && old.release == file.release)
      return *old.policy;
  return make_policy(name, file.path, file);
}

}  // namespace e4r::guest
