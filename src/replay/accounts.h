// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "allocator/counters.h"
#include "allocator/decider.h"
#include "allocator/decision.h"
#include "allocator/observer.h"
#include "allocator/request.h"
#include "allocator/step_clock.h"
#include "replay/op_stream.h"
#include "replay/translation.h"
#include "trace/event.h"
#include "util/recent_map.h"
#include "util/status.h"

namespace e4r::replay {

// A request to the allocator that is about to be served.
struct Asked {
  std::uint64_t decision;  // number in the trace, from 1; several requests may share it
  const Op& op;
  const allocator::Request& request;
  allocator::Decider& decider;
};

// A request and its outcome.
struct Decided : Asked {
  const allocator::Decision& made;  // the outcome that took effect
  // The outcome that the decider chose. It differs from `made` if Follow has replaced it with the
  // recorded result (`forced`).
  const allocator::Decision& own;
  bool forced = false;
  bool extra = false;  // an additional request, which the recorded kernel did not need
};

// Collects figures of a run that the engine itself does not count. Each subclass collects one kind.
// The caller adds an account before the run and reads it afterwards (Engine::find).
class Account {
 public:
  virtual ~Account() = default;

  // Called once, before the first operation.
  virtual void begin(allocator::Decider&) {}
  // asked() is called before the decider serves a request, decided() afterwards. If decided()
  // returns false, the run ends with the Error "stopped".
  virtual void asked(const Asked&) {}
  virtual bool decided(const Decided&) { return true; }
  // Called before a file gets an extent. `file` is its layout before that.
  virtual void placed(std::uint64_t /*ino*/, const FileLayout& /*file*/,
                      const FileExtent& /*extent*/) {}
  // Called when clusters of this group were freed.
  virtual void freed(std::uint32_t /*group*/) {}
  // Called once the replay has served a recorded request completely. This may take several requests
  // to the allocator.
  virtual void done(std::uint64_t /*decision*/, const state::FsState&) {}
  // Called when an operation has taken effect. If Follow has determined the order of overlapping
  // allocations, they are reported in that order.
  virtual void taken(const Op&) {}
};

// The accounts of one run. Only functions that an account overrides are called, so unused functions
// cost nothing.
class Accounts {
 public:
  template <class T, class... Args>
  T& add(Args&&... args) {
    auto made = std::make_unique<T>(std::forward<Args>(args)...);
    T& out = *made;
    if constexpr (kDiffer<decltype(&T::asked), decltype(&Account::asked)>) asked_.push_back(&out);
    if constexpr (kDiffer<decltype(&T::decided), decltype(&Account::decided)>)
      decided_.push_back(&out);
    if constexpr (kDiffer<decltype(&T::placed), decltype(&Account::placed)>)
      placed_.push_back(&out);
    if constexpr (kDiffer<decltype(&T::freed), decltype(&Account::freed)>) freed_.push_back(&out);
    if constexpr (kDiffer<decltype(&T::done), decltype(&Account::done)>) done_.push_back(&out);
    if constexpr (kDiffer<decltype(&T::taken), decltype(&Account::taken)>) taken_.push_back(&out);
    all_.push_back(std::move(made));
    return out;
  }
  // The account of that class, or null if none was added.
  template <class T>
  [[nodiscard]] T* find() const {
    for (const auto& account : all_)
      if (T* found = dynamic_cast<T*>(account.get())) return found;
    return nullptr;
  }

