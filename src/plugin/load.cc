// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/load.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <set>
#include <sstream>

#include "util/file.h"

namespace e4r::plugin {
namespace {

// Finds a criterion by its name. The criterion may be one that a policy file defines.
Result<mb::Criterion> criterion_named(const std::string& name) {
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    if (row.name == name) return row.criterion;
  const auto own = is_name(name) ? mb::own_criterion(name) : std::nullopt;
  if (!own) return error("'{}' is not a rung", name);
  return *own;
}

}  // namespace

Description describe(const allocator::Policy& policy) {
  Description out;
  out.name = policy.name;
  for (const allocator::Policy* of : allocator::policies())
    if (out.kernel.empty() && &of->kernel == &policy.kernel) out.kernel = of->name;
  for (const allocator::Rung& rung : policy.ladder) {
    const allocator::TunableInfo* tunable = allocator::find_tunable(rung.tunable);
    out.rungs.push_back({std::string(mb::criterion_name(rung.criterion)),
                         tunable == nullptr ? std::string() : std::string(tunable->name)});
  }
  for (const auto member : policy.own_tunables)
    if (const allocator::TunableInfo* info = allocator::find_tunable(member))
      out.tunables.push_back(
          {std::string(info->name), std::string(info->meaning), info->fallback, info->max});
  return out;
}

Result<const allocator::Policy*> restore_policy(const Description& description) {
  const allocator::Policy* of = allocator::find_policy(description.kernel);
  if (of == nullptr || !is_name(description.name) || description.rungs.empty())
    return error("'{}' is not a policy from a file", description.name);
  KeptPolicy::Members tunables;
  for (const Description::Tunable& own : description.tunables) {
    E4R_TRY(const allocator::TunableInfo* info,
            allocator::add_own_tunable(own.name, own.meaning, own.fallback, own.max));
    tunables.push_back(info->member);
  }
  std::vector<allocator::Rung> ladder;
  for (const Description::Rung& rung : description.rungs) {
    allocator::Rung out = {};
    E4R_TRY(out.criterion, criterion_named(rung.name));
    if (!rung.tunable.empty()) {
      const allocator::TunableInfo* info = allocator::find_tunable(rung.tunable);
      if (info == nullptr) return error("'{}' is not a tunable", rung.tunable);
      out.tunable = info->member;
    }
    ladder.push_back(out);
  }
  static std::mutex adding;
  static std::deque<KeptPolicy> all;
  const std::lock_guard lock(adding);
  return &all.emplace_back(description.name, "a description that cannot decide", description.name,
                           std::move(ladder), std::move(tunables), of->kernel)
              .policy;
}

namespace {

using allocator::Search;
using e4replay::Criterion;
using e4replay::plugin::Host;
using state::Group;

static_assert(std::is_same_v<Search, e4replay::plugin::Search>);
static_assert(std::is_same_v<Group, e4replay::plugin::Group>);

// Policy files cannot name the type of these function pointers, so they handle them as Opaque.
using Classes = decltype(allocator::Rung::classes);
using Opaque = void (*)();
Opaque opaque(Classes classes) {
  return reinterpret_cast<Opaque>(classes);
}
Classes classes_of(Opaque classes) {
  return reinterpret_cast<Classes>(classes);
}

bool give_rung(const char* policy, Criterion criterion, e4replay::plugin::Rung* out) {
  const allocator::Policy* of = allocator::find_policy(policy);
  if (of == nullptr) return false;
  const auto found =
      std::find_if(of->ladder.begin(), of->ladder.end(),
                   [&](const allocator::Rung& rung) { return rung.criterion == criterion; });
  if (found == of->ladder.end()) return false;
  out->criterion = criterion;
  out->meaning = found->meaning.data();  // a literal, so it ends with a zero byte
  out->fast = found->fast;
  out->scan = static_cast<e4replay::plugin::Scan>(found->scan);
  out->striped = found->striped;
  out->lengths = static_cast<e4replay::plugin::Lengths>(found->lengths);
  out->applies = found->applies;
  out->least_free = found->least_free;
  out->good = found->good;
  out->choose = found->choose;
  out->leave = found->leave;
  const allocator::TunableInfo* const tunable = allocator::find_tunable(found->tunable);
  out->tunable = tunable == nullptr ? nullptr : tunable->name.data();  // also a literal
  out->classes = opaque(found->classes);
  return true;
}

std::uint64_t tunable_of(const Search& search, const char* name) {
  const allocator::TunableInfo* info = allocator::find_tunable(name);
  return info == nullptr ? 0 : value_of(search.tunables, *info);
}

void set_goal_len(Search& search, std::uint32_t len) {
  if (len > 0 && len <= search.goal_len)
    search.goal.len = len;
  else
    search.note(Search::Fault::What::bad_goal_len, len);
}

// Counts the group as considered by the rung that is running.
void count_group(Search& search) {
  ++search.counters[search.criterion].groups_considered;
}

const Group* group_of(const Search& search, std::uint32_t number) {
  return &search.state.group(number < search.state.group_count() ? number : 0);
}

// The first element of a list, and the one after `group`; null at the end.
template <class List>
const Group* first_of(const List& list) {
  return list.empty() ? nullptr : &*list.begin();
}
template <class List>
const Group* next_of(const List& list, const Group& group) {
  auto at = list.iterator_to(group);
  return ++at == list.end() ? nullptr : &*at;
}

bool has_list(const Search& search, std::uint32_t order) {
  return search.state.has_lists() && order < state::kMaxOrders;
}

constexpr Host make_host() {
  Host host = {};
  host.interface = e4replay::plugin::kInterface;
  host.rung = give_rung;
  host.asked_len = [](const Search& s) { return s.orig.len; };
  host.goal_len = [](const Search& s) { return s.goal.len; };
  host.full_goal_len = [](const Search& s) { return s.goal_len; };
  host.goal_group = [](const Search& s) { return s.goal.group; };
  host.goal_order = [](const Search& s) { return s.order2; };
  host.stripe = [](const Search& s) { return s.stripe; };
  host.flags = [](const Search& s) { return s.flags; };
  host.has_lists = [](const Search& s) { return s.state.has_lists(); };
  host.is_usable = [](const Search& s, std::uint32_t group) { return group < s.list_groups; };
  host.tunable = tunable_of;
  host.set_goal_len = set_goal_len;
  host.count_group = count_group;
  host.groups = [](const Search& s) { return s.state.group_count(); };
  host.orders = [](const Search& s) { return s.state.geometry().orders(); };
  host.clusters_per_group = [](const Search& s) { return s.state.geometry().clusters_per_group; };
  host.group = group_of;
  host.first_by_largest = [](const Search& s, std::uint32_t order) {
    return has_list(s, order) ? first_of(s.state.largest(order)) : nullptr;
  };
  host.next_by_largest = [](const Search& s, std::uint32_t order, const Group& group) {
    return next_of(s.state.largest(order), group);
  };
  host.first_by_average = [](const Search& s, std::uint32_t order) {
    return has_list(s, order) ? first_of(s.state.average(order)) : nullptr;
  };
  host.next_by_average = [](const Search& s, std::uint32_t order, const Group& group) {
    return next_of(s.state.average(order), group);
  };
  host.number = [](const Group& g) { return g.number; };
  host.free_clusters = [](const Group& g) { return g.free; };
  host.free_runs = [](const Group& g) { return g.fragments; };
  host.largest_order = [](const Group& g) -> std::int32_t { return g.largest_order; };
  host.is_loaded = [](const Group& g) { return !g.need_init; };
  host.is_damaged = [](const Group& g) { return g.corrupt; };
  return host;
}

constexpr Host kHost = make_host();

}  // namespace

const Host& host() {
  return kHost;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

namespace {

// A rung counts under a criterion of the library or under its own name.
Result<Criterion> criterion_of(const e4replay::plugin::Rung& rung) {
  if (rung.name == nullptr) {
    if (static_cast<std::size_t>(rung.criterion) >= mb::kCriteria || mb::is_own(rung.criterion) ||
        mb::row_of(rung.criterion).section.empty())
      return error("a rung has neither a name nor a criterion to count for");
    return rung.criterion;
  }
  if (!is_name(rung.name))
    return error("a rung's name must consist of letters, digits, '.', '_' and '-'");
  const std::string_view name = rung.name;
  for (const mb::CriterionRow& row : mb::ladder_criteria())
    if (!mb::is_own(row.criterion) && (row.name == name || row.key == mb::key_of(name)))
      return error("a rung has the name {}, which is a criterion's: set `criterion` instead", name);
  const std::optional<Criterion> criterion = mb::own_criterion(name);
  if (!criterion)
    return error("the rung {} is one too many: policies from files have {} names already", name,
                 mb::kOwnCriteria);
  return *criterion;
}

}  // namespace

Result<allocator::Rung> own_rung(const e4replay::plugin::Rung& rung) {
  E4R_TRY(const Criterion criterion, criterion_of(rung));
  if (rung.meaning == nullptr || *rung.meaning == '\0') return error("a rung has no description");
  if (rung.applies == nullptr || rung.least_free == nullptr || rung.good == nullptr)
    return error("a rung lacks applies, least_free or good");
  allocator::Rung out;
  out.criterion = criterion;
  out.meaning = rung.meaning;
  out.fast = rung.fast;
  out.scan = static_cast<allocator::Scan>(rung.scan);
  out.striped = rung.striped;
  out.lengths = static_cast<allocator::Lengths>(rung.lengths);
  out.applies = rung.applies;
  out.least_free = rung.least_free;
  out.good = rung.good;
  if (rung.tunable != nullptr) {
    const allocator::TunableInfo* info = allocator::find_tunable(rung.tunable);
    if (info == nullptr) return error("a rung has the unknown tunable '{}'", rung.tunable);
    out.tunable = info->member;
  }
  out.choose = rung.choose;
  out.classes = classes_of(rung.classes);
  out.leave = rung.leave;
  return out;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".so";

// A policy and the path of its file.
struct Loaded : KeptPolicy {
  template <class... Parts>
  explicit Loaded(std::string file, Parts&&... parts)
      : KeptPolicy(std::forward<Parts>(parts)...), path(std::move(file)) {}

  std::string path;  // canonical path of the file
};

std::mutex mutex;
std::deque<Loaded>& opened() {
  static std::deque<Loaded> files;
  return files;
}

bool is_line(const char* text) {
  const std::string_view line = text == nullptr ? "" : text;
  return !line.empty() && line.find('\n') == std::string_view::npos;
}

// Registers the tunables that the file adds. They come before the rungs, which may name them.
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

// The policies that the program has added, numbered from 1. A removed policy has no path, but is
// kept for the reports that use it.
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
    return error("{}: its policy's name must consist of letters, digits, '.', '_' and '-'", path);
  const std::string name = described.name;
  if (allocator::find_policy(name) != nullptr)
    return error("{}: there is a policy {} already: give this one another name", path, name);
  // Only policies from files need unique names. Policies that the program adds are distinguished by
  // their numbers.
  if (&among == &opened())
    for (const Loaded& other : opened())
      if (other.name == name)
        return error("{}: {} has a policy {} already", path, other.path, name);
  if (!is_line(described.summary) || !is_line(described.source))
    return error("{}: policy {} needs a summary and a source of one line each", path, name);
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
  // Rejects a truncated file before the dynamic linker opens it. The linker maps as much as the
  // file's headers claim, and reading beyond the end of the file would crash the program.
  const Result<std::string> bytes = read_file(file);
  if (!bytes.ok()) return bytes.error();
  if (is_cut_elf(*bytes))
    return error("{}: is a truncated library: copy or compile it again", path);
  Result<Library> library = Library::open(file);
  if (!library.ok()) return error("{}: {}", path, library.error().message);
  const auto interface = library->find<std::uint32_t()>("e4replay_plugin_interface");
  const auto describe =
      library->find<void(const e4replay::plugin::Host*, e4replay::plugin::Policy*)>(
          "e4replay_plugin_policy");
  if (interface == nullptr || describe == nullptr)
    return error("{}: is a library, but not a policy: it does not define E4REPLAY_POLICY", path);
  if (interface() != e4replay::plugin::kInterface)
    return error("{}: was made for plug-in interface {}, but this is {}: compile it again", path,
                 interface(), e4replay::plugin::kInterface);
  e4replay::plugin::Policy described;
  describe(&host(), &described);
  E4R_TRY(const allocator::Policy* policy, take(opened(), file, described));
  library->keep();
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
