// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/side_by_side.h"

#include <algorithm>
#include <utility>

#include "util/parallel.h"
#include "util/progress.h"

namespace e4r::replay {
namespace {

// Small enough that the operations stay in the cache together with an engine's state. Large enough
// that an engine runs for a while before the next engine's state replaces its own state in the
// cache.
constexpr std::size_t kOpsInLockstep = 512;
// Large enough that starting a thread for each batch takes little of the time.
constexpr std::size_t kOpsBeside = 4096;

// Reads up to `most` operations into `out`. At the end of the trace, `out` is empty.
Status read_some(OpReader& ops, std::size_t most, std::vector<Op>& out) {
  out.clear();
  while (out.size() < most) {
    E4R_TRY(const Op* op, ops.next());
    if (op == nullptr) break;
    out.push_back(*op);
  }
  return {};
}

// Lets the engine do the work, unless it has failed before.
template <class Work>
void let_work(LockstepEnd& end, const Work& work) {
  if (!end.status.ok()) return;
  const Stopwatch watch;
  end.status = work();
  end.seconds += watch.seconds();
}

Status do_all(Engine& engine, std::span<const Op> ops) {
  for (const Op& op : ops) E4R_CHECK(engine.advance(op));
  return {};
}

// Replaces the inputs in `out` by those that were found for the operations.
void give_inputs(std::span<const Op> ops, const InputTable& found, InputTable& out) {
  out.known.clear();
  out.forgotten = UINT64_MAX;
  for (const Op& op : ops)
    if (op.kind == Op::Kind::allocate) out.forgotten = std::min(out.forgotten, op.request - 1);
  for (const Op& op : ops) {
    if (op.kind != Op::Kind::allocate) continue;
    if (const allocator::DecisionInputs* inputs = found.find(op.request))
      out.note(op.request, *inputs);
  }
  const auto refused = static_cast<std::ptrdiff_t>(out.refused_frees.size());
  out.refused_frees.insert(out.refused_frees.end(), found.refused_frees.begin() + refused,
                           found.refused_frees.end());
}

}  // namespace

std::vector<LockstepEnd> run_in_lockstep(OpReader& ops, std::span<Engine* const> engines) {
  std::vector<LockstepEnd> ends(engines.size());
  const auto for_each_running = [&](auto&& work) {
    for (std::size_t i = 0; i < engines.size(); ++i)
      let_work(ends[i], [&] { return work(*engines[i]); });
  };
  const auto is_running = [](const LockstepEnd& end) { return end.status.ok(); };
  std::vector<Op> some;
  some.reserve(kOpsInLockstep);
  do {
    if (Status failed = read_some(ops, kOpsInLockstep, some); !failed.ok()) {
      for_each_running([&](Engine&) { return failed; });
      return ends;
    }
    for_each_running([&](Engine& engine) { return do_all(engine, some); });
  } while (!some.empty() && std::ranges::any_of(ends, is_running));
  for_each_running([&](Engine& engine) { return engine.end(ops); });
  return ends;
}

BesideEnds run_beside(OpReader& ops, Follow& follow, Engine& alone, InputTable& found,
                      unsigned threads) {
  BesideEnds ends;
  std::vector<Op> before, now, next;
  const auto check_settled = [&] {
    let_work(ends.alone, [&] { return follow.is_settled() ? Status() : error("stopped"); });
  };
  ends.follow.status = read_some(ops, kOpsBeside, now);
  while (ends.follow.status.ok() && !(now.empty() && before.empty())) {
    Status read;
    parallel_for(thread_count(threads), 2, [&](std::size_t task) {
      if (task == 0) {
        let_work(ends.follow, [&] { return do_all(follow, now); });
      } else {
        read = read_some(ops, kOpsBeside, next);
        let_work(ends.alone, [&] { return do_all(alone, before); });
      }
    });
    if (ends.follow.status.ok()) ends.follow.status = read;
    check_settled();
    give_inputs(now, follow.inputs(), found);
    before.swap(now);
    now.swap(next);
  }
  let_work(ends.follow, [&] { return follow.end(ops); });
  check_settled();
  let_work(ends.alone, [&] { return alone.end(ops); });
  return ends;
}

namespace {

bool is_of_file(const Op& op) {
  switch (op.kind) {
    case Op::Kind::allocate:
    case Op::Kind::free:
    case Op::Kind::discard_inode:
    case Op::Kind::allocate_inode:
    case Op::Kind::free_inode:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::shared_ptr<const FileWriters> assign_files(const OpList& ops, unsigned writers) {
  auto out = std::make_shared<FileWriters>(writers);
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (is_of_file(ops[i])) out->add(ops[i].ino);
  return out;
}

SideBySide::SideBySide(const OpList& ops, std::unique_ptr<Engine> engine,
                       const FileWriters& writers)
    : ops_(ops),
      engine_(std::move(engine)),
      locks_(engine_->find<LockOperations>()),
      writers_(writers.count()) {
  std::uint64_t decisions = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const bool asks = op.kind == Op::Kind::allocate && op.closing.seen;
    if (asks) ++decisions;
    if (is_of_file(op))
      writers_[writers.of(op.ino)].turns.push_back({i, asks ? decisions : 0});
    else
      shared_.push_back(i);
  }
}

Status SideBySide::do_next(Writer& writer) {
  const std::size_t op = writer.turns[writer.next++].op;
  for (; next_shared_ < shared_.size() && shared_[next_shared_] < op; ++next_shared_)
    E4R_CHECK(engine_->step(ops_[shared_[next_shared_]]));
  return engine_->step(ops_[op]);
}

Result<std::optional<std::uint64_t>> SideBySide::next(unsigned number) {
  Writer& writer = writers_[number];
  const auto from = writer.turns.begin() + static_cast<std::ptrdiff_t>(writer.next);
  const auto asks =
      std::find_if(from, writer.turns.end(), [](const Turn& turn) { return turn.decision != 0; });
  if (asks != writer.turns.end()) return std::optional(asks->decision);
  while (writer.next < writer.turns.size()) E4R_CHECK(do_next(writer));
  return std::optional<std::uint64_t>();
}

Status SideBySide::prepare(unsigned number) {
  Writer& writer = writers_[number];
  if (locks_ != nullptr) locks_->forget();
  while (writer.turns[writer.next].decision == 0) E4R_CHECK(do_next(writer));
  return {};
}

Status SideBySide::serve(unsigned number, std::optional<std::uint16_t> cpu,
                         const allocator::HeldLocks* held) {
  Writer& writer = writers_[number];
  E4R_CHECK(prepare(number));
  if (locks_ != nullptr) locks_->forget();
  engine_->serve_on(cpu, held);
  Status served = do_next(writer);
  engine_->serve_on(cpu);
  return served;
}

}  // namespace e4r::replay