  void begin(allocator::Decider& decider) const {
    for (const auto& account : all_) account->begin(decider);
  }
  // Calls no further functions of the accounts.
  void stop() {
    for (std::vector<Account*>* some : {&asked_, &decided_, &placed_, &freed_, &done_, &taken_})
      some->clear();
  }
  void asked(const Asked& one) const {
    for (Account* account : asked_) account->asked(one);
  }
  [[nodiscard]] bool decided(const Decided& one) const {
    bool keeps_running = true;
    for (Account* account : decided_) keeps_running = account->decided(one) && keeps_running;
    return keeps_running;
  }
  void placed(std::uint64_t ino, const FileLayout& file, const FileExtent& extent) const {
    for (Account* account : placed_) account->placed(ino, file, extent);
  }
  void freed(std::uint32_t group) const {
    for (Account* account : freed_) account->freed(group);
  }
  void done(std::uint64_t decision, const state::FsState& state) const {
    for (Account* account : done_) account->done(decision, state);
  }
  void taken(const Op& op) const {
    for (Account* account : taken_) account->taken(op);
  }

 private:
  // True if a subclass overrides the member: the type of a pointer to member names the class that
  // declares the member.
  template <class Member, class OfBase>
  static constexpr bool kDiffer = !std::is_same_v<Member, OfBase>;

  std::vector<std::unique_ptr<Account>> all_;
  std::vector<Account*> asked_, decided_, placed_, freed_, done_, taken_;
};

// Called for each run: adds the caller's accounts to it.
using AddAccounts = std::function<void(Accounts&)>;

// The cost of the searches of one request.
struct SearchCost {
  std::optional<std::uint64_t> groups;  // considered; nullopt if unknown (Counters::complete)
  std::uint64_t extents = 0;            // examined

  [[nodiscard]] std::uint64_t steps() const { return groups.value_or(0) + extents; }
};

// Measures the searches of successive requests.
class SearchMeter {
 public:
  // Returns the cost of the request that was just served. Call it for every request: the cost is
  // the change of the counters since the last call.
  SearchCost take(const Decided& one);

 private:
  std::uint64_t considered_ = 0;  // groups so far
  std::uint64_t examined_ = 0;    // extents so far
};

// A series of counts over the course of a trace. A trace of any length has at most kBuckets
// buckets. Bucket i holds the decisions [1 + i * width(), 1 + (i + 1) * width()). A Bucket must
// have join(other), which adds the counts of the bucket that follows.
template <class Bucket>
class Course {
 public:
  static constexpr std::size_t kBuckets = 512;

  // The bucket of a decision. Decisions are numbered from 1.
  [[nodiscard]] Bucket& at(std::uint64_t decision) {
    while ((decision - 1) >> shift_ >= kBuckets) fold();
    const auto index = static_cast<std::size_t>((decision - 1) >> shift_);
    if (index >= buckets_.size()) buckets_.resize(index + 1);
    return buckets_[index];
  }
  [[nodiscard]] std::span<const Bucket> buckets() const { return buckets_; }
  [[nodiscard]] std::uint64_t width() const { return std::uint64_t{1} << shift_; }

 private:
  // Halves the number of buckets by joining neighbours.
  void fold() {
    const std::size_t half = (buckets_.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) {
      Bucket both = buckets_[2 * i];
      if (2 * i + 1 < buckets_.size()) both.join(buckets_[2 * i + 1]);
      buckets_[i] = both;
    }
    buckets_.resize(half);
    ++shift_;
  }

