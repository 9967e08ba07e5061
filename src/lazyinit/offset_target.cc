// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/offset_target.h"

#include <algorithm>

namespace e4r::lazyinit {
namespace {

class OffsetTarget final : public Target {
 public:
  OffsetTarget(std::unique_ptr<Target> file, const Place& place)
      : file_(std::move(file)), offset_(place.offset), path_(name_of(place)) {}

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return file_->size() - offset_; }
  [[nodiscard]] bool is_block_device() const override { return file_->is_block_device(); }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    E4R_CHECK(check(offset, bytes.size()));
    return file_->read(offset + offset_, bytes);
  }
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    E4R_CHECK(check(offset, bytes.size()));
    return file_->write(offset + offset_, bytes);
  }
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                    ZeroBy by) override {
    E4R_CHECK(check(offset, length));
    return file_->zero(offset + offset_, length, by);
  }
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override {
    E4R_CHECK(check(offset, length));
    E4R_TRY(Probed probed, file_->probe(offset + offset_, length));
    if (probed.content != Content::zeros) probed.first -= offset_;
    return probed;
  }
  [[nodiscard]] Status sync() override { return file_->sync(); }
  [[nodiscard]] Result<std::uint64_t> allocated() override { return file_->allocated(); }

 private:
  // The sum of offsets must not wrap around to a place in the file.
  [[nodiscard]] Status check(std::uint64_t offset, std::uint64_t length) const {
    if (offset <= size() && length <= size() - offset) return {};
    return error("{}: {} bytes at {} lie past the end at {}", path_, length, offset, size());
  }

  std::unique_ptr<Target> file_;
  std::uint64_t offset_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Target>> behind_offset(std::unique_ptr<Target> file, const Place& place) {
  if (place.offset == 0) return file;
  if (place.offset >= file->size())
    return error("{}: the file ends at {}", name_of(place), file->size());
  return std::unique_ptr<Target>(new OffsetTarget(std::move(file), place));
}

}  // namespace e4r::lazyinit
