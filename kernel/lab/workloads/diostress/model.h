// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "payload.h"

// The possible contents of each sector of one file, during operations and afterwards. All units are
// sectors of 512 bytes; file sizes are whole sectors.
//
// An operation claims its sectors before the system call and releases them afterwards. Exclusive
// claims do not overlap any other claim; shared claims may overlap each other. A sector may hold
// the value of any write that had not ended when a later successful write began. A failed or short
// operation may or may not have changed its sectors.
//
// Pages may be reserved for mappings. Stores through a mapping are not system calls: they are not
// atomic for a reader, and they do not wait for a direct write to the same page. So direct writes
// never touch these pages. All other operations use the page cache, as the stores do, and treat
// these pages like any others.
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

// One operation. It fills the sectors [first, first + count) with the token's contents or with
// zeros.
struct Op {
  Kind kind;
  Via via;
  Mode mode;
  std::uint32_t owner;
  std::uint32_t first;
  std::uint32_t count;
  std::uint64_t begin;  // in the model's clock
  std::uint64_t end;    // 0 while in flight
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

// A granted claim: its range and its contents.
struct Claimed {
  std::uint64_t seq;
  std::uint32_t first;
  std::uint32_t count;
  Token token;
};

// A read that begin_read() has begun: its sectors, and the contents that are legal for them.
struct ReadWindow {
  std::uint32_t first;
  std::uint32_t size;      // size of the file when the read began
  std::uint64_t next_seq;  // sequence number of the next operation to begin
  std::uint64_t shrinks;   // number of truncations before the read
  std::vector<std::vector<Token>> legal;
  std::vector<bool> storing;  // whether a mapping was storing to the sector when the read began
  Via via;
  std::uint64_t time;  // when the read began
};

struct Violation {
  std::uint32_t sector;
  std::string expected;
  std::string found;
  std::string around;  // operations that were in flight together with the expected one
};

class Model {
 public:
  // A model of an empty file that never has more than `most` sectors.
  Model(std::uint32_t file, std::uint32_t most, std::uint32_t sectors_per_block);

  // Keeps direct writes away from these sectors. They must be whole pages that are never truncated.
  void keep_for_mappings(Range pages);
  [[nodiscard]] Range for_mappings() const { return for_mappings_; }
  // After this call, a direct read may find any contents in a page with a concurrent store.
  void let_stores_expose() { stores_expose_ = true; }
  // Returns the number of sectors, since the last call, whose contents were legal only because of
  // let_stores_expose().
  [[nodiscard]] std::uint64_t take_exposed();

  // Tells the model that the disk refuses to read and write these sectors from now on.
  void set_bad(std::vector<Range> bad);
  // Whether one of these sectors is bad.
  [[nodiscard]] bool has_bad(std::uint32_t first, std::uint32_t count);
  // Returns whether a direct write may end with this result. A write to a bad sector must fail. A
  // write that only shares a block with a bad sector may fail, because the kernel may write zeros
  // to the rest of the block.
  [[nodiscard]] bool accepts(const Claimed& claimed, long result);

  // Claims the sectors. Returns nothing if another operation has claimed one of them, or if one of
  // them is beyond the end of the file.
  std::optional<Claimed> begin(const Claim& claim);
  // Claims `count` sectors that begin `gap` sectors after the end of the file, or after the end of
  // concurrent extensions. The claim also covers the last `back` sectors of the file, as a shared
  // claim. `back` must be 0 while others extend the file.
  std::optional<Claimed> begin_extend(const Claim& claim, std::uint32_t gap, std::uint32_t back);
  // Claims an extension with zeros. Until it ends, no other extension is granted.
  std::optional<Claimed> begin_grow_alone(std::uint32_t owner, std::uint32_t count);
  std::optional<Claimed> begin_truncate(std::uint32_t owner, std::uint32_t size);
  // Releases the claim. `result` is the number of bytes that the system call returned, or -errno.
  // For an operation that moves no data, 0 means success.
  void end(const Claimed& claimed, long result);

  // Begins a read. `via` is mapping, buffered, or one of the direct engines.
  [[nodiscard]] ReadWindow begin_read(std::uint32_t first, std::uint32_t count, Via via);
  // Compares the `bytes` bytes that were read with the contents that were legal during the read.
  std::optional<Violation> end_read(const ReadWindow& window, const char* data, long bytes);
  // Compares sectors while nothing is in flight.
  std::optional<Violation> check(std::uint32_t first, const char* data, std::uint32_t count);

  [[nodiscard]] std::uint32_t size();
  // Returns the number of sectors for which several values are legal.
  [[nodiscard]] std::uint64_t ambiguous();
  // Sets the file's actual size after all operations have ended, and returns whether it is legal.
  // After a failed extension, any size up to the extension's end is legal.
  bool settle_size(std::uint64_t bytes);
  [[nodiscard]] std::uint32_t most() const { return most_; }
  [[nodiscard]] std::uint32_t file() const { return file_; }
  [[nodiscard]] std::uint32_t sectors_per_block() const { return per_block_; }

  void save(std::ostream& out);
  // Returns nothing at the end of the input.
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
  std::uint32_t size_ = 0;     // size after all successful operations
  std::uint32_t claimed_ = 0;  // size after all extensions in flight
  std::uint32_t perhaps_ = 0;  // largest possible size after failed operations
  std::uint32_t extending_ = 0;
  bool shrinking_ = false;
  bool alone_ = false;  // an extending operation excludes all others
  Range for_mappings_{0, 0};
  bool stores_expose_ = false;
  std::uint64_t exposed_ = 0;
  std::vector<Range> bad_;
  std::uint64_t clock_ = 0, shrinks_ = 0;
  std::vector<Sector> sectors_;
  std::vector<Op> ops_;  // the first has sequence number 1
};

}  // namespace dio