  std::vector<Bucket> buckets_;
  std::uint32_t shift_ = 0;
};

// Counts that a run keeps in addition to the allocator's own counters.
struct Tally {
  std::uint64_t requests = 0;  // allocations decided
  std::uint64_t metadata = 0;  // allocations without HINT_DATA
  // Metadata allocations for the mapping blocks of regular files (extent tree nodes, indirect
  // blocks). A file's layout determines how many mapping blocks it needs. A replay that places the
  // data differently still makes the recorded number of these allocations.
  std::uint64_t mapping = 0;
  std::uint64_t allocated_blocks = 0;
  std::uint64_t failed = 0;    // no space
  std::uint64_t refused = 0;   // refused by the kernel before they reached its allocator
  std::uint64_t absorbed = 0;  // recorded requests that an earlier request had already served
  std::uint64_t extra = 0;     // requests that the recorded kernel did not need
  std::uint64_t freed_clusters = 0;
  std::uint64_t bad_frees = 0;  // frees of blocks that are not in use
  std::uint64_t commits = 0;
  std::uint64_t guessed_sizes = 0;    // Decision::size_guessed
  std::uint64_t guessed_writers = 0;  // Decision::writers_guessed
  std::uint64_t unanswered = 0;       // allocations cut off by the end of the trace
  std::uint64_t lost_events = 0;
};

// The recorded kernel's own counters (ext4_mb_collect_stats, Linux 6.1 to 7.3), as far as the
// closing events and answers of a trace show them. An event holds the numbers of extents found and
// groups scanned modulo 65536.
struct ClosingCounts {
  std::uint64_t requests = 0;         // closed decisions
  std::uint64_t success = 0;          // requests that got the requested length
  std::uint64_t failed = 0;           // requests that got no cluster
  std::uint64_t allocated = 0;        // clusters
  std::uint64_t extents_scanned = 0;  // extents that searches examined
  std::uint64_t groups_scanned = 0;
  std::uint64_t goal_hits = 0;      // requests served at the start of their goal
  std::uint64_t len_goal_hits = 0;  // searches that found the goal's whole length
  // Group searches, by the criterion that ended them. A search that found its goal has no
  // criterion.
  std::array<std::uint64_t, mb::kCriteria> hits{};
  std::uint64_t nameless = 0;  // searches ended by a criterion whose name is unknown
  // Goals that a criterion shortened and whose full length was not recorded. It is unknown whether
  // the searches for these goals found the whole length.
  std::uint64_t goals_hidden = 0;

  allocator::DecisionHash hash;

  void count(const Op& op, const Geometry& geometry);
};

// The cost of searches over the course of a trace. A *step* is a group considered or an extent
// examined.
class CostProfile final : public Account {
 public:
  static constexpr std::size_t kSlowest = 10;

  // The requests of consecutive decisions.
  struct Bucket {
    std::uint64_t requests = 0;
    std::uint64_t steps = 0;  // of all requests
    std::uint64_t most = 0;   // of one request
    void join(const Bucket& other);
  };
  // The first request of one decision. `number` is its number in the trace, from 1, as in Engine.
  struct Decision {
    std::uint64_t number = 0;
    SearchCost cost;
  };

  bool decided(const Decided& one) override;
  // Adds the cost of a request. Decisions are numbered from 1, and calls must be in ascending
  // order.
  void add(std::uint64_t decision, const SearchCost& cost);

  [[nodiscard]] const Course<Bucket>& course() const { return course_; }
  [[nodiscard]] std::uint64_t decisions() const { return last_; }
  // The decisions with the most steps, in descending order; of two with the same number of steps,
  // the earlier one comes first.
  [[nodiscard]] std::span<const Decision> slowest() const { return slowest_; }

 private:
  void rank(const Decision& decision);

  SearchMeter meter_;
  Course<Bucket> course_;
  std::vector<Decision> slowest_;
  std::uint64_t last_ = 0;  // the last decision
};

// The order in which blocks of files were allocated (docs/metrics.md). Data allocations are in the
// order of their decisions; the blocks of one allocation are in file order. Allocations are counted
// as they happen, so files that are later deleted are included.
struct WriteOrder final : public Account {
  std::uint64_t allocations = 0;  // allocations of file data
  std::uint64_t adjacent = 0;     // began on the device where the previous allocation ended
  std::uint64_t neighbours = 0;   // pairs of consecutive blocks of a file
  std::uint64_t in_order = 0;     // neighbours between which no other block was handed out
  std::uint64_t continued = 0;    // allocations that begin right after a block of their file
  std::uint64_t interrupted = 0;  // how many of `continued` had another allocation in between

  // Ignores an extent of length 0.
  void placed(std::uint64_t ino, const FileLayout& file, const FileExtent& extent) override;

