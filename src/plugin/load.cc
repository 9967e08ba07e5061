// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/load.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>
#include <sstream>

#include "plugin/host.h"
#include "util/elf.h"
#include "util/file.h"

namespace e4r::plugin {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".so";

// A policy and the path of its file.
struct Loaded : KeptPolicy {
  template <class... Parts>
  explicit Loaded(std::string file, Parts&&... parts)
      : KeptPolicy(std::forward<Parts>(parts)...), path(std::move(file)) {}

  std::string path;  // canonical
};

std::mutex mutex;
std::deque<Loaded>& opened() {
  static std::deque<Loaded> files;
  return files;
}

// A file open in the dynamic linker. Closed by the destructor unless kept.
class Library {
 public:
  explicit Library(const std::string& path)
      : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  [[nodiscard]] bool opened() const { return handle_ != nullptr; }
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

bool is_line(const char* text) {
  const std::string_view line = text == nullptr ? "" : text;
  return !line.empty() && line.find('\n') == std::string_view::npos;
}

// The tunables that the file adds. They come before the rungs, which may name them.
Result<KeptPolicy::Members> tunables_of(const e4replay::plugin::Policy& policy) {
  KeptPolicy::Members out;
  for (std::size_t i = 0; policy.tunables != nullptr && i < policy.tunable_count; ++i) {
    const e4replay::plugin::Tunable& of = policy.tunables[i];
    E4R_TRY(
        const allocator::TunableInfo* info,
        allocator::add_own_tunable(of.name == nullptr ? "" : of.name,
                                   of.meaning == nullptr ? "" : of.meaning, of.fallback, of.max));
    out.push_back(info->member);
  }
  return out;
}

Result<std::vector<allocator::Rung>> ladder_of(const e4replay::plugin::Policy& policy) {
  if (policy.ladder == nullptr || policy.rungs == 0 || policy.rungs > mb::kCriteria)
    return error("has a ladder of {} rungs", policy.rungs);
  std::vector<allocator::Rung> out;
  std::set<mb::Criterion> seen;
  for (std::size_t i = 0; i < policy.rungs; ++i) {
    E4R_TRY(allocator::Rung rung, own_rung(policy.ladder[i]));
    if (!seen.insert(rung.criterion).second)
      return error("two rungs count for {}", mb::criterion_name(rung.criterion));
    out.push_back(rung);
  }
  const allocator::Rung& last = out.back();
  if (last.choose != nullptr || last.classes != nullptr || last.fast ||
      last.lengths != allocator::Lengths::all)
    return error("the last rung must walk through all groups, as cr3() does");
  return out;
}

// The policies that the program has added, numbered from 1. A removed one has no path, and stays
// for the reports that use it.
std::deque<Loaded>& added() {
  static std::deque<Loaded> policies;
  return policies;
}
constexpr std::string_view kAddedPrefix = "program:";
constexpr const char* kProgram = "the program";

// Finds a policy by a name that add() has returned; null if the name is unknown. The caller holds
// the lock.
Loaded* find_added(std::string_view name) {
  std::size_t number = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with(kAddedPrefix)) return nullptr;
  const auto [stop, failed] = std::from_chars(name.data() + kAddedPrefix.size(), end, number);
  if (failed != std::errc() || stop != end || number == 0 || number > added().size())
    return nullptr;
  Loaded& found = added()[number - 1];
  return found.path.empty() ? nullptr : &found;
}

// Registers the policy that a file or the program describes. The caller holds the lock.
Result<const allocator::Policy*> take(std::deque<Loaded>& among, const std::string& path,
                                      const e4replay::plugin::Policy& described) {
  if (described.name == nullptr || !is_name(described.name))
    return error("{}: its policy has no name of letters, digits, '.', '_' and '-'", path);
  const std::string name = described.name;
  if (allocator::find_policy(name) != nullptr)
    return error("{}: there is a policy {} already: give this one another name", path, name);
  // Policies of the program may share a name.
  if (&among == &opened())
    for (const Loaded& other : opened())
      if (other.name == name)
        return error("{}: {} has a policy {} already", path, other.path, name);
  if (!is_line(described.summary) || !is_line(described.source))
    return error("{}: policy {} has no summary and source of one line", path, name);
  const allocator::Policy* of =
      allocator::find_policy(described.kernel == nullptr ? "" : described.kernel);
  if (of == nullptr)
    return error("{}: policy {} does not name the policy whose kernel it uses", path, name);
  auto tunables = tunables_of(described);
  if (!tunables.ok()) return error("{}: policy {}: {}", path, name, tunables.error().message);
  auto ladder = ladder_of(described);
  if (!ladder.ok()) return error("{}: policy {}: {}", path, name, ladder.error().message);
  return &among
              .emplace_back(path, name, described.summary, described.source, *std::move(ladder),
                            *std::move(tunables), of->kernel)
              .policy;
}

std::vector<fs::path> directories() {
  std::vector<fs::path> out;
  const char* const path = std::getenv("E4REPLAY_POLICY_PATH");
  std::istringstream names(path == nullptr ? "" : path);
  for (std::string name; std::getline(names, name, ':');)
    if (!name.empty()) out.emplace_back(name);
  return out;
}

}  // namespace

