// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <span>

#include "replay/intake.h"
#include "replay/op_stream.h"

namespace e4r::replay {

// The operations of a trace that Intake admits, in the order in which they took effect.
class OpReader {
 public:
  // The arguments are the same as OpStream's.
  OpReader(trace::EventSource& events, const Geometry& geometry, bool loaded,
           std::span<const std::uint64_t> late)
      : stream_(events, geometry, loaded, late), intake_(geometry, contradictions_) {}
  OpReader(const OpReader&) = delete;
  OpReader& operator=(const OpReader&) = delete;

  // The next operation, or null at the end. Valid until the next call.
  [[nodiscard]] Result<const Op*> next();

  // What the trace says that cannot be true, and allocations without an answer in the trace.
  // Complete once next() has returned null.
  [[nodiscard]] const Contradictions& contradictions() const { return contradictions_; }
  [[nodiscard]] std::uint64_t unanswered() const { return stream_.unanswered(); }

 private:
  OpStream stream_;
  Contradictions contradictions_;
  Intake intake_;
};

}  // namespace e4r::replay
