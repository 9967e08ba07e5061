// SPDX-License-Identifier: GPL-2.0-or-later
#include "mke2fs-lazy/rehearsal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "common/child.h"
#include "lazyinit/mkfs.h"
#include "lazyinit/target.h"
#include "util/fd.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using lazyinit::MkfsOptions;
using lazyinit::MkfsOutcome;
using lazyinit::TableInit;

std::string tables_line(const MkfsOutcome& o) {
  std::string text = fmt::format("{} groups: {} tables zeroed, {} found zero, {} lazy",
                                 format_count(o.groups), format_count(o.zeroing.zeroed),
                                 format_count(o.zeroing.found_zero), format_count(o.lazy));
  if (o.believed != 0) text += fmt::format(", {} assumed to be zero", format_count(o.believed));
  if (o.zeroing.unreadable != 0)
    text +=
        fmt::format("; {} could not be read, and were zeroed", format_count(o.zeroing.unreadable));
  return text;
}

std::string sample_line(const MkfsOptions& options, const MkfsOutcome& o) {
  const lazyinit::Checked& c = o.checked;
  if (options.verify_all || c.blocks == c.blocks_total)
    return fmt::format("verified: all {} blocks read as zeros", format_count(c.blocks));
  return fmt::format("verified: a sample of {} blocks of {} reads as zeros (seed {})",
                     format_count(c.blocks), format_count(c.blocks_total), o.seed);
}

std::string tables_bytes(const MkfsOutcome& o) {
  return fmt::format(
      "{} of inode tables: {} written, {} zeroed by the storage, {} avoided, {} left for later",
      format_size(o.table_bytes), format_size(o.zeroing.bytes_written),
      format_size(o.zeroing.bytes_zeroed), format_size(o.table_bytes_avoided),
      format_size(o.table_bytes_later));
}

std::string journal_bytes(const MkfsOutcome& o) {
  return fmt::format("{} of journal: {} written, {} zeroed by the storage, {} avoided",
                     format_size(o.journal_bytes), format_size(o.journal_written),
                     format_size(o.journal_zeroed), format_size(o.journal_avoided));
}

}  // namespace

std::string mkfs_summary(const MkfsOptions& options, const MkfsOutcome& outcome,
                         const FinishedFile& place) {
  std::string text;
  const auto line = [&text](const std::string& words) {
    text += "mke2fs-lazy: " + escape(words) + "\n";
  };
  if (options.changes_tables() && outcome.group_checksums) {
    line("done by mke2fs-lazy");
    line(tables_line(outcome));
    if (outcome.believed != 0) line(sample_line(options, outcome));
    line(tables_bytes(outcome));
  }
  if (outcome.journal_bytes != 0) line(journal_bytes(outcome));
  if (options.init_itable) line("mount options in the superblock: " + options.init_itable->text());
  if (!place.device)
    line(fmt::format("{} allocated of the {} of {}", format_size(place.allocated),
                     format_size(place.size), place.path));
  const bool sparse = !place.device && place.allocated < outcome.table_bytes;
  if (outcome.lazy != 0 && options.init == TableInit::lazy && sparse)
    line("holes of the file read as zeros: itable_init=probe would mark their tables at no cost");
  return text;
}

namespace {

using lazyinit::Target;

// Values that mke2fs derives from a device, but cannot derive from a file.
struct Derived {
  std::uint64_t block_size = 0;
  std::uint64_t stride = 0, stripe_width = 0;  // in blocks; 0 if not given
};

// The number after the first `label` in the text; 0 if there is no such number.
std::uint64_t number_behind(const std::string& text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + label.size();
  const std::size_t end = text.find_first_not_of("0123456789", begin);
  const auto number = parse_u64(std::string_view(text).substr(begin, end - begin));
  return number.ok() ? *number : 0;
}

std::string last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('\n') + 1));
}

class Rehearsal {
 public:
  Rehearsal(const std::string& mke2fs, std::string name, const MkfsOptions& options)
      : mke2fs_(mke2fs), name_(std::move(name)), options_(options) {}

  Result<std::vector<lazyinit::ByteRange>> pages(std::uint64_t size) {
    E4R_TRY(const Captured planned,
            run_captured(mke2fs_, command({"-n", "-v", "-F"}, options_.arguments)));
    if (planned.status != 0) return std::vector<lazyinit::ByteRange>();
    derived_ = {number_behind(planned.text, "Block size="), number_behind(planned.text, "Stride="),
                number_behind(planned.text, "Stripe width=")};
    if (derived_.block_size == 0)
      return error("{} -n -v does not say the block size, which write_unreadable needs", mke2fs_);
    E4R_CHECK(check_root());
    const Fd memory = memory_file("mke2fs-lazy", size);
    if (!memory.is_open()) return error("cannot rehearse mke2fs in memory: {}", errno_text(errno));
    const std::string image = fmt::format("/proc/{}/fd/{}", ::getpid(), memory.get());
    E4R_TRY(const Captured made, run_captured(mke2fs_, command({"-F"}, on_image(image))));
    if (made.status != 0)
      return error(
          "mke2fs failed on a file in memory of the size of {}, and nothing was written: {}",
          options_.device, last_line(made.text));
    return lazyinit::pages_of_rehearsal(image, options_.offset, options_.root_at.has_value());
  }

