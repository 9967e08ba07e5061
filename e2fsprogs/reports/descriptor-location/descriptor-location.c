// SPDX-License-Identifier: GPL-2.0-only
// Checks whether the group descriptors of a file system are at the blocks that libext2fs computes:
//   descriptor-location IMAGE            gcc descriptor-location.c -lext2fs -lcom_err
// Exit status: 0 if all are, 1 if not, 2 for a wrong usage or environment.
#include <ext2fs/ext2fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  ext2_filsys fs;
  if (argc != 2 || ext2fs_open(argv[1], EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &fs) != 0) {
    fprintf(stderr, "descriptor-location: usage: descriptor-location IMAGE, of ext4\n");
    return 2;
  }
  char* block = malloc(fs->blocksize);
  int wrong = 0;
  for (unsigned i = 0; i < fs->desc_blocks; ++i) {
    const blk64_t place = ext2fs_descriptor_block_loc2(fs, fs->super->s_first_data_block, i);
    if (!block || io_channel_read_blk64(fs->io, place, 1, block) != 0) return 2;
    const char* descriptors = (const char*)fs->group_desc + (size_t)i * fs->blocksize;
    const int there = memcmp(block, descriptors, fs->blocksize) == 0;
    printf("descriptor block %u: in block %llu, it says; %s\n", i, (unsigned long long)place,
           there ? "there" : "NOT THERE");
    wrong |= !there;
  }
  return wrong;
}
