// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "age/profile.h"
#include "util/rng.h"
#include "util/status.h"

namespace e4r::age {

// The files of a file system in the order of their creation. Chooses the file to remove so that the
// ages of the others approach a histogram. An age is a share of the time since the first file was
// created, and time is measured in created files. A histogram with a step much higher than the
// steps before it cannot be reached, because every old file was young first.
class Population {
 public:
  explicit Population(const std::vector<Step>& ages);

  void add(std::uint32_t slot);
  [[nodiscard]] std::uint64_t size() const { return alive_; }
  // Returns a random file. There must be a file.
  [[nodiscard]] std::uint32_t any(Rng& rng) const;
  // Removes a file and returns it: the frailest of a few random files in the step of ages that
  // exceeds its share by the most files. There must be a file.
  [[nodiscard]] std::uint32_t take(Rng& rng);

 private:
  struct Birth {
    std::uint64_t number = 0;
    std::uint32_t slot = 0;
    bool alive = false;
  };
  [[nodiscard]] std::uint64_t alive_among(std::size_t count) const;
  [[nodiscard]] std::uint64_t older_than(double share) const;
  [[nodiscard]] std::size_t nth_alive(std::uint64_t n) const;
  void forget_deleted();

  static constexpr std::size_t kSpare = 1024;
  std::vector<Step> shares_;  // limits as shares of the total time, up to 1; weights add up to 1
  std::vector<Birth> births_;
  std::vector<std::uint32_t> sums_;  // a Fenwick tree over births_ that counts living files
  std::uint64_t made_ = 0;
  std::uint64_t alive_ = 0;
};

// One operation of a program on its files. A slot is a place for a file: an inode that exists
// permanently.
struct Operation {
  enum class Kind : std::uint8_t {
    write,   // writes `bytes` to the empty file in `slot`
    append,  // appends `bytes`
    remove,  // empties the file
    sync,    // writes back dirty data and commits the journal
    // These work at `offset`, which may be anywhere in the file:
    write_at,  // writes `bytes` through the page cache
    direct,    // writes `bytes` without the page cache
    extend,    // fallocate: allocates `bytes` and extends the file's size
    reserve,   // fallocate: allocates `bytes` and keeps the file's size
    punch,     // punches a hole of `bytes`
    // Writes back the file's dirty data while it is open, and commits the journal (fsync).
    flush,
    close,  // the last writer closes the file
  };
  Kind kind = Kind::sync;
  std::uint32_t slot = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint32_t writer = 0;  // number of the program, from 0; each has its own CPU
  friend bool operator==(const Operation&, const Operation&) = default;
};
inline constexpr std::size_t kOperationKinds = static_cast<std::size_t>(Operation::Kind::close) + 1;
// Formats an operation: "w SLOT BYTES", "a SLOT BYTES", "r SLOT", "s"; with an offset "W SLOT
// OFFSET BYTES", and likewise "D" (direct), "f" (extend), "k" (reserve), "p" (punch); "y SLOT"
// (flush), "c SLOT" (close). Numbers are decimal. Operations with an offset have at least one byte.
[[nodiscard]] std::string text_of(const Operation& operation);
[[nodiscard]] Result<Operation> parse_operation(std::string_view line);

// Limits of a file system on files.
struct FileLimits {
  std::uint32_t block_size = 0;  // bytes
  std::uint64_t files = 0;       // number of free inodes
};

// How far to age a file system.
struct Until {
  double utilisation = 0.8;  // share of its clusters in use, including those in use at the start
  double turnover = 1;       // bytes written, in file system sizes
};
// Parses "utilisation 0.8, turnover 10x". Either part may be missing, and the order does not
// matter.
[[nodiscard]] Result<Until> parse_until(const std::string& text);

struct AgeingWorkloadOptions {
  std::uint64_t clusters = 0;      // clusters of the file system
  std::uint64_t used = 0;          // clusters in use at the start
  std::uint32_t cluster_size = 0;  // bytes; without bigalloc, the block size
  std::uint32_t slots = 0;
  Until until;
  std::uint64_t seed = 1;
};

// Operations that age a file system.
class Drawing {
 public:
  virtual ~Drawing() = default;
  // Draws the next operation. Returns false when the goal is reached and a sync has been drawn.
  [[nodiscard]] virtual bool next(Operation& operation) = 0;
  [[nodiscard]] virtual std::uint64_t bytes_written() const = 0;
  // The total number of bytes that next() will have written.
  [[nodiscard]] virtual std::uint64_t bytes_wanted() const = 0;
  [[nodiscard]] virtual std::uint64_t files() const = 0;
  // Whether there were too few slots to reach the utilisation.
  [[nodiscard]] virtual bool out_of_slots() const = 0;
};

// room_of() returns the number of clusters that files may use, and wanted_of() the number of bytes
// to write.
[[nodiscard]] std::uint64_t room_of(const AgeingWorkloadOptions& options);
[[nodiscard]] std::uint64_t wanted_of(const AgeingWorkloadOptions& options);
// Fails if there is less room than the utilisation needs, or if there is no slot.
[[nodiscard]] Status check_room(const AgeingWorkloadOptions& options);

// Draws operations that age a file system. They do not depend on the behaviour of the file system,
// so every policy and a real kernel get the same operations. Sizes come from the profile. The file
// to remove is chosen so that the ages of the remaining files approach the profile's (as in
// Geriatrix, Kadekodi et al., USENIX ATC 2018).
class AgeingWorkload : public Drawing {
 public:
  // Fails if there is less room than the utilisation needs, or if there are too few slots.
  [[nodiscard]] static Result<AgeingWorkload> create(const Profile& profile,
                                                     const AgeingWorkloadOptions& options);
  [[nodiscard]] bool next(Operation& operation) override;

