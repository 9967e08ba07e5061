// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "age/ager.h"
#include "age/profile.h"
#include "age/workload.h"
#include "allocator/decider.h"
#include "allocator/tunables.h"
#include "app/inputs.h"
#include "image/image.h"
#include "results/outcome.h"
#include "state/fs_state.h"

// The use case of `e4replay age`: writes and removes files until a file system has aged.
namespace e4r::app {

// An existing file system on which a command lets simulated programs write.
struct StartImage {
  OpenedImage opened;
  state::Source source;
};

// Opens an image, a block device or a capture's start image, read only. Fails like open_image(),
// and like ageing on a file system that ageing does not support.
[[nodiscard]] Result<StartImage> open_start(const std::string& name, image::OpenOptions options,
                                            const Listener& listener);

// Applies the tunables of `file`, or if that is empty, of the capture that holds the image. Returns
// the source of the tunables, or an empty string if no source has tunables.
[[nodiscard]] Result<std::string> take_start_tunables(const std::string& file,
                                                      const OpenedImage& opened,
                                                      allocator::Tunables& tunables);

// Free inodes that files can use, at most `most`, in ascending order.
[[nodiscard]] Result<std::vector<std::uint32_t>> free_inodes(const image::Image& image,
                                                             std::uint64_t most);
// Orders free inodes so that consecutive ones are in different flex groups.
[[nodiscard]] std::vector<std::uint32_t> spread(const std::vector<std::uint32_t>& free,
                                                const image::SuperblockInfo& superblock,
                                                const Geometry& geometry);

struct AgeingOptions {
  age::Profile profile;
  age::Until until;
  std::uint64_t seed = 1;
  const allocator::Policy* policy = nullptr;
  std::vector<std::string> settings;  // tunables, each as NAME=VALUE
  age::Writing writing = age::Writing::delayed;
  std::uint32_t pid = 0;              // the writer's pid
  std::vector<std::uint32_t> inodes;  // inodes for the files; empty: inodes spread over the disk
  // Operations to perform (age::ListedWorkload), and their source. If set, profile, age and seed
  // are ignored, and ageing continues with the next operation after a request that found no space.
  std::optional<std::string> operations;
  std::string operations_from;
};

// The initial space of a file system, for the object that draws operations.
[[nodiscard]] age::AgeingWorkloadOptions space_to_age(const results::Outcome& start);

// Whether the policy's kernel uses large folios, as ext4 does since 6.16.
[[nodiscard]] bool has_large_folios(const allocator::Policy& policy);

// Inodes for files, spread over the flex groups as if the files were in many directories.
[[nodiscard]] std::vector<std::uint32_t> spread_inodes(const image::SuperblockInfo& superblock,
                                                       const Geometry& geometry);

// Fails for a file system that ageing does not support: files with indirect blocks, damaged groups.
[[nodiscard]] Status check_shape(const image::Image& image, const std::string& name);

// The ageing of one file system.
class Ageing {
 public:
  // `image` is the file system at the start. A kernel's code opens it again under `path`. Errors: a
  // file system that ageing does not support (files with indirect blocks, damaged groups); an
  // invalid setting; too little room for the utilisation; a kernel that does not start.
  [[nodiscard]] static Result<std::unique_ptr<Ageing>> begin(const image::Image& image,
                                                             const std::string& path,
                                                             const std::string& name,
                                                             AgeingOptions options);

  // Performs the whole ageing. Calls `each`, which may be empty, for every operation. Warns if
  // there are too few inodes. Errors: the file system is full; the decider failed.
  [[nodiscard]] Status run(const Listener& listener,
                           const std::function<void(const age::Operation&)>& each);

  // The file system before and after run().
  [[nodiscard]] const results::Outcome& start() const { return start_; }
  [[nodiscard]] const results::Outcome& outcome() const { return outcome_; }
  // The group's bitmap, with one bit per cluster, set if the cluster is in use. Valid until the
  // next call.
  [[nodiscard]] std::span<const std::uint64_t> bitmap(GroupNumber group);

 private:
  Ageing(state::Source source, AgeingOptions options)
      : source_(std::move(source)), options_(std::move(options)) {}

  const state::Source source_;
  AgeingOptions options_;
  std::uint32_t slots_ = 0;
  std::unique_ptr<allocator::Decider> decider_;
  std::unique_ptr<age::Drawing> workload_;
  std::unique_ptr<age::Ager> ager_;
  results::Outcome start_, outcome_;
  std::vector<std::uint64_t> words_;
};

}  // namespace e4r::app
