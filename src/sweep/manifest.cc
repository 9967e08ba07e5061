// SPDX-License-Identifier: GPL-2.0-or-later
#include "sweep/manifest.h"

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include "guest/kernel_file.h"
#include "json/text.h"
#include "plugin/load.h"
#include "util/bytes.h"
#include "util/units.h"

namespace e4r::sweep {
namespace {

namespace json = boost::json;

constexpr json::string_view kSchema = "e4replay-sweep/1";

std::string sum_text(std::uint32_t sum) {
  return fmt::format("{:08x}", sum);
}

json::object capture_json(const CaptureId& id) {
  json::object tunables;
  for (const allocator::TunableInfo& info : allocator::tunable_table())
    tunables[info.name] = value_of(id.recorded, info);
  return {{"name", id.name},
          {"trace_bytes", id.trace_bytes},
          {"trace_crc32c", sum_text(id.trace_sum)},
          {"image_crc32c", sum_text(id.image_sum)},
          {"recorded_tunables", std::move(tunables)}};
}

// Adds the facts that a plan needs about a policy from a file.
void describe(const allocator::Policy& policy, json::object& out) {
  const plugin::Description of = plugin::describe(policy);
  json::array rungs, tunables;
  for (const auto& [name, tunable] : of.rungs) {
    json::object rung = {{"name", name}};
    if (!tunable.empty()) rung["tunable"] = tunable;
    rungs.push_back(std::move(rung));
  }
  for (const auto& own : of.tunables)
    tunables.push_back({{"name", own.name},
                        {"meaning", own.meaning},
                        {"default", own.fallback},
                        {"max", own.max}});
  out["kernel"] = of.kernel;
  out["rungs"] = std::move(rungs);
  out["own_tunables"] = std::move(tunables);
}

// A policy from a file is identified by its name and a checksum of its code at that time; a
// built-in policy by its name only.
json::value policy_json(const allocator::Policy& policy,
                        const std::vector<app::PolicyFile>& files) {
  for (const app::PolicyFile& id : files) {
    if (id.policy != &policy) continue;
    json::object out = {{"name", json::string_view(policy.name)}, {"file", id.file}};
    if (id.release.empty()) {
      describe(policy, out);
    } else {
      out["release"] = id.release;
      out["criteria"] = id.criteria;
    }
    out["crc32c"] = sum_text(id.sum);
    return out;
  }
  return json::value(json::string_view(policy.name));
}

struct Member {
  std::string_view key;
  std::string_view what;  // the name in messages
};
constexpr std::array kMembers = {Member{"program", "program"},       Member{"policies", "policies"},
                                 Member{"tunables", "--set values"}, Member{"where", "--where"},
                                 Member{"captures", "captures"},     Member{"points", "points"},
                                 Member{"first", "first point"},     Member{"last", "last point"}};

json::value member(const json::object& document, std::string_view key) {
  const json::value* found = document.if_contains(key);
  return found == nullptr ? json::value() : *found;
}

json::string_view to_json(std::string_view text) {
  return {text.data(), text.size()};
}

constexpr const char* kDamaged = "it is damaged, or another tool's";

Result<json::object> document_of(std::string_view text) {
  boost::system::error_code failed;
  const json::value document = json::parse(to_json(text), failed);
  if (failed || !document.is_object() ||
      member(document.get_object(), "schema") != json::value(kSchema))
    return Error{kDamaged};
  return document.get_object();
}

// Returns the strings in a list of strings, or under `key` in a list of objects.
Result<std::vector<std::string>> texts_of(const json::value& list, std::string_view key) {
  std::vector<std::string> out;
  if (!list.is_array()) return Error{kDamaged};
  for (const json::value& element : list.get_array()) {
    const json::value text = element.is_object() ? member(element.get_object(), key) : element;
    if (!text.is_string()) return Error{kDamaged};
    out.emplace_back(text.get_string());
  }
  return out;
}

Result<std::vector<Axis>> axes_of(const json::value& tunables) {
  std::vector<Axis> out;
  if (!tunables.is_object()) return Error{kDamaged};
  for (const auto& [name, values] : tunables.get_object()) {
    std::string text = std::string(name) + "=";
    if (!values.is_array()) return Error{kDamaged};
    for (const json::value& value : values.get_array())
      text += (text.back() == '=' ? "" : ",") + json::serialize(value);
    auto axis = parse_axis(text);
    if (!axis.ok()) return Error{kDamaged};
    out.push_back(*std::move(axis));
  }
  return out;
}

// Restores a policy from its description, because merging or inspecting a sweep must not run code
// of policy files.
Result<const allocator::Policy*> read_policy(const json::object& noted) {
  plugin::Description out;
  const json::value name = member(noted, "name"), kernel = member(noted, "kernel");
  const json::value rungs = member(noted, "rungs"), tunables = member(noted, "own_tunables");
  if (!name.is_string() || !kernel.is_string() || !rungs.is_array() || !tunables.is_array())
    return Error{kDamaged};
  out.name = name.get_string();
  out.kernel = kernel.get_string();
  for (const json::value& rung : rungs.get_array()) {
    if (!rung.is_object()) return Error{kDamaged};
    const json::value of = member(rung.get_object(), "name"),
                      tunable = member(rung.get_object(), "tunable");
    if (!of.is_string()) return Error{kDamaged};
    out.rungs.push_back({std::string(of.get_string()),
                         tunable.is_string() ? std::string(tunable.get_string()) : std::string()});
  }
  for (const json::value& tunable : tunables.get_array()) {
    if (!tunable.is_object()) return Error{kDamaged};
    const json::object& of = tunable.get_object();
    const json::value own_name = member(of, "name"), meaning = member(of, "meaning");
    boost::system::error_code bad_default, bad_max;
    const auto fallback = member(of, "default").to_number<std::uint64_t>(bad_default);
    const auto max = member(of, "max").to_number<std::uint64_t>(bad_max);
    if (!own_name.is_string() || !meaning.is_string() || bad_default || bad_max)
      return Error{kDamaged};
    out.tunables.push_back(
        {std::string(own_name.get_string()), std::string(meaning.get_string()), fallback, max});
  }
  auto policy = plugin::restore_policy(out);
  if (!policy.ok()) return Error{kDamaged};
  return *policy;
}

Result<const allocator::Policy*> policy_of(const json::value& noted) {
  if (noted.is_string()) {
    const allocator::Policy* policy = allocator::find_policy(std::string_view(noted.get_string()));
    if (policy == nullptr) return Error{kDamaged};
    return policy;
  }
  if (!noted.is_object()) return Error{kDamaged};
  const json::object& kernel = noted.get_object();
  if (!kernel.contains("release")) return read_policy(kernel);
  const json::value name = member(kernel, "name"), file = member(kernel, "file"),
                    release = member(kernel, "release"), criteria = member(kernel, "criteria");
  if (!name.is_string() || !file.is_string() || !release.is_string() || !criteria.is_int64())
    return Error{kDamaged};
  return &guest::restore_kernel_policy(
      std::string(name.get_string()),
      {std::string(file.get_string()), std::string(release.get_string()),
       static_cast<std::uint32_t>(criteria.get_int64())});
}

Result<PlanSpec> spec_of(const json::object& document) {
  PlanSpec out;
  E4R_TRY(out.captures, texts_of(member(document, "captures"), "name"));
  const json::value policies = member(document, "policies");
  if (!policies.is_array()) return Error{kDamaged};
  for (const json::value& noted : policies.get_array()) {
    E4R_TRY(const allocator::Policy* policy, policy_of(noted));
    out.policies.push_back(policy);
  }
  E4R_TRY(out.axes, axes_of(member(document, "tunables")));
  const json::value where = member(document, "where");
  if (!where.is_string()) return Error{kDamaged};
  out.where = where.get_string();
  return out;
}

// Returns the recorded tunables of each capture.
Result<std::vector<allocator::Tunables>> recorded_of(const json::object& document) {
  std::vector<allocator::Tunables> out;
  const json::value captures = member(document, "captures");
  if (!captures.is_array()) return Error{kDamaged};
  for (const json::value& capture : captures.get_array()) {
    if (!capture.is_object()) return Error{kDamaged};
    const json::value tunables = member(capture.get_object(), "recorded_tunables");
    if (!tunables.is_object()) return Error{kDamaged};
    allocator::Tunables& recorded = out.emplace_back();
    for (const auto& [name, value] : tunables.get_object())
      if (!allocator::set_tunable(
               recorded, fmt::format("{}={}", std::string_view(name), json::serialize(value)))
               .ok())
        return Error{kDamaged};
  }
  return out;
}

// Describes the first element that differs between two lists.
std::string elements_differ(const json::value& found, const json::value& wanted,
                            std::string_view what, std::string_view facts) {
  const auto names = [](const json::value& list) {
    json::array out;
    if (list.is_array())
      for (const json::value& one : list.get_array())
        out.push_back(one.is_object() ? member(one.get_object(), "name") : one);
    return out;
  };
  const json::array of_found = names(found), of_wanted = names(wanted);
  if (of_found != of_wanted)
    return fmt::format("its {} are {}, not {}", what, json_line(of_found), json_line(of_wanted));
  for (std::size_t i = 0; i < of_wanted.size(); ++i)
    if (found.get_array()[i] != wanted.get_array()[i])
      return fmt::format("{} has changed ({})", json_line(of_wanted[i]), facts);
  return {};
}

}  // namespace

Status identify_trace(const std::string& path, CaptureId& id) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return error("{}: is not a regular file: a sweep notes its checksum", path);
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return error("{}: {}", path, errno_text(errno));
  std::vector<char> buffer(1 << 20);
  id.trace_bytes = 0;
  id.trace_sum = 0;
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
         file.gcount() > 0) {
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(file.gcount()));
    id.trace_sum = checksum(bytes, id.trace_sum);
    id.trace_bytes += bytes.size();
  }
  if (!file.eof()) return error("{}: cannot be read", path);
  return {};
}

