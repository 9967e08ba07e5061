// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "ext4/geometry.h"
#include "trace/event.h"
#include "trace/source.h"
#include "util/status.h"

namespace e4r::replay {

// Whether a trace can come from a file system of this shape: groups, clusters per group, blocks,
// inodes. The kernel also says where a result's first block is, which shows the sizes of block,
// cluster and group. Applies nothing. A trace that fits may still contradict the image: see Intake.
class Fit final : public trace::EventSink {
 public:
  explicit Fit(const Geometry& geometry)
      : geometry_(geometry),
        inodes_(static_cast<std::uint64_t>(geometry.groups) * geometry.inodes_per_group) {}

  void see(std::span<const trace::Event> events) override;
  void restart() override;

  // The verdict on all events seen. The Error says which event does not fit and why. It is the end
  // of a sentence whose beginning names trace and image.
  [[nodiscard]] Status verdict() const;

 private:
  bool fits(const trace::Event& e);
  bool group(std::uint32_t number) { return number < geometry_.groups || no_group(number); }
  bool place(const trace::RecordedExtent& extent);
  bool block(std::uint64_t number) { return number < geometry_.blocks_count || no_block(number); }
  bool inode(std::uint64_t number) { return inodes_ == 0 || number <= inodes_ || no_inode(number); }
  // Notes why it does not fit, and returns false.
  bool no_group(std::uint32_t number);
  bool no_cluster(const trace::RecordedExtent& extent, std::uint32_t clusters);
  bool no_block(std::uint64_t number);
  bool no_inode(std::uint64_t number);
  trace::RecordedExtent& closed_by(std::uint32_t pid);
  void answered(const trace::Event& e);

  Geometry geometry_;
  std::uint64_t inodes_;
  std::unordered_map<std::uint32_t, trace::RecordedExtent> closed_;  // each thread's last result
  std::uint32_t last_pid_ = 0;
  trace::RecordedExtent* last_ = nullptr;  // the last result of last_pid_, in closed_
  std::uint64_t placed_ = 0, misplaced_ = 0;
  std::uint64_t number_ = 0;  // of the last event
  std::string why_;           // why it does not fit; empty: it fits
};

// The same for each device of a trace. It prefers the device that fits.
class DeviceFit final : public trace::EventSink {
 public:
  explicit DeviceFit(const Geometry& geometry) : fresh_(geometry) {}

  void see(std::span<const trace::Event> events) override;
  void restart() override;
  // The busiest device that fits; nothing if no device fits.
  [[nodiscard]] std::optional<trace::DeviceChoice> prefers(
      const trace::TraceSummary& summary) const override;
  // The verdict on the device whose events were seen since restart().
  [[nodiscard]] Status verdict() const;

 private:
  Fit& of(std::uint32_t dev);

  Fit fresh_;  // has seen the markers of lost events, which belong to every device
  std::map<std::uint32_t, Fit> devices_;
};

// The verdict on a whole trace that no other code reads. The Error may be the source's.
[[nodiscard]] Status check_fit(const Geometry& geometry, trace::EventSource& events);

}  // namespace e4r::replay
