// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "age/extent_tree.h"
#include "age/workload.h"
#include "util/rng.h"

namespace e4r::age {

// Draws operations that age a file system by punching holes, as Filestorm does (Jan Jurca,
// github.com/janjurca/Filestorm, scenario "aging" with --rapid-aging): large files are allocated
// with fallocate, and the fuller the file system is, the more space holes give back. The first hole
// of a file lies in its first half, the next one in the first half of the rest, and so on; one unit
// stays in use on both sides of each hole. Some files grow, are truncated, or are removed.
class PunchWorkload : public Drawing {
 public:
  // `profile.punch` must be set. Errors: as for AgeingWorkload::create().
  [[nodiscard]] static Result<PunchWorkload> create(const Profile& profile,
                                                    const AgeingWorkloadOptions& options);
  [[nodiscard]] bool next(Operation& operation) override;

  [[nodiscard]] std::uint64_t bytes_written() const override { return written_; }
  [[nodiscard]] std::uint64_t bytes_wanted() const override { return wanted_; }
  [[nodiscard]] std::uint64_t files() const override { return alive_.size(); }
  [[nodiscard]] bool out_of_slots() const override { return vacant_.empty() && taken_ < room_; }

 private:
  struct File {
    std::uint64_t size = 0;   // bytes
    std::uint64_t count = 0;  // number of holes, which determines the place of the next one
    std::uint64_t taken = 0;  // clusters
    BlockSet holes;
    // False once the file has had no room for another hole. From then on it gets no holes.
    bool is_punchable = true;
  };
  // A hole in bytes; empty if the file is too small for it.
  struct Hole {
    std::uint64_t from = 0, to = 0;
    [[nodiscard]] bool empty() const { return from >= to; }
  };

  PunchWorkload(const Profile& profile, const AgeingWorkloadOptions& options);
  [[nodiscard]] double fullness() const;
  [[nodiscard]] std::uint64_t room_left() const;  // bytes
  [[nodiscard]] Hole next_hole(const File& file) const;
  [[nodiscard]] double uniform();
  [[nodiscard]] bool draw(Operation& operation);
  bool create_one(Operation& operation);
  bool grow_one(Operation& operation);
  bool shorten_one(Operation& operation);
  bool punch_one(Operation& operation);
  void remove_one(Operation& operation);
  void give_back(std::uint32_t slot, std::uint64_t from, std::uint64_t to);
  void extend(Operation& operation, std::uint32_t slot, std::uint64_t size);
  [[nodiscard]] std::uint32_t any();
  void look_for_room(std::uint32_t slot);

  Profile profile_;
  AgeingWorkloadOptions options_;
  Rng rng_;
  std::vector<File> files_;             // by slot
  std::vector<std::uint32_t> vacant_;   // slots; the last one is used next
  std::vector<std::uint32_t> alive_;    // slots
  std::uint64_t room_ = 0, taken_ = 0;  // clusters that files may use, and clusters in use
  std::uint64_t written_ = 0, wanted_ = 0;
  std::uint64_t since_sync_ = 0;
  bool ended_ = false;
};

// Returns the object that draws a profile's operations.
[[nodiscard]] Result<std::unique_ptr<Drawing>> draw_for(const Profile& profile,
                                                        const AgeingWorkloadOptions& options);

}  // namespace e4r::age
