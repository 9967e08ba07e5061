// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/random/contest.h"

#include <algorithm>
#include <deque>

#include "allocator/model.h"
#include "guest/random/account.h"
#include "replay/agreement.h"
#include "stats/mb_files.h"

namespace e4r::test::random {
namespace {

using allocator::Decider;
using allocator::Decision;
using allocator::Request;
using Kind = Step::Kind;

std::string text(const Request& r) {
  return fmt::format(
      "ino {} logical {} len {} goal {} left {}@{} right {}@{} flags {:#x} cpu {} i_size {} {}",
      r.ino, r.logical, r.len, r.goal, r.left_block, r.left_logical, r.right_block, r.right_logical,
      r.flags, r.cpu, r.size_hint, r.open_for_write ? "open" : "closed");
}

std::string text(const Decision& d, std::optional<std::uint64_t> considered) {
  return fmt::format("{} -> block {} len {}, {} groups considered so far", replay::describe(d),
                     d.block, d.len, considered ? std::to_string(*considered) : "unknown");
}

// Lists the facts that differ between two decisions. The list is empty if they agree.
std::string differing(const Decision& a, const Decision& b) {
  std::string out;
  const auto add = [&](bool differs, const char* name) {
    if (differs) out += (out.empty() ? "" : ", ") + std::string(name);
  };
  const auto recorded = [](std::uint32_t x) { return x & mb::recorded_bits; };
  add(a.success != b.success, "success");
  add(a.prealloc != b.prealloc, "kind");
  add(a.block != b.block, "block");
  add(a.len != b.len, "length");
  add(a.orig != b.orig, "request");
  add(a.result != b.result, "result");
  if (a.prealloc && b.prealloc) return out;
  add(a.goal != b.goal, "goal");
  add(a.goal_len != b.goal_len, "untrimmed goal");
  add(recorded(a.found) != recorded(b.found), "extents found");
  add(recorded(a.groups_scanned) != recorded(b.groups_scanned), "groups scanned");
  add(a.criterion != b.criterion, "criterion");
  add(a.flags != b.flags, "flags");
  add(a.tail != b.tail || a.broken != b.broken, "chunk broken");
  return out;
}

// Runs one life on the model and on the other side, until they differ.
class Contest {
 public:
  Contest(const StartImage& image, const Sides& sides, const Shape& shape, Other other)
      : model_(image.source(), *sides.policy, image.tunables()),
        other_(std::move(other.decider)),
        ahead_(other.run_ahead != nullptr),
        account_(image.source()) {
    if (ahead_)
      other.run_ahead([this](const Decision& theirs, std::optional<std::uint64_t> looks) {
        judge(theirs, looks);
      });
    if (!shape.loaded) return;
    for (std::uint32_t group = 0; group < model_.state().group_count(); ++group)
      model_.load_group(group);
  }

  Verdict run(const std::vector<Step>& steps) {
    for (step_ = 0; step_ < steps.size() && !verdict_.parted; ++step_) {
      apply(steps[step_]);
      if (const Status status = other_->status(); !status.ok())
        part(step_, "the other cannot go on", to_text(steps[step_]), "", status.error().message);
    }
    if (!verdict_.parted) compare_ends();
    return std::move(verdict_);
  }

 private:
  template <class Call>
  void both(Call call) {
    call(static_cast<Decider&>(model_));
    call(*other_);
  }

  void apply(const Step& step) {
    switch (step.kind) {
      case Kind::write:
        return write(step);
      case Kind::metadata:
        return metadata(step);
      case Kind::free:
        // ext4 discards a file's preallocations before it frees the file's blocks.
        both([&](Decider& side) { side.discard_inode(step.ino, 0); });
        return free(account_.take(step.ino, step.at, step.len), true);
      case Kind::free_metadata:
        return free(account_.take_metadata(step.ino), false);
      case Kind::discard:
        return both([&](Decider& side) { side.discard_inode(step.ino, 0); });
      case Kind::evict:
        return evict(step.ino);
      case Kind::make:
        if (step.ino > 0) both([&](Decider& side) { side.make_inode(step.ino); });
        return;
      case Kind::begin_commit:
        return both([](Decider& side) { side.begin_commit(); });
      case Kind::end_commit:
        return both([](Decider& side) { side.end_commit(); });
      case Kind::set:
        return set(step.text);
      case Kind::load:
        return load(static_cast<std::uint32_t>(step.goal));
    }
  }

  void write(const Step& step) {
    std::uint32_t from = 0;
    while (!verdict_.parted) {
      const auto request = account_.next_request(step, from);
      if (!request) return;
      const Decision decision = decide(*request);
      if (!decision.success || decision.len == 0) return;
      account_.put(step.ino, request->logical, decision);
      from = (request->logical >> model_.state().geometry().cluster_bits) + decision.len;
    }
  }

  void metadata(const Step& step) {
    const Request request = account_.metadata_request(step);
    const Decision decision = decide(request);
    if (!verdict_.parted) account_.put(step.ino, std::nullopt, decision);
  }

  // Makes the request on both sides. Returns the model's decision; the other side may answer later.
  Decision decide(const Request& request) {
    ++verdict_.decisions;
    Request claimed = request;
    claimed.len = account_.claimed(request);
    Asked asked = {step_, verdict_.decisions, claimed.len == 0, request, {}, 0};
    if (!asked.turned_away) asked.ours = model_.allocate(claimed, nullptr);
    asked.considered = model_.counters().considered();
    verdict_.failed += asked.ours.success ? 0 : 1;
    verdict_.preallocs += asked.ours.prealloc ? 1 : 0;
    if (asked.ours.success && asked.ours.criterion != mb::Criterion::unknown)
      ++verdict_.found_by[static_cast<std::size_t>(asked.ours.criterion)];
    asked_.push_back(asked);
    const Decision theirs = other_->allocate(request, nullptr);
    if (!ahead_) judge(theirs, other_->counters().considered());
    return asked.ours;
  }

