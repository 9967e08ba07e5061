// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/setups.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "allocator/model.h"
#include "guest/kernel.h"
#include "guest/kernel_file.h"
#include "plugin/load.h"
#include "replay/checkpoint.h"
#include "replay/engine.h"
#include "replay/explain.h"
#include "stats/layout.h"
#include "util/bytes.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::app {
namespace {

Result<std::unique_ptr<allocator::Decider>> start_kernel(const allocator::Policy& policy,
                                                         const allocator::Tunables& tunables,
                                                         const StartPoint& start, bool loaded) {
  guest::KernelOptions options;
  options.policy = &policy;
  guest::KernelChoice choice = guest::parse_kernel(std::string(policy.source));
  options.kernel = std::move(choice.path);
  options.mount_options = std::move(choice.mount_options);
  options.own_tunables = std::move(choice.tunables);
  options.image = start.image_path;
  options.named = start.image_name;
  options.tunables = tunables;
  options.planted = start.planted;
  options.loaded = loaded;
  E4R_TRY(std::unique_ptr<allocator::Decider> kernel,
          guest::KernelDecider::start(start.source, options));
  return kernel;
}

}  // namespace

Result<const allocator::Policy*> parse_policy(const std::string& name) {
  if (guest::is_kernel_name(name))
    return guest::kernel_policy(name.substr(guest::kKernelPrefix.size()));
  E4R_TRY(const allocator::Policy* policy, plugin::find_policy(name));
  if (policy != nullptr) return policy;
  std::string known;
  for (const allocator::Policy* p : allocator::policies())
    known += fmt::format("{}{}", known.empty() ? "" : ", ", p->name);
  return error("unknown policy '{}': choose from {}, kernel:FILE, and FILE.so", name, known);
}

Result<std::vector<const allocator::Policy*>> parse_policies(std::string_view text) {
  std::vector<const allocator::Policy*> out;
  std::istringstream names{std::string(text)};
  for (std::string name; std::getline(names, name, ',');) {
    E4R_TRY(const allocator::Policy* policy, parse_policy(name));
    out.push_back(policy);
  }
  if (out.empty()) return error("-p needs a policy, such as legacy or cr1.5");
  return out;
}

Result<std::optional<PolicyFile>> policy_file(const allocator::Policy& policy) {
  PolicyFile out = {&policy, plugin::file_of(policy), {}, 0, 0};
  std::string path = out.file;
  if (guest::is_kernel(policy)) {
    out.file = policy.source;
    path = guest::parse_kernel(out.file).path;
    E4R_TRY(guest::KernelFile file, guest::read_kernel_file(path));
    out.release = std::move(file.release);
    out.criteria = file.criteria;
    out.commit = std::move(file.commit);
    out.dirty = file.dirty;
  }
  if (path.empty()) return std::optional<PolicyFile>();
  E4R_TRY(const std::string bytes, read_file(path));
  out.sum = checksum(bytes);
  return std::optional(std::move(out));
}

void declare_reads(std::span<const allocator::Policy* const> policies, Outputs& outputs) {
  for (const allocator::Policy* policy : policies) {
    outputs.reads(plugin::file_of(*policy));
    if (guest::is_kernel(*policy))
      outputs.reads(guest::parse_kernel(std::string(policy->source)).path);
  }
}

Result<std::unique_ptr<allocator::Decider>> make_decider(const allocator::Policy& policy,
                                                         const allocator::Tunables& tunables,
                                                         const StartPoint& start, bool loaded) {
  if (guest::is_kernel(policy)) return start_kernel(policy, tunables, start, loaded);
  auto model = std::make_unique<allocator::Model>(start.source, policy, tunables);
  state::FsState& state = model->own_state();
  for (std::uint32_t group = 0; loaded && group < state.group_count(); ++group) {
    state.load(group);
    state.mark_read(state.group(group));
  }
  return std::unique_ptr<allocator::Decider>(std::move(model));
}

