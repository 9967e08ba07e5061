// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "payload.h"

// What each sector of one file may hold, while operations are in flight and afterwards. All units
// are sectors of 512 bytes; sizes of files are whole sectors.
//
// An operation claims its sectors before the system call and gives them back afterwards. Exclusive
// claims have their sectors to themselves, shared ones may overlap each other. A sector may hold
// what was written last: any value whose operation was not over before another one began that has
// succeeded. What failed, or was short, may have happened or not.
//
// Pages may be kept for mappings. Stores to them are no system calls: they are not atomic for a
// reader, and nothing makes them wait for a direct write to the same page, which no direct write
// touches therefore. The page cache is one memory for all others: they have such pages as they have
// any sectors.
namespace dio {

enum class Kind : std::uint8_t {
  layout,
  write,
  extend,
  buffered,
  mapped,
  punch,
  zero,
  grow,
  truncate
};
enum class Via : std::uint8_t { sync, aio, uring, buffered, mapping, control };
enum class Mode : std::uint8_t { exclusive, shared };

const char* name_of(Kind kind);
const char* name_of(Via via);

struct Range {
  std::uint32_t first, count;
  [[nodiscard]] bool meets(Range other) const {
    return first < other.first + other.count && other.first < first + count;
  }
};

// One operation. Sectors [first, first + count) become token's, or zeros.
struct Op {
  Kind kind;
  Via via;
  Mode mode;
  std::uint32_t owner;
  std::uint32_t first;
  std::uint32_t count;
  std::uint64_t begin;  // by the model's clock
  std::uint64_t end;    // 0: in flight
  long result;
};

struct Claim {
  Kind kind;
  Via via;
  std::uint32_t owner;
  std::uint32_t first;
  std::uint32_t count;
  Mode mode = Mode::exclusive;
};

// What a claim got: its place and what it is to write.
struct Claimed {
  std::uint64_t seq;
  std::uint32_t first;
  std::uint32_t count;
  Token token;
};

// Sectors as they may be read, from begin_read() on.
struct ReadWindow {
  std::uint32_t first;
  std::uint32_t size;      // of the file when the read began
  std::uint64_t next_seq;  // of the operations that begin later
  std::uint64_t shrinks;   // how often the file had been truncated
  std::vector<std::vector<Token>> legal;
  std::vector<bool> storing;  // through a mapping
  Via via;
  std::uint64_t time;  // when the read began
};

struct Violation {
  std::uint32_t sector;
  std::string expected;
  std::string found;
  std::string around;  // what was in flight with what was expected
};

class Model {
 public:
  // Of a file without contents. `most` is the number of sectors that it can ever have.
  Model(std::uint32_t file, std::uint32_t most, std::uint32_t sectors_per_block);

  // Direct writes do not get these sectors from now on: whole pages, never truncated.
  void keep_for_mappings(Range pages);
  [[nodiscard]] Range for_mappings() const { return for_mappings_; }
  // From now on a direct read may find anything in a page that is stored to meanwhile.
  void let_stores_expose() { stores_expose_ = true; }
  // Sectors of which it did, since the last time.
  [[nodiscard]] std::uint64_t take_exposed();

  // The disk refuses to read and to write these from now on.
  void set_bad(std::vector<Range> bad);
  // Whether one of them is among these.
  [[nodiscard]] bool has_bad(std::uint32_t first, std::uint32_t count);
  // Whether a direct write may end with this result. One that has a bad sector fails; one that has
  // none, but shares a block with it, may fail as it may write zeros there.
  [[nodiscard]] bool accepts(const Claimed& claimed, long result);