  [[nodiscard]] std::uint64_t block_size() const { return derived_.block_size; }

 private:
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> first,
                                                 const std::vector<std::string>& rest) const {
    first.insert(first.begin(), name_);
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  }

  // With -d, mke2fs copies files block by block, to places that the rehearsal does not show.
  // Writing a block that is smaller than a page needs a page that can be read.
  [[nodiscard]] Status check_root() const {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (!options_.root_at || derived_.block_size >= page) return {};
    return error(
        "-d and write_unreadable need blocks as large as a page, but these have {} bytes: give -b "
        "{}",
        derived_.block_size, page);
  }

  [[nodiscard]] std::vector<std::string> on_image(const std::string& image) const {
    std::vector<std::string> words = options_.arguments;
    std::string& keys = words.at(options_.extended.value());
    if (derived_.stride != 0) keys += fmt::format(",stride={}", derived_.stride);
    if (derived_.stripe_width != 0) keys += fmt::format(",stripe_width={}", derived_.stripe_width);
    keys += ",lazy_journal_init=1";
    words.at(options_.device_at.value()) = image;
    const auto at = [&words](std::size_t index) {
      return words.begin() + static_cast<std::ptrdiff_t>(index);
    };
    words.insert(at(options_.options_end), {"-b", std::to_string(derived_.block_size)});
    if (options_.root_at) words.erase(at(*options_.root_at - 1), at(*options_.root_at + 1));
    return words;
  }

  const std::string& mke2fs_;
  const std::string name_;
  const MkfsOptions& options_;
  Derived derived_;
};

}  // namespace

Result<MadeReadable> make_readable(const std::string& mke2fs, const std::string& name,
                                   const MkfsOptions& options) {
  struct stat st = {};
  const bool is_there = options.device_at && ::stat(options.device.c_str(), &st) == 0 &&
                        (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
  if (!is_there) return MadeReadable();
  // mke2fs opens the device exclusively, so this program must close it before mke2fs runs.
  std::uint64_t size = 0;
  {
    E4R_TRY(const std::unique_ptr<Target> target,
            Target::open(options.device, Target::Access::read));
    size = target->size();
  }
  Rehearsal rehearsal(mke2fs, name, options);
  E4R_TRY(const auto pages, rehearsal.pages(size));
  E4R_TRY(const std::unique_ptr<Target> target,
          Target::open(options.device, Target::Access::write));
  E4R_TRY(const std::uint64_t written, lazyinit::write_unreadable(*target, pages));
  return MadeReadable{written, rehearsal.block_size()};
}

namespace {

constexpr const char* kDirectory = "E2FSPROGS_UNDO_DIR";

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string configured_directory() {
  const char* named = std::getenv("MKE2FS_CONFIG");
  const auto text = read_file(named != nullptr ? named : "/etc/mke2fs.conf");
  return (text.ok() ? undo_dir_in(*text) : std::nullopt).value_or("/var/lib/e2fsprogs");
}

std::string directory() {
  if (const char* given = std::getenv(kDirectory); given != nullptr) return given;
  std::string found = configured_directory();
  ::setenv(kDirectory, found.c_str(), 1);
  return found;
}

}  // namespace

std::optional<std::string> undo_dir_in(const std::string& text) {
  std::istringstream lines(text);
  bool in_defaults = false;
  for (std::string line; std::getline(lines, line);) {
    const std::string_view words = trim(line);
    if (words.starts_with('[')) {
      in_defaults = words.starts_with("[defaults]");
      continue;
    }
    const std::size_t equals = words.find('=');
    if (!in_defaults || equals == std::string_view::npos) continue;
    if (trim(words.substr(0, equals)) != "undo_dir") continue;
    std::string_view value = trim(words.substr(equals + 1));
    if (value.starts_with('"')) {
      value.remove_prefix(1);
      value = value.substr(0, value.find('"'));
    }
    return std::string(value);
  }
  return std::nullopt;
}

UndoFile::UndoFile(const lazyinit::MkfsOptions& options) : path_(options.undo_file) {
  if (path_.empty()) {
    const std::string place = directory();
    if (place.empty() || place == "none" || ::access(place.c_str(), W_OK) != 0) return;
    const std::string& device = options.device;
    path_ = place + "/mke2fs-" + device.substr(device.find_last_of('/') + 1) + ".e2undo";
  }
  before_ = look();
}

bool UndoFile::Identity::same_as(const Identity& other) const {
  return inode == other.inode && changed.tv_sec == other.changed.tv_sec &&
         changed.tv_nsec == other.changed.tv_nsec;
}

std::optional<UndoFile::Identity> UndoFile::look() const {
  struct stat st = {};
  if (path_.empty() || ::stat(path_.c_str(), &st) != 0) return std::nullopt;
  return Identity{st.st_ino, st.st_ctim};
}

std::optional<std::string> UndoFile::made() const {
  const auto now = look();
  if (!now || (before_ && before_->same_as(*now))) return std::nullopt;
  return path_;
}

}  // namespace e4r::tools