Result<std::vector<app::PolicyFile>> identify_policy_files(const PlanSpec& spec) {
  std::vector<app::PolicyFile> out;
  for (const allocator::Policy* policy : spec.policies) {
    E4R_TRY(auto file, app::policy_file(*policy));
    if (file) out.push_back(*std::move(file));
  }
  return out;
}

std::uint32_t source_sum(const state::Source& source) {
  const state::MountedGeometry& g = source.geometry;
  std::string head;
  for (const std::uint64_t value : std::initializer_list<std::uint64_t>{
           g.blocks_count, g.first_data_block, g.blocks_per_group, g.clusters_per_group, g.groups,
           g.inodes_per_group, g.block_bits, g.cluster_bits, g.log_groups_per_flex, g.stripe,
           g.flex_bg, g.desc_csum, g.journal, g.extents})
    append_le(head, value);
  // Added only if set, so that checksums made before these options existed stay valid.
  if (g.data_writeback) append_le(head, std::uint64_t{1});
  if (g.discard) append_le(head, std::uint64_t{2});
  for (const BlockRange& range : source.metadata) {
    append_le(head, std::uint64_t{range.first});
    append_le(head, std::uint64_t{range.end()});
  }
  std::uint32_t sum = checksum(head);
  for (const state::GroupSource& group : source.groups) {
    std::string facts;
    for (const std::uint64_t value : std::initializer_list<std::uint64_t>{
             group.disk_free, group.init_free, group.block_uninit, group.corrupt})
      append_le(facts, value);
    for (const std::uint64_t word : group.words) append_le(facts, word);
    sum = checksum(facts, sum);
  }
  return sum;
}

