// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/observer.h"
#include "replay/accounts.h"
#include "replay/agreement.h"

namespace e4r::replay {

// Explains one decision as readable text: request, goal, each rung, each group considered and why
// it was taken or refused, extents examined, result. Consecutive groups that were refused for the
// same reason share a line.
class Explanation : public allocator::SearchObserver {
 public:
  // Begins an explanation. Call this before the decision.
  void begin(const Asked& one);
  // Ends the explanation. Call this after the decision.
  void end(const Decided& one);

  [[nodiscard]] const std::string& text() const { return text_; }

  void on_goal(const allocator::Search& search, const Extent& found, bool taken) override;
  void on_rung(const allocator::Search& search, const allocator::Rung& rung,
               std::uint32_t group) override;
  void on_group(const allocator::Search& search, const allocator::Rung& rung,
                const state::Group& group) override;
  void on_pass(std::uint32_t group, std::uint32_t count, std::uint32_t least) override;
  void on_index(mb::Criterion criterion, std::uint32_t len,
                std::optional<std::uint32_t> group) override;
  void on_extent(const Extent& extent, bool best) override;
  void on_scan(const state::Group& group, std::uint32_t found) override;
  void on_retry(bool discarded) override;

 private:
  void line(const std::string& text);
  void flush_refused();

  std::string text_;
  // The number of consecutive groups that were refused, and the reason that they share.
  allocator::Refusal reason_ = allocator::Refusal::none;
  std::uint32_t refused_ = 0;
  std::uint32_t first_refused_ = 0, last_refused_ = 0;
  std::string detail_;
  // The number of extents examined in the group being scanned, and their lengths.
  std::uint32_t measured_ = 0;
  std::uint32_t shortest_ = 0, longest_ = 0;
  std::string best_;
};

// Explains selected decisions of a run.
class Explanations final : public Account {
 public:
  // `decisions` are the numbers of the decisions, from 1.
  explicit Explanations(const std::vector<std::uint64_t>& decisions)
      : wanted_(decisions.begin(), decisions.end()) {}

  void asked(const Asked& one) override;
  bool decided(const Decided& one) override;
  // The explanation of a decision; empty if the run made no such decision.
  [[nodiscard]] std::string text(std::uint64_t decision) const;

 private:
  std::set<std::uint64_t> wanted_;                // without those already explained
  std::map<std::uint64_t, Explanation> written_;  // by decision
  Explanation* writing_ = nullptr;                // explanation of the current request
};

}  // namespace e4r::replay
