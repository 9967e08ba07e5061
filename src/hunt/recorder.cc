// SPDX-License-Identifier: GPL-2.0-or-later
#include "hunt/recorder.h"

namespace e4r::hunt {
namespace {

constexpr conformance::Thread kWriter = {1, 0};

}  // namespace

Recorder::Recorder(allocator::Decider& decider) : decider_(decider) {
  for (std::uint32_t group = 0; group < decider.state().group_count(); ++group)
    writer_.loaded(kWriter, group);
}

allocator::Decision Recorder::allocate(const allocator::Request& request, allocator::Guide* guide) {
  auto open = writer_.open(kWriter, request, request.len);
  const allocator::Decision decision = decider_.allocate(request, guide);
  writer_.decided(open, decision);
  writer_.finish(open, decision);
  return decision;
}

bool Recorder::free(std::uint32_t group, std::uint32_t start, std::uint32_t clusters,
                    bool file_data) {
  writer_.freed(kWriter, ino_, group, start, clusters);
  return decider_.free(group, start, clusters, file_data);
}

void Recorder::begin_commit() {
  writer_.commit(trace::EventKind::commit_flushing, transaction_);
  decider_.begin_commit();
}

void Recorder::end_commit() {
  writer_.commit(trace::EventKind::end_commit, transaction_++);
  decider_.end_commit();
}

void Recorder::discard_inode(std::uint64_t ino, std::uint32_t needed) {
  ino_ = ino;  // the driver empties a file this way
  writer_.discarded(kWriter, ino);
  decider_.discard_inode(ino, needed);
}

}  // namespace e4r::hunt
