// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/deciders.h"

#include <sstream>

#include "allocator/model.h"
#include "guest/kernel.h"
#include "guest/kernel_file.h"
#include "plugin/load.h"
#include "util/crc32c.h"
#include "util/file.h"

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
  options.loaded = loaded;
  E4R_TRY(std::unique_ptr<allocator::Decider> kernel, guest::Kernel::start(start.source, options));
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
  return error("unknown policy '{}': known are {}, kernel:FILE, and FILE.so", name, known);
}

Result<std::vector<const allocator::Policy*>> parse_policies(const std::string& text) {
  std::vector<const allocator::Policy*> out;
  std::istringstream names(text);
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

}  // namespace e4r::app
