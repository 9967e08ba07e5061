// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/lazy_images.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "support/ext2_handle.h"
#include "support/ext2_images.h"
#include "support/process.h"
#include "support/raw_file.h"
#include "support/sizes.h"
#include "support/temp_dir.h"
#include "util/rng.h"

namespace e4r::test {
namespace {

// Finds and reads the data of a sparse file.
class SparseFile {
 public:
  explicit SparseFile(const std::string& path)
      : size_(std::filesystem::file_size(path)), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("cannot open " + path);
  }
  ~SparseFile() { ::close(fd_); }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Returns the first byte at or after `offset` that may be nonzero, or a huge offset if there is
  // none.
  [[nodiscard]] std::uint64_t next(std::uint64_t offset) const {
    const off_t at = ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
    if (at >= 0) return static_cast<std::uint64_t>(at);
    return errno == ENXIO ? ~std::uint64_t{0} : offset;
  }
  // Returns the end of the data at `offset`.
  [[nodiscard]] std::uint64_t next_hole(std::uint64_t offset) const {
    const off_t at = ::lseek(fd_, static_cast<off_t>(offset), SEEK_HOLE);
    return at >= 0 ? static_cast<std::uint64_t>(at) : size_;
  }
  // Returns the bytes from `offset` on: `most`, or fewer at the end of the file.
  [[nodiscard]] Bytes read(std::uint64_t offset, std::uint64_t most) const {
    Bytes bytes(std::min(most, size_ - offset));
    if (::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(bytes.size()))
      throw std::runtime_error("short read");
    return bytes;
  }

 private:
  std::uint64_t size_;
  int fd_;
};

Shape small_inodes(const char* name, const char* inode_size, const char* features) {
  return {name, 80 * kMiB, {"-t", "ext4", "-b", "1024", "-I", inode_size, "-O", features}};
}

std::vector<Shape> all_shapes() {
  std::vector<Shape> all = shapes();
  all.push_back(small_inodes("inode_128", "128", "^has_journal"));
  all.push_back(small_inodes("inode_512", "512", "^has_journal"));
  all.push_back(small_inodes("inode_1024_uninit_bg", "1024", "^metadata_csum,uninit_bg"));
  all.push_back({"orphan_file", 64 * kMiB, {"-t", "ext4", "-b", "1024", "-O", "orphan_file"}});
  all.push_back({"few_inodes", 64 * kMiB, {"-t", "ext4", "-b", "1024", "-N", "128"}});
  all.push_back({"uninit_bg_64bit",
                 200 * kMiB,
                 {"-t", "ext4", "-b", "2048", "-O", "^metadata_csum,uninit_bg,64bit"}});
  return all;
}

// Runs debugfs to make files in two directories and to remove every third file of the first one.
void populate(const std::string& path, std::size_t file_bytes) {
  const TempDir dir;
  std::ofstream(dir.file("data")) << std::string(file_bytes, 'd');
  {
    std::ofstream commands(dir.file("commands"));
    commands << "mkdir one\nmkdir two\nmkdir one/deep\n";
    for (int i = 0; i < 12; ++i)
      commands << "write " << dir.file("data") << " one/f" << i << "\n"
               << "write " << dir.file("data") << " two/g" << i << "\n";
    for (int i = 0; i < 12; i += 3) commands << "rm one/f" << i << "\n";
    commands << "rm two/g11\n";
  }
  const Outcome done = run({"debugfs", "-w", "-f", dir.file("commands"), path});
  if (done.status != 0) throw std::runtime_error("debugfs: " + done.err);
}

std::uint32_t last_used(ext2_filsys fs, dgrp_t group) {
  const std::uint32_t inodes = fs->super->s_inodes_per_group;
  for (std::uint32_t i = inodes; i > 0; --i)
    if (ext2fs_test_inode_bitmap2(fs->inode_map, group * inodes + i)) return i;
  return 0;
}

// Returns an inode of an empty regular file that e2fsck accepts.
std::vector<unsigned char> stale_inode(std::uint32_t size, std::uint32_t number) {
  ext2_inode_large inode = {};
  inode.i_mode = 0100644;
  inode.i_links_count = 1;
  inode.i_atime = inode.i_ctime = inode.i_mtime = 1000000000 + number;
  std::vector<unsigned char> bytes(size);
  std::memcpy(bytes.data(), &inode, 128);
  if (size > 128) bytes[128] = 32;  // i_extra_isize
  return bytes;
}

}  // namespace

