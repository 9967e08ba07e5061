// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/offset_target.h"

#include "lazyinit/target_over.h"

namespace e4r::lazyinit {
namespace {

class OffsetTarget final : public TargetOver {
 public:
  OffsetTarget(std::unique_ptr<Target> file, const Place& place)
      : TargetOver(std::move(file)), offset_(place.offset), path_(name_of(place)) {}

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::uint64_t size() const override { return below().size() - offset_; }
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    E4R_CHECK(check_range(offset, bytes.size()));
    return below().read(offset + offset_, bytes);
  }
  [[nodiscard]] Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    E4R_CHECK(check_range(offset, bytes.size()));
    return below().write(offset + offset_, bytes);
  }
  using Target::zero;
  [[nodiscard]] Result<Zeroed> zero(std::uint64_t offset, std::uint64_t length,
                                    ZeroBy by) override {
    E4R_CHECK(check_range(offset, length));
    return below().zero(offset + offset_, length, by);
  }
  [[nodiscard]] Result<Probed> probe(std::uint64_t offset, std::uint64_t length) override {
    E4R_CHECK(check_range(offset, length));
    E4R_TRY(Probed probed, below().probe(offset + offset_, length));
    if (probed.content != Content::zeros) probed.first -= offset_;
    return probed;
  }

 private:
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
