// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/recorded_policy.h"

#include <algorithm>

#include "allocator/policy.h"
#include "trace/packed.h"

namespace e4r::replay {

using allocator::Policy;

namespace {

bool prints_as(const Policy& policy, trace::Generation generation) {
  const auto printed = trace::parse_generation(policy.traces);
  return printed.ok() && *printed == generation;
}

}  // namespace

std::vector<const Policy*> candidate_policies(const trace::TraceSummary& trace,
                                              std::string_view release) {
  std::vector<const Policy*> out;
  for (const Policy* policy : allocator::policies())
    if (prints_as(*policy, trace.generation)) out.insert(out.begin(), policy);
  const auto by_inode = [](const Policy* policy) { return policy->kernel.stream.by_inode; };
  const auto stands = [release](const Policy* policy) {
    return allocator::stands_for(*policy, release);
  };
  if (trace.streams_without_start > 0 && std::any_of(out.begin(), out.end(), by_inode))
    std::erase_if(out, [&](const Policy* policy) { return !by_inode(policy); });
  else  // stream goals by inode and a single stream goal lead to different decisions only if some
        // search is for a stream
    std::erase_if(out, [&](const Policy* policy) { return by_inode(policy) && !stands(policy); });
  std::stable_partition(out.begin(), out.end(), [](const Policy* p) { return p->long_term; });
  std::stable_partition(out.begin(), out.end(), stands);
  return out;
}

const Policy* default_policy() {
  const auto all = allocator::policies();
  return *std::find_if(all.begin(), all.end(), [](const Policy* p) { return p->long_term; });
}

}  // namespace e4r::replay
