// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stress.h"

// A thread that stores to and loads from mappings of the files. It uses only the pages that no
// direct write touches (Model::keep_for_mappings).
namespace dio {

class Mapper {
 public:
  Mapper(Stress& stress, std::uint32_t owner);
  void run(std::uint64_t ops);

 private:
  // The pages of one file that are reserved for mappings.
  class Mapping {
   public:
    explicit Mapping(const Target& target);
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    [[nodiscard]] char* at(std::uint32_t sector) const {
      return memory_ + (sector - first_) * kSector;
    }
    [[nodiscard]] const Target& target() const { return target_; }
    // Flushes whole pages to the disk (msync).
    [[nodiscard]] long sync(std::uint32_t first, std::uint32_t count) const;

   private:
    const Target& target_;
    std::uint32_t first_;
    std::size_t bytes_;
    char* memory_;
  };

  void one_op(lab::Rng& rng);
  void store(lab::Rng& rng, const Mapping& mapping);
  void load(lab::Rng& rng, const Mapping& mapping);

  Stress& stress_;
  std::uint32_t owner_;
  lab::Buffer buffer_;
  std::vector<std::unique_ptr<Mapping>> mappings_;
};

}  // namespace dio
