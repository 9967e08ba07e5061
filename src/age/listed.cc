// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/listed.h"

#include <algorithm>

#include "ext4/geometry.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::age {
namespace {

using Kind = Operation::Kind;

bool writes(Kind kind) {
  return kind == Kind::write || kind == Kind::append || kind == Kind::write_at ||
         kind == Kind::direct;
}

// How a file has been written since it was last empty.
struct File {
  enum class Writing : std::uint8_t { none, at_end, at_offsets };
  Writing writing = Writing::none;
  std::uint64_t bytes = 0;
  bool named = false;  // an operation gave it data or space
};

// Parses and checks operations in order.
class Reader {
 public:
  explicit Reader(const FileLimits& limits)
      : limits_(limits), most_bytes_(kMaxFileBlocks * limits.block_size), files_(limits.files) {}

  // Reads one operation. The Error does not name the line.
  Result<Operation> read(std::string_view line) {
    E4R_TRY(const Operation operation, parse_operation(line));
    if (operation.kind == Kind::sync) return operation;
    if (operation.slot >= limits_.files)
      return error("slot {}: only slots 0 to {} have inodes", operation.slot, limits_.files - 1);
    File& file = files_[operation.slot];
    file.named |=
        writes(operation.kind) || operation.kind == Kind::extend || operation.kind == Kind::reserve;
    switch (operation.kind) {
      case Kind::remove:
        file = {.named = file.named};
        break;
      case Kind::write:
      case Kind::append:
        E4R_CHECK(grow(operation, file));
        break;
      case Kind::flush:
      case Kind::close:
        break;
      default:
        E4R_CHECK(reach(operation, file));
    }
    return operation;
  }

  [[nodiscard]] std::uint64_t files() const {
    return static_cast<std::uint64_t>(std::ranges::count(files_, true, &File::named));
  }

 private:
  Status grow(const Operation& operation, File& file) const {
    if (file.writing == File::Writing::at_offsets)
      return error("slot {}: has been written at offsets: give an offset, or remove the file first",
                   operation.slot);
    if (operation.kind == Kind::write && file.bytes != 0)
      return error("slot {}: is not empty: append to it (a), or remove it first (r)",
                   operation.slot);
    if (operation.bytes > most_bytes_ - file.bytes) return too_large(operation);
    file.bytes += operation.bytes;
    file.writing = File::Writing::at_end;
    return {};
  }

  Status reach(const Operation& operation, File& file) const {
    if (file.writing == File::Writing::at_end)
      return error("slot {}: has been written at its end: append to it (a), or remove it first",
                   operation.slot);
    if (operation.offset > most_bytes_ || operation.bytes > most_bytes_ - operation.offset)
      return too_large(operation);
    file.writing = File::Writing::at_offsets;
    return {};
  }

  Error too_large(const Operation& operation) const {
    return error("slot {}: a file has at most {} with blocks of {}", operation.slot,
                 format_size(most_bytes_), format_size(limits_.block_size));
  }

  const FileLimits limits_;
  const std::uint64_t most_bytes_;
  std::vector<File> files_;
};

}  // namespace

Result<std::unique_ptr<Drawing>> ListedWorkload::read(std::string_view text,
                                                      const std::string& from,
                                                      const FileLimits& limits) {
  auto out = std::make_unique<ListedWorkload>();
  Reader reader(limits);
  std::uint64_t number = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    ++number;
    const auto operation = reader.read(line);
    if (!operation.ok()) return error("{}: line {}: {}", from, number, operation.error().message);
    if (writes(operation->kind) &&
        __builtin_add_overflow(out->wanted_, operation->bytes, &out->wanted_))
      return error("{}: line {}: more bytes than can be counted are written: give less to write",
                   from, number);
    out->operations_.push_back(*operation);
  }
  if (out->operations_.empty())
    return error("{}: has no operations: give a file that `age --write-operations` has written",
                 from);
  out->files_ = reader.files();
  if (out->operations_.back().kind != Kind::sync) out->operations_.emplace_back();
  return std::unique_ptr<Drawing>(std::move(out));
}

bool ListedWorkload::next(Operation& operation) {
  if (at_ == operations_.size()) return false;
  operation = operations_[at_++];
  if (writes(operation.kind)) written_ += operation.bytes;
  return true;
}

}  // namespace e4r::age