void warn_of_cold_kernel(const allocator::Policy& policy, const Inputs& inputs,
                         const Listener& listener) {
  if (!guest::is_kernel(policy) || !inputs.warm || inputs.warm->checkpoint == nullptr) return;
  const replay::Checkpoint& checkpoint = *inputs.warm->checkpoint;
  if (!state::has_tree(checkpoint.index) || checkpoint.index != policy.kernel.groups.index) return;
  listener.warn(
      fmt::format("{} begins without the order of the groups in the recorded kernel's tree "
                  "(bb_avg_fragment_size_rb)",
                  policy.name));
}

replay::Setup make_setup(const allocator::Policy& policy, const allocator::Tunables& tunables,
                         const Inputs& inputs) {
  replay::Setup out = {&policy, tunables};
  out.keep = [](replay::Accounts& accounts) { accounts.add<replay::WriteOrder>(); };
  if (!guest::is_kernel(policy)) return out;
  out.keep = [](replay::Accounts& accounts) {
    accounts.add<replay::WriteOrder>();
    accounts.add<replay::CodeTimes>();
  };
  out.make = [&inputs](const replay::Setup& setup, const replay::WarmStart* warm) {
    StartPoint start = {inputs.source, inputs.image_path, inputs.options.image};
    if (warm != nullptr) start.planted = warm->planted();
    return make_decider(*setup.policy, setup.tunables, start, warm != nullptr);
  };
  return out;
}

void keep_also(replay::Setup& setup, replay::AddAccounts more) {
  setup.keep = [first = std::move(setup.keep), more = std::move(more)](replay::Accounts& accounts) {
    if (first) first(accounts);
    more(accounts);
  };
}

std::vector<const allocator::Policy*> with_neighbours(std::string_view recorded) {
  const auto all = allocator::policies();
  const auto at = std::find(all.begin(), all.end(), allocator::find_policy(recorded));
  const auto long_term = [](const allocator::Policy* policy) { return policy->long_term; };
  std::vector<const allocator::Policy*> out = {*at};
  const auto before = std::find_if(std::make_reverse_iterator(at), all.rend(), long_term);
  if (before != all.rend()) out.push_back(*before);
  // A patched kernel is compared only with the kernel on which it is based.
  if ((*at)->releases.empty()) return out;
  const auto after = std::find_if(at + 1, all.end(), long_term);
  if (after != all.end()) out.push_back(*after);
  return out;
}

Status apply_settings(allocator::Tunables& tunables, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) E4R_CHECK(allocator::set_tunable(tunables, setting));
  return {};
}

Status check_settings(const std::vector<std::string>& settings) {
  allocator::Tunables scratch;
  return apply_settings(scratch, settings);
}

replay::SessionOptions session_options(const Inputs& inputs, Progress& progress) {
  replay::SessionOptions out;
  if (inputs.warm) out.warm = std::make_shared<replay::WarmStart>(*inputs.warm);
  out.release = inputs.release;
  out.threads = inputs.options.threads;
  if (progress.active())
    out.progress = [&progress, total = inputs.trace.events()](std::string_view what,
                                                              std::uint64_t events) {
      return progress.count(what, events, total);
    };
  return out;
}

report::ReplayReport start_report(const Inputs& inputs) {
  report::ReplayReport out;
  out.image_path = inputs.options.image;
  out.superblock = inputs.image.superblock();
  out.bad_groups = inputs.image.bad_groups().size();
  out.trace_path = inputs.trace.name();
  out.device = trace::device_name(inputs.trace.device());
  out.trace = inputs.trace.summary();
  out.release = inputs.release;
  out.workload = inputs.workload;
  out.start = results::outcome_of(inputs.source);
  return out;
}

replay::AddAccounts explanations_of(std::vector<std::uint64_t> decisions) {
  return [decisions = std::move(decisions)](replay::Accounts& accounts) {
    accounts.add<replay::Explanations>(decisions);
  };
}

std::string explanation(const replay::Run& run, std::uint64_t decision) {
  const auto* explanations = run.engine->find<replay::Explanations>();
  return explanations == nullptr ? std::string() : explanations->text(decision);
}

Result<std::string> explained(std::uint64_t decision, const replay::Run& run) {
  if (decision == 0) return std::string();
  std::string text = explanation(run, decision);
  if (!text.empty()) return text;
  return error(
      "--explain {}: the trace has {} decisions, or an earlier request had served this range",
      decision, run.engine->decisions());
}

}  // namespace e4r::app