PointRange all_of(const Plan& plan) {
  return {1, plan.points.size()};
}

Result<PointRange> parse_range(std::string_view text, const Plan& plan) {
  const auto dash = text.find('-');
  const auto first = parse_u64(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_u64(text.substr(dash + 1));
  if (!first.ok() || !last.ok() || *first == 0 || *first > *last)
    return error("'{}' is not a range of points: give A-B, counted from 1", text);
  if (*last > plan.points.size())
    return error("{}: there are {} points", text, format_count(plan.points.size()));
  return PointRange{*first, *last};
}

std::string manifest_text(std::string_view program, const Plan& plan,
                          const std::vector<CaptureId>& captures,
                          const std::vector<app::PolicyFile>& files, const PointRange& range) {
  json::array of_captures, policies;
  json::object tunables;
  for (const CaptureId& id : captures) of_captures.push_back(capture_json(id));
  for (const allocator::Policy* policy : plan.spec.policies)
    policies.push_back(policy_json(*policy, files));
  for (const Axis& axis : plan.spec.axes)
    tunables[axis.tunable->name] = json::array(axis.values.begin(), axis.values.end());
  return json_text(json::object{{"schema", kSchema},
                                {"program", program},
                                {"captures", std::move(of_captures)},
                                {"policies", std::move(policies)},
                                {"tunables", std::move(tunables)},
                                {"where", plan.spec.where},
                                {"combinations", plan.combinations},
                                {"rejected", plan.rejected},
                                {"merged", plan.merged},
                                {"points", plan.points.size()},
                                {"first", range.first},
                                {"last", range.last}});
}

Result<PointRange> range_of(std::string_view text, const Plan& plan) {
  E4R_TRY(const json::object document, document_of(text));
  const json::value first = member(document, "first"), last = member(document, "last");
  const auto within = [&plan](const json::value& v) {
    return v.is_int64() && v.get_int64() >= 1 &&
           static_cast<std::uint64_t>(v.get_int64()) <= plan.points.size();
  };
  if (!within(first) || !within(last)) return Error{kDamaged};
  return PointRange{static_cast<std::uint64_t>(first.get_int64()),
                    static_cast<std::uint64_t>(last.get_int64())};
}

Result<WholeManifest> whole_manifest(std::string_view text, std::string_view program) {
  E4R_TRY(json::object document, document_of(text));
  if (const json::value of = member(document, "program"); of != json::value(to_json(program)))
    return error("was made by {}, but this is {}", json_line(of), program);
  E4R_TRY(PlanSpec spec, spec_of(document));
  auto plan = make_plan(std::move(spec));
  if (!plan.ok() || member(document, "points") != json::value(plan->points.size()))
    return Error{kDamaged};
  E4R_TRY(plan->recorded_by_capture, recorded_of(document));
  document["first"] = 1;
  document["last"] = plan->points.size();
  return WholeManifest{*std::move(plan), json_text(document)};
}

Status same_sweep(std::string_view found_text, std::string_view wanted_text) {
  if (found_text == wanted_text) return {};
  E4R_TRY(const json::object found, document_of(found_text));
  const json::object wanted = json::parse(wanted_text).get_object();
  for (const auto& [key, what] : kMembers) {
    const json::value of_found = member(found, key);
    const json::value of_wanted = member(wanted, key);
    // Compares strings, because the order of an object's members matters: it is the order of the
    // axes, which determines the numbers of points.
    const std::string a = json_line(of_found), b = json_line(of_wanted);
    if (a == b) continue;
    if (key == "captures")
      return Error{
          elements_differ(of_found, of_wanted, what, "size, checksum or recorded tunables")};
    if (key == "policies")
      return Error{elements_differ(of_found, of_wanted, what, "release or checksum")};
    return error("it has {} {}, not {}", what, a, b);
  }
  return error("it is not what this program writes");
}

}  // namespace e4r::sweep