  // Compares the other side's next answer with the model's answer to the oldest unanswered request.
  void judge(const Decision& theirs, std::optional<std::uint64_t> looks) {
    const Asked asked = asked_.front();
    asked_.pop_front();
    Decision ours = asked.ours;
    // If a request is refused before it reaches the allocator, its normalised goal is not compared.
    if (asked.turned_away) ours.orig = theirs.orig;
    std::string what = differing(ours, theirs);
    if (looks && asked.considered != looks)
      what += (what.empty() ? "" : ", ") + std::string("groups considered");
    if (what.empty() || verdict_.parted) return;
    part(asked.step, what, text(asked.request), text(ours, asked.considered), text(theirs, looks));
    verdict_.parted->decision = asked.number;
  }

  void free(const std::vector<FreedRun>& runs, bool file_data) {
    for (const FreedRun& run : runs) {
      both([&](Decider& side) { side.load_group(run.group); });
      const bool ours = model_.free(run.group, run.start, run.len, file_data);
      const bool theirs = other_->free(run.group, run.start, run.len, file_data);
      if (ours && theirs) continue;
      return part(step_, "a free",
                  fmt::format("free {} clusters at {}/{}", run.len, run.group, run.start),
                  ours ? "freed" : "refused", theirs ? "freed" : "refused");
    }
  }

  void evict(std::uint64_t ino) {
    both([&](Decider& side) { side.discard_inode(ino, 0); });
    free(account_.take(ino, 0, UINT32_MAX), true);
    free(account_.take_metadata(ino), false);
    both([&](Decider& side) { side.drop_inode(ino); });
  }

  void set(const std::string& assignment) {
    allocator::Tunables tunables = model_.tunables();
    if (!allocator::set_tunable(tunables, assignment).ok()) return;
    both([&](Decider& side) { side.retune(tunables); });
  }

  // Reads a batch of bitmaps, like a thread that needs a missing buddy but does not allocate.
  void load(std::uint32_t group) {
    const state::FsState& state = model_.state();
    if (group >= state.group_count() || !state.group(group).need_init) return;
    both([&](Decider& side) { side.load_by_others(group); });
  }

  void compare_ends() {
    if (const Status status = other_->finish(); !status.ok())
      return part(step_, "the other cannot end", "", "", status.error().message);
    if (verdict_.parted) return;
    for (std::uint32_t group = 0; group < model_.state().group_count() && !ahead_; ++group) {
      std::vector<std::uint64_t> ours, theirs;
      model_.state().settled_words(group, ours);
      other_->state().settled_words(group, theirs);
      if (ours != theirs)
        return part(step_, fmt::format("what is free of group {}", group), "", "", "");
    }
    const allocator::KernelAccount* account = other_->account();
    if (account == nullptr) return;
    compare_stats(account->mb_stats);
    for (std::uint32_t group = 0; group < model_.state().group_count(); ++group)
      model_.load_group(group);  // as a read of mb_groups does
    const auto groups = stats::parse_mb_groups(account->mb_groups);
    if (!groups.ok()) return part(step_, "mb_groups", "", "", groups.error().message);
    const auto compared = stats::compare_mb_groups(*groups, model_.state());
    if (!compared.equal()) part(step_, "mb_groups", "", "", compared.first);
  }

  void compare_stats(const std::string& mb_stats) {
    // Kernels up to 5.10.180 have no mb_stats.
    if (mb_stats.empty() && model_.policy().kernel.stats == allocator::StatNames::none) return;
    const auto parsed = stats::parse_mb_stats(mb_stats);
    if (!parsed.ok()) return part(step_, "mb_stats", "", "", parsed.error().message);
    const auto compared =
        stats::compare_mb_stats(*parsed, stats::mb_stats(model_.policy(), model_.counters()));
    std::string all;
    for (const std::string& line : compared.differing) all += (all.empty() ? "" : "; ") + line;
    for (const std::string& name : compared.missing) all += "; no " + name;
    if (!compared.equal()) part(step_, "mb_stats", "", "", all);
  }

  void part(std::size_t step, std::string what, std::string request, std::string ours,
            std::string theirs) {
    if (verdict_.parted) return;
    verdict_.parted = Parting{step,
                              verdict_.decisions,
                              std::move(what),
                              std::move(request),
                              std::move(ours),
                              std::move(theirs)};
  }

  // A request that the other side has not answered yet, with the model's answer.
  struct Asked {
    std::size_t step;
    std::uint64_t number;
    bool turned_away;  // no clusters could be claimed
    Request request;
    Decision ours;
    std::optional<std::uint64_t> considered;
  };

  allocator::Model model_;
  std::unique_ptr<Decider> other_;
  bool ahead_;
  std::deque<Asked> asked_;
  Account account_;
  Verdict verdict_;
  std::size_t step_ = 0;
};

}  // namespace

Result<Verdict> hold(const Life& life, const StartImage& image, const Sides& sides) {
  E4R_TRY(Other other, sides.other(image, life.shape.loaded));
  return Contest(image, sides, life.shape, std::move(other)).run(life.steps);
}

}  // namespace e4r::test::random