bool is_file_name(std::string_view policy) {
  return policy.find('/') != std::string_view::npos || policy.ends_with(kEnding);
}

Result<const allocator::Policy*> load(const std::string& path) {
  std::error_code failed;
  const std::string file = fs::canonical(path, failed).string();
  if (failed) return error("{}: {}", path, failed.message());
  const std::lock_guard lock(mutex);
  for (const Loaded& known : opened())
    if (known.path == file) return &known.policy;
  // The dynamic linker maps as much as the file claims to have, and reading beyond the end crashes.
  const Result<std::string> bytes = read_file(file);
  if (!bytes.ok()) return bytes.error();
  if (is_cut_elf(*bytes))
    return error("{}: is a library that has been cut short: copy or compile it again", path);
  Library library(file);
  if (!library.opened())
    return error("{}: is not a policy that can be loaded: {}", path, ::dlerror());
  const auto interface = library.find<std::uint32_t()>("e4replay_plugin_interface");
  const auto describe =
      library.find<void(const e4replay::plugin::Host*, e4replay::plugin::Policy*)>(
          "e4replay_plugin_policy");
  if (interface == nullptr || describe == nullptr)
    return error("{}: is a library, but no policy: it has no E4REPLAY_POLICY", path);
  if (interface() != e4replay::plugin::kInterface)
    return error("{}: was made for plug-in interface {}, and this is {}: compile it again", path,
                 interface(), e4replay::plugin::kInterface);
  e4replay::plugin::Policy described;
  describe(&host(), &described);
  E4R_TRY(const allocator::Policy* policy, take(opened(), file, described));
  library.keep();
  return policy;
}

Result<std::string> add(const e4replay::plugin::Policy& policy) {
  const std::lock_guard lock(mutex);
  E4R_CHECK(take(added(), kProgram, policy));
  return fmt::format("{}{}", kAddedPrefix, added().size());
}

void remove(std::string_view name) {
  const std::lock_guard lock(mutex);
  if (Loaded* found = find_added(name)) found->path.clear();
}

std::string file_of(const allocator::Policy& policy) {
  const std::lock_guard lock(mutex);
  for (const Loaded& known : opened())
    if (&known.policy == &policy) return known.path;
  return {};
}

std::string find_file(std::string_view name) {
  if (!is_name(name)) return {};
  for (const fs::path& directory : directories()) {
    std::error_code failed;
    const fs::path file = directory / (std::string(name) + std::string(kEnding));
    if (fs::is_regular_file(file, failed)) return file.string();
  }
  return {};
}

Result<const allocator::Policy*> find_policy(const std::string& name) {
  if (const allocator::Policy* policy = allocator::find_policy(name)) return policy;
  if (name.starts_with(kAddedPrefix)) {
    const std::lock_guard lock(mutex);
    const Loaded* added = find_added(name);
    return added == nullptr ? nullptr : &added->policy;
  }
  const std::string file = is_file_name(name) ? name : find_file(name);
  if (file.empty()) return nullptr;
  return load(file);
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const fs::path& directory : directories()) {
    std::vector<std::string> here;
    std::error_code failed;
    for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
         at.increment(failed))
      if (at->path().extension() == kEnding) here.push_back(at->path().string());
    std::sort(here.begin(), here.end());
    out.insert(out.end(), here.begin(), here.end());
  }
  return out;
}

}  // namespace e4r::plugin