const std::vector<Shape>& lazy_shapes() {
  static const std::vector<Shape> kShapes = all_shapes();
  return kShapes;
}

const Shape& lazy_shape(const std::string& name) {
  for (const Shape& shape : lazy_shapes())
    if (name == shape.name) return shape;
  throw std::runtime_error("no shape " + name);
}

// Each image is made once and then copied, because dozens of cases take the same ones.
void make_lazy_image(const std::string& path, const Shape& shape, std::size_t file_bytes) {
  static const TempDir kMade;
  const std::string made = kMade.file(shape.name + ("-" + std::to_string(file_bytes)));
  if (!std::filesystem::exists(made)) {
    std::vector<std::string> options = shape.options;
    options.insert(options.end(), {"-E", "lazy_itable_init=1,nodiscard"});
    make_image(path, shape.bytes, options);
    populate(path, file_bytes);
    copy_sparse(path, made);
  } else {
    copy_sparse(made, path);
  }
}

std::vector<ReferenceGroup> reference_groups(const std::string& path) {
  const Ext2Handle fs = open_ext2(path, 0);
  must(ext2fs_read_inode_bitmap(fs.get()), "inode bitmap");
  const std::uint64_t block = fs->blocksize;
  const std::uint64_t inode_size = EXT2_INODE_SIZE(fs->super);
  std::vector<ReferenceGroup> groups;
  for (dgrp_t i = 0; i < fs->group_desc_count; ++i) {
    ReferenceGroup group;
    group.table = ext2fs_inode_table_loc(fs.get(), i) * block;
    group.table_length = fs->inode_blocks_per_group * block;
    group.flags = ext2fs_bg_flags(fs.get(), i);
    group.unused = ext2fs_bg_itable_unused(fs.get(), i);
    group.free_inodes = ext2fs_bg_free_inodes_count(fs.get(), i);
    group.checksum_ok = ext2fs_group_desc_csum_verify(fs.get(), i) != 0;
    const bool checksums = ext2fs_has_group_desc_csum(fs.get()) != 0;
    std::uint64_t used = fs->super->s_inodes_per_group - (checksums ? group.unused : 0);
    if (checksums && (group.flags & EXT2_BG_INODE_UNINIT) != 0) used = 0;
    group.used_bytes = used * inode_size;
    group.used_part = (used * inode_size + block - 1) / block * block;
    group.last_used = last_used(fs.get(), i);
    groups.push_back(group);
  }
  return groups;
}

std::vector<Bytes64> reference_descriptor_blocks(const std::string& path) {
  const Ext2Handle fs = open_ext2(path, 0);
  std::vector<Bytes64> all = {{1024, 2048}};
  const blk64_t super = fs->super->s_first_data_block;
  for (unsigned i = 0; i < fs->desc_blocks; ++i) {
    const std::uint64_t at =
        ext2fs_descriptor_block_loc2(fs.get(), super, static_cast<dgrp_t>(i)) * fs->blocksize;
    all.push_back({at, at + fs->blocksize});
  }
  return all;
}

std::vector<DescriptorCopy> reference_descriptor_copies(const std::string& path) {
  const Ext2Handle fs = open_ext2(path, 0);
  const std::uint32_t in_block = EXT2_DESC_PER_BLOCK(fs->super);
  const bool meta_bg = ext2fs_has_feature_meta_bg(fs->super) != 0;
  const std::uint32_t in_a_row = meta_bg ? fs->super->s_first_meta_bg : fs->desc_blocks;
  std::vector<DescriptorCopy> all;
  const auto add = [&](blk64_t block, std::uint32_t index) {
    DescriptorCopy copy;
    copy.bytes = {block * fs->blocksize, (block + 1) * fs->blocksize};
    copy.first_group = index * in_block;
    const Bytes bytes = read_at(path, copy.bytes.offset, fs->blocksize);
    for (std::uint32_t i = 0; i < in_block && copy.first_group + i < fs->group_desc_count; ++i) {
      const std::size_t at =
          std::size_t{i} * EXT2_DESC_SIZE(fs->super) + offsetof(ext4_group_desc, bg_flags);
      copy.flags.push_back(bytes[at] + bytes[at + 1] * 256u);
    }
    all.push_back(copy);
  };
  for (dgrp_t group = 1; group < fs->group_desc_count; ++group) {
    blk64_t super = 0, old_blocks = 0, new_block = 0;
    ext2fs_super_and_bgd_loc2(fs.get(), group, &super, &old_blocks, &new_block, nullptr);
    for (std::uint32_t index = 0; old_blocks != 0 && index < in_a_row; ++index)
      add(old_blocks + index, index);
    if (new_block != 0 && group % in_block != 0) add(new_block, group / in_block);
  }
  return all;
}

