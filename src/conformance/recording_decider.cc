// SPDX-License-Identifier: GPL-2.0-or-later
#include "conformance/recording_decider.h"

#include "trace/trace.h"

namespace e4r::conformance {
namespace {

Thread thread_of(const allocator::Request& request) {
  return {request.cpu + 1, static_cast<std::uint16_t>(request.cpu)};
}

}  // namespace

RecordingDecider::RecordingDecider(allocator::Decider& decider) : decider_(decider) {
  for (std::uint32_t group = 0; group < decider.state().group_count(); ++group)
    writer_.add_load(thread_, group);
}

allocator::Decision RecordingDecider::allocate(const allocator::Request& request,
                                               allocator::Guide* guide) {
  thread_ = thread_of(request);
  auto open = writer_.open(thread_, request, request.len);
  const allocator::Decision decision = decider_.allocate(request, guide);
  writer_.mark_decision(open, decision);
  writer_.finish(open, decision);
  return decision;
}

void RecordingDecider::refuse(const allocator::Request& request) {
  thread_ = thread_of(request);
  writer_.refuse(writer_.open(thread_, request, request.len));
}

bool RecordingDecider::free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                            bool file_data) {
  writer_.add_free(thread_, ino_, group, start, clusters);
  return decider_.free(group, start, clusters, file_data);
}

void RecordingDecider::begin_commit() {
  writer_.add_commit(trace::EventKind::commit_flushing, transaction_);
  decider_.begin_commit();
}

void RecordingDecider::end_commit() {
  writer_.add_commit(trace::EventKind::end_commit, transaction_++);
  decider_.end_commit();
}

void RecordingDecider::discard_inode(std::uint64_t ino, std::uint32_t needed) {
  ino_ = ino;  // the driver calls this before it frees the file's blocks
  writer_.add_discard(thread_, ino);
  decider_.discard_inode(ino, needed);
}

std::string release_of(const allocator::Policy& policy) {
  if (policy.releases.empty()) return {};
  const allocator::Release& first = policy.releases.front().first;
  return fmt::format("{}.{}.{}", first.major, first.minor, first.patch);
}

trace::Generation generation_of(const allocator::Policy& policy) {
  const auto parsed = trace::parse_generation(policy.traces);
  return parsed.ok() ? *parsed : trace::Generation::v6_5;
}

}  // namespace e4r::conformance