  // Nothing when sectors are claimed by others or are not all below the file's size.
  std::optional<Claimed> begin(const Claim& claim);
  // Of `count` sectors from the end of the file, or of what others are extending it to; `gap`
  // sectors are left out; `back` sectors of the file are rewritten (shared; only when nobody else
  // extends).
  std::optional<Claimed> begin_extend(const Claim& claim, std::uint32_t gap, std::uint32_t back);
  // To be extended by zeros while nobody else extends it.
  std::optional<Claimed> begin_grow_alone(std::uint32_t owner, std::uint32_t count);
  std::optional<Claimed> begin_truncate(std::uint32_t owner, std::uint32_t size);
  // `result` in bytes, as the system call returned it, or -errno. Operations that move no data
  // succeed with 0.
  void end(const Claimed& claimed, long result);

  // `via` is mapping, buffered, or what is direct.
  [[nodiscard]] ReadWindow begin_read(std::uint32_t first, std::uint32_t count, Via via);
  // Compares `bytes` that were read, while whatever went on, with what was legal meanwhile.
  std::optional<Violation> end_read(const ReadWindow& window, const char* data, long bytes);
  // Compares sectors while nothing is in flight.
  std::optional<Violation> check(std::uint32_t first, const char* data, std::uint32_t count);

  [[nodiscard]] std::uint32_t size();
  // Sectors that may hold one of several values.
  [[nodiscard]] std::uint64_t ambiguous();
  // The size while nothing is in flight, when an extending operation failed: anything up to its
  // end.
  bool settle_size(std::uint64_t bytes);
  [[nodiscard]] std::uint32_t most() const { return most_; }
  [[nodiscard]] std::uint32_t file() const { return file_; }
  [[nodiscard]] std::uint32_t sectors_per_block() const { return per_block_; }

  void save(std::ostream& out);
  // Nothing at the end of the input.
  static std::optional<Model> load(std::istream& in);
  Model(Model&& other) noexcept;

 private:
  struct Alternative {
    Token token;
    std::uint64_t end;
  };
  struct Flight {
    std::uint64_t seq;
    Mode mode;
  };
  struct Sector {
    std::vector<Alternative> may_hold;
    std::vector<Flight> in_flight;
  };

  [[nodiscard]] bool is_free(const Claim& claim) const;
  [[nodiscard]] bool meets_bad(Range range) const;
  Claimed start(const Claim& claim);
  std::optional<Claimed> extend(Claim claim, std::uint32_t gap, std::uint32_t back);
  void finish_sector(Sector& sector, const Op& op, std::uint64_t seq, bool sure);
  void finish_size(const Op& op, bool sure);
  [[nodiscard]] Token value_of(const Op& op, std::uint64_t seq) const;
  [[nodiscard]] std::vector<Token> legal_now(const Sector& sector) const;
  [[nodiscard]] bool wrote_since(std::uint64_t seq, std::uint32_t sector, Token token) const;
  [[nodiscard]] bool may_be_torn(const ReadWindow& window, std::uint32_t sector,
                                 const char* data) const;
  [[nodiscard]] bool may_be_exposed(const ReadWindow& window, std::uint32_t sector) const;
  [[nodiscard]] Violation violation(std::uint32_t sector, const std::vector<Token>& legal,
                                    const Found& found) const;
  [[nodiscard]] std::string around(std::uint32_t sector, const std::vector<Token>& legal) const;
  static bool is_one_of(const Found& found, std::uint32_t file, std::uint32_t sector,
                        const std::vector<Token>& legal);

  std::mutex mutex_;
  std::uint32_t file_, most_, per_block_;
  std::uint32_t size_ = 0;     // as far as operations have succeeded
  std::uint32_t claimed_ = 0;  // as far as operations in flight reach
  std::uint32_t perhaps_ = 0;  // as far as failed ones may have come
  std::uint32_t extending_ = 0;
  bool shrinking_ = false;
  bool alone_ = false;  // who extends wants nobody else to
  Range for_mappings_{0, 0};
  bool stores_expose_ = false;
  std::uint64_t exposed_ = 0;
  std::vector<Range> bad_;
  std::uint64_t clock_ = 0, shrinks_ = 0;
  std::vector<Sector> sectors_;
  std::vector<Op> ops_;  // sequence number 1 is the first
};

}  // namespace dio
