// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/journal.h"

#include "lazyinit/ext2_over_target.h"

namespace e4r::lazyinit {
namespace {

struct JournalBlocks {
  std::uint64_t blocks = 0;  // in the file system
  std::uint64_t block_size = 0;
  std::vector<ByteRange> ranges;
  bool is_foreign = false;

  void add(std::uint64_t block) {
    const ByteRange one{block * block_size, block_size};
    if (!ranges.empty() && ranges.back().end() == one.offset)
      ranges.back().length += one.length;
    else
      ranges.push_back(one);
  }
};

int see_block(ext2_filsys, blk64_t* block, e2_blkcnt_t index, blk64_t, int, void* to) {
  auto& journal = *static_cast<JournalBlocks*>(to);
  journal.is_foreign = *block == 0 || *block >= journal.blocks;
  if (journal.is_foreign) return BLOCK_ABORT;
  if (index > 0) journal.add(*block);
  return 0;
}

}  // namespace

Result<std::vector<ByteRange>> journal_ranges(Target& target) {
  E4R_TRY(const auto over, Ext2OverTarget::open(target));
  ext2_filsys fs = over->fs();
  ext2_inode inode = {};
  E4R_CHECK(over->checked(ext2fs_read_inode(fs, EXT2_JOURNAL_INO, &inode), "read its journal"));
  JournalBlocks journal{ext2fs_blocks_count(fs->super), fs->blocksize, {}, false};
  if (inode.i_links_count == 0 || EXT2_I_SIZE(&inode) == 0) return journal.ranges;
  const errcode_t code =
      ext2fs_block_iterate3(fs, EXT2_JOURNAL_INO, BLOCK_FLAG_DATA_ONLY | BLOCK_FLAG_READ_ONLY,
                            nullptr, see_block, &journal);
  E4R_CHECK(over->checked(code, "read its journal"));
  if (journal.is_foreign)
    return error("{}: its journal, inode {}, is damaged: run e2fsck -f {}", target.path(),
                 EXT2_JOURNAL_INO, target.path());
  return journal.ranges;
}

}  // namespace e4r::lazyinit
