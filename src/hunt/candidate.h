// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "age/ager.h"
#include "age/workload.h"
#include "allocator/tunables.h"
#include "app/inputs.h"
#include "image/image.h"
#include "state/fs_state.h"
#include "util/fd.h"
#include "util/status.h"

namespace e4r::hunt {

// The parameters of a workload.
struct Mix {
  std::uint64_t file_kb = 4;      // median size of a write in KiB
  std::uint32_t spread = 0;       // sizes vary by up to this many factors of two
  std::uint32_t appends = 0;      // percentage of operations that append
  std::uint32_t removals = 0;     // percentage of operations that remove a file
  std::uint32_t sync_every = 0;   // operations between syncs; 0: only at the end
  std::uint32_t operations = 16;  // not counting syncs
  std::uint32_t seed = 0;
};

// Limits of the operations.
struct Room {
  std::uint64_t blocks = 0;      // free blocks
  std::uint32_t block_size = 0;  // bytes
  std::uint32_t slots = 0;       // largest number of files
  std::uint64_t most = 0;        // largest total of written blocks
};

// Draws the operations of a mix. They use at most nine tenths of the free blocks, which leaves room
// for extent trees; at this limit, files are removed. Ends with a sync.
[[nodiscard]] std::vector<age::Operation> draw_operations(const Mix& mix, const Room& room);

// The choices of a hunt: file systems, their age, workloads, and tunables.

// How a file system is made. Candidates with equal origins begin with the same file system.
struct Origin {
  std::uint64_t bytes = 0;
  std::uint32_t block_size = 0;   // bytes
  std::size_t profile = 0;        // index into age::profiles()
  std::uint32_t turnover = 0;     // percentage of its size that was written; 0: a new file system
  std::uint32_t utilisation = 0;  // in percent; used if turnover is not 0
  std::uint32_t age_seed = 0;
  std::uint32_t piece = 0;  // blocks; longer free extents are cut; 0: not cut
  std::uint32_t gap = 1;    // used blocks between two pieces of a free extent
  friend bool operator==(const Origin&, const Origin&) = default;
};

// A file system and a workload.
struct Candidate {
  Origin origin;
  Mix mix;
  age::Writing writing = age::Writing::delayed;
  bool one_directory = false;  // inodes are consecutive; otherwise spread over the flex groups
  std::vector<std::string> settings;  // tunables of both policies, each as NAME=VALUE
};

// One parameter and its possible values. The first value is the plain value; values nearer to it
// are simpler.
struct Parameter {
  std::string name;
  std::string unit;  // printed after a value; may be empty
  std::vector<std::uint64_t> values;
  std::vector<std::string> words;  // meanings of the values; empty: numbers
  bool tunable = false;
  double plain = 0;  // probability that the search begins with the plain value
};

// The index of the value of each parameter.
using Levels = std::vector<std::uint32_t>;

// The space of all candidates.
class Space {
 public:
  // Makes the space of file systems of at most `largest` bytes, with workloads and tunables.
  // `tunables` are the names of tunables to vary. Errors: `largest` is below the size of the
  // smallest file system; a tunable has no values to choose from (the message lists the tunables
  // that have values).
  [[nodiscard]] static Result<Space> create(std::uint64_t largest,
                                            const std::vector<std::string>& tunables);
  // Makes the space of the workloads and tunables on one file system. Errors: the errors of
  // create().
  [[nodiscard]] static Result<Space> on_one_start(const std::vector<std::string>& tunables);

  [[nodiscard]] std::span<const Parameter> parameters() const { return parameters_; }
  [[nodiscard]] Candidate candidate(const Levels& levels) const;
  // Maps a point of the unit cube to levels.
  [[nodiscard]] Levels levels(std::span<const double> point) const;
  // Returns for example "8 KiB", or "mb_stripe=384" for a tunable.
  [[nodiscard]] std::string text(std::size_t parameter, std::uint32_t level) const;

 private:
  [[nodiscard]] Status add_workload(const std::vector<std::string>& tunables);

  std::vector<Parameter> parameters_;
  bool has_origin_ = true;  // whether the space includes the parameters of the file system
};

// Makes a new file system of `bytes` bytes with the given block size. Returns a path that stays
// valid during the hunt.
using ImageMaker =
    std::function<Result<std::string>(std::uint64_t bytes, std::uint32_t block_size)>;

// Facts about the image of a start.
struct StartFacts {
  std::string path;                        // to open the image again
  state::Source source;                    // as in the image
  std::vector<std::uint32_t> free_inodes;  // ascending
  allocator::Tunables tunables;            // tunables of the mount
};

// The initial file system of a candidate. Files from its ageing are represented by used blocks
// without an owner.
class Start {
 public:
  Start(std::shared_ptr<const image::Image> image, std::vector<std::vector<std::uint64_t>> bitmaps,
        StartFacts facts);
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  [[nodiscard]] const image::SuperblockInfo& superblock() const { return image_->superblock(); }
  [[nodiscard]] const state::Source& source() const { return source_; }
  [[nodiscard]] const allocator::Tunables& tunables() const { return tunables_; }
  [[nodiscard]] std::uint64_t free_blocks() const;
  // Free inodes, as many as a case can use. They are consecutive, or come from each flex group in
  // turn.
  [[nodiscard]] const std::vector<std::uint32_t>& inodes(bool one_directory) const {
    return one_directory ? neighbours_ : spread_;
  }
  // Returns the path of the start's image. The first call makes the image, and the destructor
  // removes it.
  [[nodiscard]] Result<std::string> path() const;

 private:
  const std::shared_ptr<const image::Image> image_;
  const std::vector<std::vector<std::uint64_t>> bitmaps_;  // by group; empty: as in the image
  const std::string image_path_;
  state::Source source_;
  const allocator::Tunables tunables_;
  std::vector<std::uint32_t> neighbours_, spread_;  // inodes
  mutable std::mutex mutex_;                        // guards the members below
  mutable Fd file_;
};

// Makes starts, and caches the new file systems on which they are based. Thread-safe.
class Starts {
 public:
  explicit Starts(ImageMaker make) : make_(std::move(make)) {}

  // Lets all candidates begin with this file system: an image, a block device or a capture's start
  // image. It is not changed. Errors: as for app::open_start(); the file system has no room for a
  // file.
  [[nodiscard]] Status use(const std::string& image, unsigned threads,
                           const app::Listener& listener);

  // Returns null if a file system of that size cannot be aged to the origin's turnover and
  // utilisation. Error: the image cannot be made.
  [[nodiscard]] Result<std::shared_ptr<const Start>> make(const Origin& origin);

 private:
  [[nodiscard]] Result<std::shared_ptr<const image::Image>> image_of(std::uint64_t bytes,
                                                                     std::uint32_t block_size);
  ImageMaker make_;
  std::shared_ptr<const Start> only_;  // the file system that use() opened
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::shared_ptr<const image::Image>> images_;
};

}  // namespace e4r::hunt
