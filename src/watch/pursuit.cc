// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch/pursuit.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace e4r::watch {

Pursuit::Pursuit(StartPoint start, std::vector<state::MbGroup> groups, PursuitOptions options)
    : start_(std::move(start)), groups_(std::move(groups)), options_(std::move(options)) {
  start_.shadows = options_.shadows;
  for (const allocator::Policy* policy : options_.kernel) tried_.push_back({policy});
  thread_ = std::thread([this] { pursue(); });
}

Pursuit::~Pursuit() {
  stopped_ = true;
  backlog_.stop();
  finish();
}

void Pursuit::finish() {
  if (thread_.joinable()) thread_.join();
}

std::string Pursuit::why() const {
  const std::lock_guard lock(mutex_);
  return why_;
}

std::shared_ptr<Follower> Pursuit::follower() const {
  const std::lock_guard lock(mutex_);
  return follower_;
}

void Pursuit::end(const std::string& why) {
  const std::lock_guard lock(mutex_);
  why_ = why;
  ended_ = true;
}

void Pursuit::pursue() {
  // The thread that reads the kernel's buffers has priority over this one.
  ::setpriority(PRIO_PROCESS, 0, 0);
  wait_for_events();
  for (bool again = true; again;) {
    again = false;
    if (const Status status = attempt(again); !status.ok()) return end(status.error().message);
  }
  end("");
}

void Pursuit::wait_for_events() const {
  constexpr std::chrono::milliseconds kPause{20};
  const auto first = std::chrono::nanoseconds(options_.first_ns);
  const auto until = std::chrono::steady_clock::now() + first;
  while (!stopped_ && !backlog_.has_ended() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(kPause, first));
}

// Returns the first policy that was not tried yet. Returns the best policy if all were tried, or if
// one has agreed in all decisions.
const allocator::Policy* Pursuit::choose_policy() const {
  const auto fresh = std::ranges::find_if(tried_, [](const Tried& t) { return t.identical < 0; });
  const auto best = std::ranges::max_element(tried_, {}, &Tried::identical);
  return fresh != tried_.end() && best->identical < 1 ? fresh->policy : best->policy;
}

// Chooses for each group the likeliest places of hidden preallocations that have not proved wrong.
void Pursuit::choose_answers() {
  for (replay::WarmStart::Hidden& hidden : start_.warm.hidden) {
    const auto wrong = wrong_answers_.find(hidden.group);
    if (wrong == wrong_answers_.end()) continue;
    for (std::size_t i = 0; i < hidden.answers.size(); ++i)
      if (std::ranges::find(wrong->second, hidden.answers[i]) == wrong->second.end()) {
        hidden.taken = i;
        break;
      }
  }
}

void Pursuit::note_wrong_answer(const replay::Agreement& agreement) {
  if (agreement.differing() == 0) return;
  const auto hidden = std::ranges::find(start_.warm.hidden, agreement.divergences.front().group,
                                        &replay::WarmStart::Hidden::group);
  if (hidden != start_.warm.hidden.end()) wrong_answers_[hidden->group].push_back(hidden->runs());
}

// Learns from the events that are present, and follows from the start image until nothing more can
// be learnt. The Error says why the kernel can no longer be followed.
Status Pursuit::attempt(bool& again) {
  const std::uint64_t present = backlog_.state().added;
  E4R_TRY(start_.warm, replay::deduce_warm_start(start_.source, *backlog_.read_present(), groups_,
                                                 start_.tunables.mb_stream_req, start_.memory));
  if (!learnt_.empty()) start_.warm.learn(learnt_, start_.source.geometry.groups);
  choose_answers();
  start_.policy = choose_policy();
  const std::shared_ptr<Follower> follower = Follower::create(start_);
  {
    const std::lock_guard lock(mutex_);
    follower_ = follower;
  }
  ++attempts_;
  constexpr std::uint64_t kLeast = 64;  // nothing can be learnt from fewer events
  const Follower::End end =
      follower->run(backlog_, std::max(2 * present, kLeast), options_.most_kept);
  const replay::Agreement& agreement = follower->recorded().agreement();
  for (Tried& tried : tried_)
    if (tried.policy == start_.policy && agreement.requests > 0)
      tried.identical =
          static_cast<double>(agreement.identical) / static_cast<double>(agreement.requests);
  note_wrong_answer(agreement);
  learnt_.insert(learnt_.end(), follower->learnt().begin(), follower->learnt().end());
  switch (end) {
    case Follower::End::learn_again:
      again = true;
      return {};
    case Follower::End::events_lost:
      events_lost_ = true;
      return error("the kernel dropped events");
    case Follower::End::failed:
      return error("{}", follower->why());
    case Follower::End::over:
    case Follower::End::stopped:
      break;
  }
  return {};
}

}  // namespace e4r::watch
