// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/host.h"

#include <algorithm>
#include <cctype>

namespace e4r::plugin {
namespace {

using allocator::Search;
using e4replay::Criterion;
using e4replay::plugin::Host;
using state::Group;

static_assert(std::is_same_v<Search, e4replay::plugin::Search>);
static_assert(std::is_same_v<Group, e4replay::plugin::Group>);

// Files cannot name the type of these function pointers, so they handle them as Opaque.
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
  out->meaning = found->meaning.data();  // of a literal, so it ends with a zero byte
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
  out->tunable = tunable == nullptr ? nullptr : tunable->name.data();  // likewise
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

// Counts for the rung that is running.
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
  if (!is_name(rung.name)) return error("a rung has no name of letters, digits, '.', '_' and '-'");
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
  if (rung.meaning == nullptr || *rung.meaning == '\0') return error("a rung has no meaning");
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

}  // namespace e4r::plugin
