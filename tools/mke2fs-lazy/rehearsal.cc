// SPDX-License-Identifier: GPL-2.0-or-later
#include "mke2fs-lazy/rehearsal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/child.h"
#include "lazyinit/target.h"
#include "lazyinit/unreadable.h"
#include "util/fd.h"
#include "util/units.h"

namespace e4r::tools {
namespace {

using lazyinit::MkfsOptions;
using lazyinit::Target;

// What mke2fs derives from a device, and cannot derive from a file.
struct Derived {
  std::uint64_t block_size = 0;
  std::uint64_t stride = 0, stripe_width = 0;  // in blocks; 0 if not given
};

// The number behind the first `label` in the text; 0 if there is no such number.
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

  // Files are copied block by block, to places that the rehearsal does not show.
  [[nodiscard]] Status check_root() const {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (!options_.root_at || derived_.block_size >= page) return {};
    return error(
        "-d and write_unreadable need blocks of a page, and these have {} bytes: give -b {}",
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
  // mke2fs opens the device exclusively, so this program must not hold it open meanwhile.
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

}  // namespace e4r::tools