  [[nodiscard]] std::uint64_t bytes_written() const override { return written_; }
  [[nodiscard]] std::uint64_t bytes_wanted() const override { return wanted_; }
  [[nodiscard]] std::uint64_t files() const override { return files_.size(); }
  [[nodiscard]] bool out_of_slots() const override { return vacant_.empty() && taken_ < room_; }

 private:
  AgeingWorkload(const Profile& profile, const AgeingWorkloadOptions& options);
  [[nodiscard]] std::uint64_t clusters_of(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t draw_size();
  void remove_one(Operation& operation);
  void create_one(Operation& operation);
  bool change_one(Operation& operation);
  void write(Operation& operation, std::uint32_t slot, std::uint64_t bytes);

  Profile profile_;
  AgeingWorkloadOptions options_;
  Rng rng_;
  Population files_;
  std::vector<std::uint64_t> sizes_;   // bytes, by slot
  std::vector<std::uint32_t> vacant_;  // slots; the last one is used next
  double weights_ = 0;                 // sum of the weights of all sizes
  std::uint64_t room_ = 0;             // clusters that files may use
  std::uint64_t taken_ = 0;            // clusters that files use
  std::uint64_t largest_ = 0;          // size limit of a file in bytes
  std::uint64_t written_ = 0, wanted_ = 0;
  std::uint64_t since_sync_ = 0;
  std::uint64_t freed_ = 0;  // clusters freed since the last sync
  std::uint32_t rewriting_ = kNone;
  bool ended_ = false;
  static constexpr std::uint32_t kNone = UINT32_MAX;
};

// Operations from a file, one per line, in the form of text_of(). A sync follows the last one.
class ListedWorkload : public Drawing {
 public:
  // Error messages name the source `from` and the line. Errors: a line that is not an operation; a
  // slot that does not exist; a file too large for ext4; a file that is written both at its end and
  // at offsets without being removed in between; a `w` for a file that is not empty.
  [[nodiscard]] static Result<std::unique_ptr<Drawing>> read(std::string_view text,
                                                             const std::string& from,
                                                             const FileLimits& limits);
  [[nodiscard]] bool next(Operation& operation) override;

  // Does not count space that fallocate allocates.
  [[nodiscard]] std::uint64_t bytes_written() const override { return written_; }
  [[nodiscard]] std::uint64_t bytes_wanted() const override { return wanted_; }
  [[nodiscard]] std::uint64_t files() const override { return files_; }
  [[nodiscard]] bool out_of_slots() const override { return false; }

 private:
  std::vector<Operation> operations_;
  std::size_t at_ = 0;  // index of the next operation
  std::uint64_t written_ = 0, wanted_ = 0;
  std::uint64_t files_ = 0;  // files that got data or space
};

}  // namespace e4r::age
