// SPDX-License-Identifier: GPL-2.0-or-later
#include "image/paths.h"

#include <boost/unordered/unordered_flat_set.hpp>
#include <vector>

namespace e4r::image {
namespace {

// From the root down, each directory once, however directories refer to each other.
class Walk {
 public:
  Walk(ext2_filsys fs, const std::set<std::uint64_t>& wanted) : fs_(fs), wanted_(wanted) {
    visit(EXT2_ROOT_INO, 0, {});
  }

  FoundPaths run() {
    while (at_ < directories_.size() && found_.paths.size() < wanted_.size()) {
      const errcode_t code =
          ext2fs_dir_iterate2(fs_, directories_[at_].ino, 0, nullptr, &Walk::on_entry, this);
      // Without the feature filetype, whatever has a name may be a directory.
      if (code != 0 && code != EXT2_ET_NO_DIRECTORY) ++found_.unreadable;
      if (code == EXT2_ET_NO_DIRECTORY && at_ == 0) found_.has_inodes = false;
      ++at_;
    }
    return std::move(found_);
  }

 private:
  struct Directory {
    ext2_ino_t ino = 0;
    std::size_t parent = 0;  // among directories_
    std::string name;
  };

  static int on_entry(ext2_ino_t, int entry, ext2_dir_entry* dirent, int, int, char*, void* walk) {
    if (entry != DIRENT_OTHER_FILE) return 0;
    return static_cast<Walk*>(walk)->add(*dirent) ? 0 : DIRENT_ABORT;
  }

  // False when there is nothing more to find.
  bool add(ext2_dir_entry& dirent) {
    const ext2_ino_t ino = dirent.inode;
    if (ino == 0 || ino > fs_->super->s_inodes_count) return true;
    std::string name(dirent.name, static_cast<std::size_t>(ext2fs_dirent_name_len(&dirent)));
    if (wanted_.contains(ino)) found_.paths.try_emplace(ino, path_of(at_) + "/" + name);
    const int type = ext2fs_dirent_file_type(&dirent);
    if (type == EXT2_FT_DIR || type == EXT2_FT_UNKNOWN) visit(ino, at_, std::move(name));
    return found_.paths.size() < wanted_.size();
  }

  void visit(ext2_ino_t ino, std::size_t parent, std::string name) {
    if (seen_.insert(ino).second) directories_.push_back({ino, parent, std::move(name)});
  }

  [[nodiscard]] std::string path_of(std::size_t directory) const {
    std::string out;
    for (; directory != 0; directory = directories_[directory].parent)
      out.insert(0, "/" + directories_[directory].name);
    return out;
  }

  ext2_filsys fs_;
  const std::set<std::uint64_t>& wanted_;
  std::vector<Directory> directories_;
  boost::unordered_flat_set<ext2_ino_t> seen_;
  std::size_t at_ = 0;
  FoundPaths found_;
};

}  // namespace

FoundPaths find_paths(ext2_filsys fs, const std::set<std::uint64_t>& wanted) {
  return Walk(fs, wanted).run();
}

}  // namespace e4r::image
