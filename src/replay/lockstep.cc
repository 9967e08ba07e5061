// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/lockstep.h"

#include <algorithm>

#include "util/stopwatch.h"

namespace e4r::replay {
namespace {

// Few enough to stay in the cache beside an engine's state, and enough to keep that state there for
// a while.
constexpr std::size_t kOpsAtOnce = 512;

// Reads the next operations; empty at the end.
Status read_some(OpReader& ops, std::vector<Op>& out) {
  out.clear();
  while (out.size() < kOpsAtOnce) {
    E4R_TRY(const Op* op, ops.next());
    if (op == nullptr) break;
    out.push_back(*op);
  }
  return {};
}

Status do_all(Engine& engine, std::span<const Op> ops) {
  for (const Op& op : ops) E4R_CHECK(engine.advance(op));
  return {};
}

}  // namespace

std::vector<LockstepEnd> run_in_lockstep(OpReader& ops, std::span<Engine* const> engines,
                                         const std::function<bool(const Engine&)>& wanted) {
  std::vector<LockstepEnd> ends(engines.size());
  const auto for_those_that_go_on = [&](auto&& work) {
    for (std::size_t i = 0; i < engines.size(); ++i) {
      if (!ends[i].status.ok()) continue;
      const Stopwatch watch;
      ends[i].status = work(*engines[i]);
      ends[i].seconds += watch.seconds();
    }
  };
  const auto goes_on = [](const LockstepEnd& end) { return end.status.ok(); };
  std::vector<Op> some;
  some.reserve(kOpsAtOnce);
  do {
    if (Status failed = read_some(ops, some); !failed.ok()) {
      for_those_that_go_on([&](Engine&) { return failed; });
      return ends;
    }
    for_those_that_go_on([&](Engine& engine) -> Status {
      if (wanted && !wanted(engine)) return error("stopped");
      return do_all(engine, some);
    });
  } while (!some.empty() && std::ranges::any_of(ends, goes_on));
  for_those_that_go_on([&](Engine& engine) { return engine.end(ops); });
  return ends;
}

}  // namespace e4r::replay
