// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace e4r::trace::test {

// A trace read to its end: the events before the first error, the error, and the summary.
struct ReadTrace {
  std::vector<Event> events;
  std::string error;
  TraceSummary summary;
};

inline ReadTrace read_all(EventSource& source) {
  ReadTrace out;
  for (;;) {
    const auto batch = source.next();
    if (!batch.ok()) out.error = batch.error().message;
    if (!batch.ok() || batch->empty()) break;
    out.events.insert(out.events.end(), batch->begin(), batch->end());
  }
  return out;
}

inline ReadTrace read_opened(const Result<std::unique_ptr<Trace>>& trace) {
  ReadTrace out;
  if (!trace.ok()) {
    out.error = trace.error().message;
    return out;
  }
  out = read_all(**trace);
  out.summary = (*trace)->summary();
  return out;
}

// Reads a trace from memory under the name "t".
inline ReadTrace read_text(std::string_view text, const ReadOptions& options = {}) {
  return read_opened(open_trace_bytes(text, "t", options));
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A directory that is deleted with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "e4r-test-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace e4r::trace::test
