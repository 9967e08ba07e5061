// SPDX-License-Identifier: GPL-2.0-or-later
#include "capture/writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace e4r::capture {
namespace {

constexpr std::size_t kEventBytes = 256 * 1024;  // in a part

class GrowingFile final : public trace::OutputFile {
 public:
  GrowingFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile() override { ::close(fd_); }

  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return error("{}: cannot write: {}", path_, errno_text(errno));
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return {};
  }
  Status commit() override {
    if (::fsync(fd_) != 0 && errno != EINVAL)
      return error("{}: cannot write: {}", path_, errno_text(errno));
    return {};
  }

 private:
  int fd_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<trace::OutputFile>> create_growing_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST)
    return error("{}: is there already: remove it, or give another name with -o", path);
  if (fd < 0) return error("{}: cannot create: {}", path, errno_text(errno));
  return std::unique_ptr<trace::OutputFile>(std::make_unique<GrowingFile>(fd, path));
}

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const std::string& path) {
  E4R_TRY(auto file, create_growing_file(path));
  return create(std::move(file));
}

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(
    std::unique_ptr<trace::OutputFile> file) {
  E4R_TRY(ContainerWriter container, ContainerWriter::create(std::move(file)));
  return std::unique_ptr<CaptureWriter>(new CaptureWriter(std::move(container)));
}

Status CaptureWriter::start(const StartFacts& facts) {
  return text(text_name::kStart, to_json(facts));
}

Status CaptureWriter::text(std::string_view name, std::string_view text) {
  const std::size_t most = kMaxPartBytes - 1 - name.size();
  do {
    std::string part(1, static_cast<char>(name.size()));
    part += name;
    part += text.substr(0, most);
    text.remove_prefix(std::min(most, text.size()));
    E4R_CHECK(container_.add(PartKind::text, part));
  } while (!text.empty());
  return {};
}

Status CaptureWriter::image(std::string_view part) {
  return container_.add(PartKind::image, part);
}

Status CaptureWriter::events(std::span<const trace::Event> events, trace::Generation generation) {
  if (!began_) e4t_.begin();
  began_ = true;
  e4t_.add(events, generation);
  return hand_over(kEventBytes);
}

Status CaptureWriter::flush() {
  if (began_) e4t_.flush();
  return hand_over(0);
}

Status CaptureWriter::end_events(const trace::TraceSummary& summary) {
  if (!began_) e4t_.begin();
  e4t_.finish(summary);
  return hand_over(0);
}

// Writes what is gathered when it is more than `beyond` bytes.
Status CaptureWriter::hand_over(std::size_t beyond) {
  if (buffer_.size() <= beyond) return {};
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, kMaxPartBytes);
    E4R_CHECK(container_.add(PartKind::events, part));
    rest.remove_prefix(part.size());
  }
  buffer_.clear();
  return {};
}

Status CaptureWriter::finish(const EndFacts& facts) {
  E4R_CHECK(text(text_name::kEnd, to_json(facts)));
  return container_.finish();
}

}  // namespace e4r::capture