 private:
  std::uint64_t last_ino_ = 0;
  FileExtent last_;
};

// A hash of the outcome of each request of a run. An entry has 16 bytes. The logs of two runs of a
// trace show at which request the runs diverge. A further run can then keep the text of that
// decision.
class DecisionLog final : public Account {
 public:
  struct Entry {
    std::uint64_t decision;  // number in the trace, from 1; several entries may share it
    std::uint64_t digest;    // of the closing event that it would produce
  };
  // `write_down` lists the entries to keep as text, numbered from 0.
  explicit DecisionLog(const std::vector<std::uint64_t>& write_down = {}) {
    for (const std::uint64_t entry : write_down) texts_[entry];
  }

  bool decided(const Decided& one) override;
  void add(std::uint64_t decision, const allocator::Decision& made);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  // The text of describe() for an entry that was kept as text; empty if the run had no such entry.
  [[nodiscard]] std::string text(std::uint64_t entry) const {
    const auto found = texts_.find(entry);
    return found == texts_.end() ? std::string() : found->second;
  }

  // The number of leading requests with the same outcome in both logs.
  [[nodiscard]] std::uint64_t alike(const DecisionLog& other) const;

 private:
  std::vector<Entry> entries_;
  std::map<std::uint64_t, std::string> texts_;  // the entries to keep as text
};

// What served a request.
enum class ServedBy : std::uint8_t {
  nothing,        // no space
  preallocation,  // no search was needed
  goal,           // the goal itself; no other group was examined
  search,         // a search of groups; DecisionRow::criterion ended it
};

// Stands for no goal or an unknown goal. It is not 0, because block 0 can be a goal.
inline constexpr std::uint64_t kNoGoal = UINT64_MAX;

// One request and its outcome, for tables and timelines.
struct DecisionRow {
  std::uint64_t decision = 0;     // number in the trace, from 1
  std::uint64_t time_ns = 0;      // of the recorded request, on the recorder's clock
  std::uint64_t answered_ns = 0;  // recorded kernel only: time of its answer; 0: unknown
  std::uint64_t ino = 0;
  std::uint64_t goal_block = kNoGoal;         // requested goal: the first block of its cluster
  std::uint64_t search_goal_block = kNoGoal;  // goal of the search
  std::uint64_t block = 0;                    // allocated block; 0: no block
  std::uint64_t code_ns = 0;                  // time that a kernel's code took; 0: not measured
  std::optional<std::uint64_t> considered;  // groups; nullopt: unknown, as for the recorded kernel
  std::uint32_t part = 1;  // counts the requests of a replay for one recorded request, from 1
  std::uint32_t pid = 0;
  std::uint32_t logical = 0;           // first file block of the request
  std::uint32_t asked = 0;             // clusters
  std::uint32_t search_goal_len = 0;   // clusters; 0: no search
  std::uint32_t len = 0;               // clusters allocated
  std::uint32_t taken = 0;             // clusters that the search took, including preallocated ones
  std::uint32_t groups_scanned = 0;    // as in the closing event; recorded kernel only
  std::uint32_t extents_examined = 0;  // modulo 65536
  std::uint16_t cpu = 0;
  mb::Criterion criterion = mb::Criterion::unknown;  // ServedBy::search only
  ServedBy served = ServedBy::nothing;
  bool data = false;  // for file data, not for metadata
};

// Returns the row for the operation's request with the decider's outcome.
[[nodiscard]] DecisionRow made_row(const Op& op, const allocator::Decision& made,
                                   const SearchCost& cost, const Geometry& geometry);
// Returns the row for the operation's request with the recorded kernel's outcome. The operation
// must be closed and admitted by Intake.
[[nodiscard]] DecisionRow recorded_row(const Op& op, const Geometry& geometry);

// The rows of one run, in the order of its requests.
class DecisionRows final : public Account {
 public:
  enum class Of : std::uint8_t { decider, recorded };  // whose outcome a row has
  DecisionRows() = default;
  explicit DecisionRows(Of of) : of_(of) {}

