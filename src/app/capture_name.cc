// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/capture_name.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "app/trace_files.h"
#include "capture/capture.h"
#include "util/units.h"

namespace e4r::app {
namespace {

bool is_there(const std::string& path) {
  std::error_code failed;
  const auto type = std::filesystem::status(path, failed).type();
  return type == std::filesystem::file_type::regular || type == std::filesystem::file_type::block;
}

}  // namespace

Result<CaptureName> parse_capture(const std::string& word) {
  if (is_there(word)) {
    if (::access(word.c_str(), R_OK) != 0) return error("{}: {}", word, errno_text(errno));
    if (capture::is_capture(word)) return CaptureName{word, word, ""};
    return error("{}: is not a capture (.e4c): give a start image and its trace as IMAGE:TRACE",
                 word);
  }
  std::vector<CaptureName> found;
  for (std::size_t at = 0; (at = word.find(':', at)) != std::string::npos; ++at) {
    CaptureName split = {word, word.substr(0, at), word.substr(at + 1)};
    if (is_there(split.image) && is_there(split.trace)) found.push_back(std::move(split));
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) return error("{}: has several colons between two files", word);
  std::error_code failed;
  if (std::filesystem::is_directory(word, failed))
    return error(
        "{}: is a directory: give FILE.e4c or IMAGE:TRACE; `e4replay sweep --merge` joins parts",
        word);
  if (std::filesystem::exists(word, failed))
    return error("{}: is not a regular file: give FILE.e4c or IMAGE:TRACE", word);
  if (failed) return error("{}: {}", word, failed.message());
  const auto colon = word.find(':');
  if (colon == std::string::npos)
    return error("{}: there is no such file: give FILE.e4c or IMAGE:TRACE", word);
  const std::string image = word.substr(0, colon);
  return error("{}: there is no file {}: give FILE.e4c or IMAGE:TRACE", word,
               is_there(image) ? word.substr(colon + 1) : image);
}

InputOptions input_options(const CaptureName& name, unsigned threads) {
  InputOptions out;
  out.image = name.image;
  out.trace = name.trace;
  out.threads = threads;
  return out;
}

void declare_reads(const CaptureName& name, Outputs& outputs) {
  outputs.reads(name.image);
  declare_trace_reads(name.trace.empty() ? name.image : name.trace, outputs);
}

}  // namespace e4r::app
