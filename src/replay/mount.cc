// SPDX-License-Identifier: GPL-2.0-or-later
#include "replay/mount.h"

namespace e4r::replay {
namespace {

// EXT4_DEFM_*, fs/ext4/ext4.h
constexpr std::uint32_t kJournalMode = 0x0060;
constexpr std::uint32_t kWriteback = 0x0060;
constexpr std::uint32_t kDiscard = 0x0400;

void apply(std::string_view word, MountFacts& facts) {
  if (word.starts_with("data="))
    facts.data_writeback = word == "data=writeback";
  else if (word == "discard" || word == "nodiscard")
    facts.discard = word == "discard";
}

}  // namespace

MountFacts read_mount(std::string_view noted, std::uint32_t default_options) {
  MountFacts facts;
  facts.data_writeback = (default_options & kJournalMode) == kWriteback;
  facts.discard = (default_options & kDiscard) != 0;
  constexpr std::string_view kType = " ext4 ";
  const auto type = noted.find(kType);
  if (type == std::string_view::npos) return facts;
  std::string_view options = noted.substr(type + kType.size());
  options = options.substr(0, options.find_first_of(" \n"));
  while (!options.empty()) {
    const auto end = options.find(',');
    apply(options.substr(0, end), facts);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
  }
  return facts;
}

}  // namespace e4r::replay
