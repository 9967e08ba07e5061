// SPDX-License-Identifier: GPL-2.0-or-later
#include "util/elf.h"

#include <elf.h>

#include <cstring>

namespace e4r {

bool is_cut_elf(std::string_view bytes) {
  if (!bytes.starts_with(ELFMAG)) return false;
  if (bytes.size() > EI_CLASS && bytes[EI_CLASS] != ELFCLASS64) return false;
  Elf64_Ehdr head;
  if (bytes.size() < sizeof(head)) return true;
  std::memcpy(&head, bytes.data(), sizeof(head));
  // Whether [from, from + size) leaves the file.
  const auto leaves = [&](std::uint64_t from, std::uint64_t size) {
    return from > bytes.size() || size > bytes.size() - from;
  };
  if (leaves(head.e_phoff, std::uint64_t{head.e_phnum} * sizeof(Elf64_Phdr))) return true;
  for (std::uint64_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + head.e_phoff + i * sizeof(segment), sizeof(segment));
    if (leaves(segment.p_offset, segment.p_filesz)) return true;
  }
  return false;
}

}  // namespace e4r
