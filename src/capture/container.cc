// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/container.h"

#include <zstd.h>

#include <algorithm>
#include <array>

#include "trace/bytes.h"
#include "util/bytes.h"

namespace e4r::capture {
namespace {

constexpr std::size_t kHeaderBytes = 12;  // magic, version, two zero bytes
// The head of a frame holds: kind, whether it is compressed, two zero bytes, stored size, plain
// size, checksum.
using trace::kFrameBytes;
constexpr std::size_t kEndBytes = 12;  // number of parts, chained checksum
constexpr int kLevel = 3;

bool is_part(char kind) {
  return kind == static_cast<char>(PartKind::text) || kind == static_cast<char>(PartKind::image) ||
         kind == static_cast<char>(PartKind::events);
}

}  // namespace

// ---- writing

Result<ContainerWriter> ContainerWriter::create(std::unique_ptr<trace::OutputFile> file,
                                                std::uint16_t version) {
  ContainerWriter out(std::move(file));
  std::array<char, kHeaderBytes> header = {};
  std::copy(kMagic.begin(), kMagic.end(), header.begin());
  put_le(&header[kMagic.size()], version);
  if (Status status = out.write({header.data(), header.size()}); !status.ok()) {
    out.abandon();
    return std::move(status).error();
  }
  return out;
}

Status ContainerWriter::write(std::string_view bytes) {
  written_ += bytes.size();
  return file_->write(bytes);
}

Status ContainerWriter::add(PartKind kind, std::string_view bytes) {
  packed_.resize(kFrameBytes + ZSTD_compressBound(bytes.size()));
  const std::size_t size = ZSTD_compress(&packed_[kFrameBytes], packed_.size() - kFrameBytes,
                                         bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size)) return error("cannot compress: {}", ZSTD_getErrorName(size));
  const bool pays = size < bytes.size();
  packed_.resize(kFrameBytes + (pays ? size : 0));
  if (!pays) packed_.append(bytes);
  const std::string_view stored = std::string_view(packed_).substr(kFrameBytes);
  std::fill_n(packed_.begin(), kFrameBytes, '\0');
  packed_[0] = static_cast<char>(kind);
  packed_[1] = pays ? 1 : 0;
  put_le(&packed_[4], static_cast<std::uint32_t>(stored.size()));
  put_le(&packed_[8], static_cast<std::uint32_t>(bytes.size()));
  const std::uint32_t sum = trace::frame_sum(packed_, stored);
  put_le(&packed_[12], sum);
  if (kind != PartKind::end) {
    ++parts_;
    chain_ = trace::extend_chain(chain_, sum);
  }
  return write(packed_);
}

Status ContainerWriter::finish() {
  std::array<char, kEndBytes> totals;
  put_le(totals.data(), parts_);
  put_le(&totals[8], chain_);
  E4R_CHECK(add(PartKind::end, {totals.data(), totals.size()}));
  return file_->commit();
}

// ---- reading

template <class... Args>
Error ContainerReader::damage_error(fmt::format_string<Args...> format, Args&&... args) const {
  return error("{}: at byte {}: {}", name_, frame_at_,
               fmt::format(format, std::forward<Args>(args)...));
}

// Returns the next `size` bytes, or fewer at the end of the file. Valid until the next call.
Result<std::string_view> ContainerReader::take(std::size_t size) {
  buffer_.clear();
  for (;;) {
    if (rest_.empty()) {
      E4R_TRY(rest_, bytes_->next());
    }
    const std::string_view part = rest_.substr(0, size - buffer_.size());
    rest_.remove_prefix(part.size());
    offset_ += part.size();
    if (buffer_.empty() && part.size() == size) return part;
    buffer_ += part;
    if (buffer_.size() == size || part.empty()) return std::string_view(buffer_);
  }
}

Status ContainerReader::read_header() {
  started_ = true;
  E4R_TRY(const std::string_view head, take(kHeaderBytes));
  if (!head.starts_with(kMagic)) return error("{}: is not a capture (.e4c)", name_);
  if (head.size() < kHeaderBytes) return error("{}: ends within its header", name_);
  const auto version = get_le<std::uint16_t>(&head[kMagic.size()]);
  if (version < kVersion || version > kCheckpointVersion)
    return error("{}: is .e4c version {}, but this program reads versions {} to {}", name_, version,
                 kVersion, kCheckpointVersion);
  return {};
}

Result<Part> ContainerReader::end_here() {
  ended_ = cut_short_ = true;
  return Part{PartKind::end, frame_at_, 0, {}};
}

Result<Part> ContainerReader::next_frame() {
  if (!started_) E4R_CHECK(read_header());
  frame_at_ = offset_;
  if (ended_) return Part{PartKind::end, frame_at_, 0, {}};
  E4R_TRY(const std::string_view bytes, take(kFrameBytes));
  if (bytes.size() < kFrameBytes) return end_here();
  const std::string frame(bytes);
  const auto stored = get_le<std::uint32_t>(&frame[4]);
  plain_size_ = get_le<std::uint32_t>(&frame[8]);
  packed_ = frame[1] == 1;
  const bool end = frame[0] == static_cast<char>(PartKind::end);
  if ((!end && !is_part(frame[0])) || frame[1] < 0 || frame[1] > 1 || plain_size_ > kMaxPartBytes ||
      stored > ZSTD_compressBound(kMaxPartBytes) || (!packed_ && stored != plain_size_))
    return damage_error("not a part of an .e4c file: it is damaged");
  E4R_TRY(stored_, take(stored));
  if (stored_.size() < stored) return end_here();
  const auto sum = get_le<std::uint32_t>(&frame[12]);
  if (trace::frame_sum(frame, stored_) != sum) return damage_error("a part's checksum is wrong");
  if (end) {
    ended_ = true;
    E4R_CHECK(check_end(stored_));
    return Part{PartKind::end, frame_at_, 0, {}};
  }
  ++parts_;
  chain_ = trace::extend_chain(chain_, sum);
  return Part{static_cast<PartKind>(frame[0]), frame_at_, stored, {}};
}

Status ContainerReader::check_end(std::string_view payload) {
  const bool plain = payload.size() == kEndBytes && !packed_;
  if (!plain || get_le<std::uint64_t>(payload.data()) != parts_ ||
      get_le<std::uint32_t>(&payload[8]) != chain_)
    return damage_error("the end mark does not match the parts before it: some are missing");
  E4R_TRY(const std::string_view behind, take(1));
  if (!behind.empty()) return damage_error("data after the end");
  return {};
}

Status ContainerReader::unpack(Part& part) {
  if (!packed_) {
    part.bytes = stored_;
    return {};
  }
  plain_.resize(plain_size_);
  const std::size_t size =
      ZSTD_decompress(plain_.data(), plain_.size(), stored_.data(), stored_.size());
  if (ZSTD_isError(size) || size != plain_size_)
    return damage_error("a part cannot be decompressed");
  part.bytes = plain_;
  return {};
}

}  // namespace e4r::capture
