// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lazyinit/place.h"
#include "lazyinit/target.h"

namespace e4r::lazyinit {

// Lets a command run without effect (--dry-run). Reads go through to `below`, which may be open
// read-only. Writes stay in memory, and later reads see them. Each 4 KiB written takes 4 KiB of
// memory; zeroed ranges take almost none.
class ScratchTarget final : public TargetOver {
 public:
  explicit ScratchTarget(std::unique_ptr<Target> below) : TargetOver(std::move(below)) {}

  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override;
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override;
  // Reports zeroed ranges as written, because only the real target knows by which method it can
  // zero.
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length, ZeroBy by) override;
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override;
  [[nodiscard]] Status sync() override { return {}; }

 private:
  static constexpr std::uint64_t kPage = 4096;
  using Page = std::array<std::byte, kPage>;

  [[nodiscard]] Status read_locked(std::uint64_t offset, std::span<std::byte> bytes);
  [[nodiscard]] Status write_locked(std::uint64_t offset, std::span<const std::byte> bytes);
  [[nodiscard]] bool is_touched(std::uint64_t offset, std::uint64_t length) const;
  void blank(std::uint64_t offset, std::span<std::byte> bytes) const;
  void add_zeros(std::uint64_t offset, std::uint64_t end);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> zeros_;          // offset -> end, disjoint
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by offset; they override zeros_
};

// Returns a target that saves what it overwrites in an undo file for e2undo(8). It uses libext2fs's
// undo I/O manager. The file grows by the old contents of every block that is written or zeroed,
// except zeroed ranges that already read as zeros. Writes are serialised, so several threads are no
// faster than one. Only one such target may exist in a process.
//
// Returns an Error if `file` exists.
[[nodiscard]] Result<std::unique_ptr<Target>> keep_undo(std::unique_ptr<Target> below,
                                                        const std::string& file);

// Continues an undo file that another program has made for this file system. Nothing may have been
// written to the file system since. e2undo then undoes the changes of both. The Error says why
// libext2fs cannot continue the file; nothing has been written in that case.
[[nodiscard]] Result<std::unique_ptr<Target>> continue_undo(std::unique_ptr<Target> below,
                                                            const std::string& file);

// Wraps a target for writing to a file system that other hosts may see. With multiple-mount
// protection (feature mmp), libext2fs marks the MMP block as a checker would, for as long as the
// object lives. Marking takes twice the block's check interval, 11 seconds by default. Each sync()
// checks that no other host has marked the block meanwhile. Without mmp, or without a valid
// superblock, returns `below`.
//
// The Error says who uses the file system: a mount on another host, or a checker. If the checker
// was killed, its mark remains until `tune2fs -f -E clear_mmp` removes it.
[[nodiscard]] Result<std::unique_ptr<Target>> hold_mmp(std::unique_ptr<Target> below);

// Returns a target for the part of `file` that begins at byte place.offset. Returns an Error if the
// file ends before that.
[[nodiscard]] Result<std::unique_ptr<Target>> target_from_offset(std::unique_ptr<Target> file,
                                                                 const ImageLocation& place);

}  // namespace e4r::lazyinit