  bool decided(const Decided& one) override;
  // Adds a row and sets its `decision` and `part`. Calls must be in ascending order of decisions.
  void add(std::uint64_t decision, DecisionRow row);
  [[nodiscard]] const std::vector<DecisionRow>& all() const { return rows_; }

 private:
  Of of_ = Of::decider;
  SearchMeter meter_;
  std::vector<DecisionRow> rows_;
};

// The time that a kernel's code took for each request; empty for a model.
class CodeTimes final : public Account {
 public:
  bool decided(const Decided& one) override {
    times_.add(one.made);
    return true;
  }
  [[nodiscard]] const allocator::DecisionTimes& times() const { return times_; }

 private:
  allocator::DecisionTimes times_;
};

// The lock operations of each request and, if wanted, of each free.
class LockOperations final : public Account {
 public:
  explicit LockOperations(bool of_frees = false) : of_frees_(of_frees) {}
  void begin(allocator::Decider& decider) override {
    decider.note_locks(notes_);
    policy_ = &decider.policy();
  }
  void freed(std::uint32_t group) override {
    if (of_frees_) allocator::note_free(*policy_, group, notes_);
  }
  // The notes, in the order of the requests and frees.
  [[nodiscard]] const allocator::LockNotes& notes() const { return notes_; }
  void forget() { notes_.forget(); }

 private:
  bool of_frees_;
  const allocator::Policy* policy_ = nullptr;
  allocator::LockNotes notes_;
};

// Reports each request to a caller during the run.
class DecisionWatch final : public Account {
 public:
  // A watch that returns false ends the run with the Error "stopped".
  using Watch = std::function<bool(const Decided&)>;
  explicit DecisionWatch(Watch watch) : watch_(std::move(watch)) {}

  bool decided(const Decided& one) override { return watch_(one); }

 private:
  Watch watch_;
};

// The number of stream goals that a kernel of 6.17 or later keeps: the number of possible CPUs, or
// a quarter of the number of groups if that is less.
struct StreamGoalCount {
  std::uint32_t goals = 0;      // the lowest number that explains the most searches
  std::uint64_t explained = 0;  // searches that began where their goal's last search had ended
  std::uint64_t searches = 0;   // searches for streams
};

// Derives the number of stream goals from the searches of a trace, which show which inodes share a
// goal. Considers at most 256 goals.
[[nodiscard]] Result<StreamGoalCount> count_stream_goals(trace::EventSource& events,
                                                         std::uint32_t groups);

// The facts that a trace has shown so far about existing files.
class FileFacts {
 public:
  struct File {
    std::uint64_t size = 0;                           // bytes; the best known lower bound on i_size
    allocator::Mode mode = allocator::Mode::unknown;  // how its last request was served
    bool regular = false;  // the trace has shown its creation or a request for its data
  };

  // Records that a regular file was created.
  void made(std::uint64_t ino) { files_[ino].regular = true; }
  // Records a request for data, with its inputs.
  void asked(const allocator::Request& request, const allocator::DecisionInputs& inputs,
             const Geometry& geometry);
  // Records that a range was removed from the file or inserted into it.
  void shifted(std::uint64_t ino, const FileShift& shift, const Geometry& geometry);
  void gone(std::uint64_t ino) { files_.erase(ino); }

  [[nodiscard]] std::size_t size() const { return files_.all().size(); }
  // Sets the facts about a file that were known before the trace.
  void restore(std::uint64_t ino, const File& file) { files_[ino] = file; }
  // Calls each(ino, file).
  template <class Each>
  void for_each(const Each& each) const {
    for (const auto& [ino, file] : files_.all()) each(ino, file);
  }

  // The facts about a file; default values if the trace has not shown the file.
  [[nodiscard]] File of(std::uint64_t ino) const;

 private:
  RecentMap<boost::unordered_flat_map<std::uint64_t, File>> files_;
};

}  // namespace e4r::replay
