// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "stress.h"

// Sectors that null_blk refuses to read and write, set by its attribute "badblocks" in configfs.
namespace dio {

class BadSectors {
 public:
  // The attribute's path.
  explicit BadSectors(std::string attribute) : attribute_(std::move(attribute)) {}
  // Makes some of the file's sectors bad on the disk and in the file's model. Until clear(), the
  // file must keep the blocks of these sectors, so nothing may be truncated or punched.
  void choose(const Target& target, lab::Rng& rng);
  void clear();

 private:
  // A range of the disk, in sectors.
  struct Place {
    std::uint64_t first, last;
  };
  void tell(char sign, const Place& place) const;

  std::string attribute_;
  std::vector<Place> places_;
  std::vector<Model*> models_;
};

}  // namespace dio