void fill_unused(const std::string& path, FillFrom from, FillWith with) {
  Rng rng(1);
  const std::uint32_t inode_size = [&] {
    const Ext2Handle fs = open_ext2(path, 0);
    return static_cast<std::uint32_t>(EXT2_INODE_SIZE(fs->super));
  }();
  for (const ReferenceGroup& group : reference_groups(path)) {
    Bytes bytes;
    const std::uint64_t start =
        from == FillFrom::first_unused_block ? group.used_part : group.used_bytes;
    for (std::uint64_t at = start; at < group.table_length; at += inode_size) {
      Bytes inode = stale_inode(inode_size, static_cast<std::uint32_t>(at / inode_size));
      if (with == FillWith::random)
        for (unsigned char& byte : inode) byte = static_cast<unsigned char>(rng.next());
      bytes.insert(bytes.end(), inode.begin(), inode.end());
    }
    if (!bytes.empty()) write_at(path, group.table + start, bytes);
  }
}

std::vector<std::uint32_t> groups_not_zero(const std::string& path) {
  std::vector<std::uint32_t> found;
  const auto groups = reference_groups(path);
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const Bytes bytes =
        read_at(path, groups[i].table + groups[i].used_part,
                static_cast<std::size_t>(groups[i].table_length - groups[i].used_part));
    if (std::any_of(bytes.begin(), bytes.end(), [](unsigned char b) { return b != 0; }))
      found.push_back(i);
  }
  return found;
}

void copy_sparse(const std::string& from, const std::string& to) {
  constexpr std::uint64_t kPiece = 1u << 20;
  const SparseFile source(from);
  std::ofstream(to, std::ios::trunc).close();
  std::filesystem::resize_file(to, source.size());
  for (std::uint64_t at = source.next(0); at < source.size(); at = source.next(at))
    for (const std::uint64_t end = source.next_hole(at); at < end;) {
      const Bytes piece = source.read(at, std::min(kPiece, end - at));
      write_at(to, at, piece);
      at += piece.size();
    }
}

std::uint64_t fingerprint(const std::string& path) {
  constexpr std::uint64_t kPage = 4096;
  constexpr std::uint64_t kPiece = 64 * kPage;
  const SparseFile file(path);
  std::uint64_t sum = file.size();
  for (std::uint64_t at = file.next(0); at < file.size(); at = file.next(at)) {
    at = at / kPiece * kPiece;
    const Bytes piece = file.read(at, kPiece);
    const std::string_view text(reinterpret_cast<const char*>(piece.data()), piece.size());
    for (std::size_t i = 0; i < text.size(); i += kPage) {
      const std::string_view page = text.substr(i, kPage);
      if (page.find_first_not_of('\0') == page.npos) continue;
      sum = sum * 31 + (std::hash<std::string_view>()(page) ^ (at + i));
    }
    at += kPiece;
  }
  return sum;
}

std::vector<std::uint64_t> changed_blocks(const std::string& a, const std::string& b) {
  constexpr std::size_t kBlock = 1024;
  constexpr std::size_t kPiece = 256 * kBlock;
  const SparseFile data_a(a);
  const SparseFile data_b(b);
  const std::uint64_t size = data_a.size();
  if (size != data_b.size()) throw std::runtime_error("sizes differ");
  std::vector<std::uint64_t> changed;
  for (std::uint64_t at = 0; at < size; at += kPiece) {
    at = std::min(data_a.next(at), data_b.next(at)) / kPiece * kPiece;
    if (at >= size) break;
    const Bytes x = data_a.read(at, kPiece);
    const Bytes y = data_b.read(at, kPiece);
    if (x == y) continue;
    for (std::size_t i = 0; i < x.size(); i += kBlock)
      if (std::memcmp(&x[i], &y[i], std::min(kBlock, x.size() - i)) != 0) changed.push_back(at + i);
  }
  return changed;
}

Fsck fsck(const std::string& path) {
  const Outcome outcome = run({"e2fsck", "-fn", path});
  return {outcome.status, outcome.out};
}

}  // namespace e4r::test
