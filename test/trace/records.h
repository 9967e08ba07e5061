// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <event-parse.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bytes.h"

namespace e4r::trace::test {

// A libtraceevent handle. It has formats of events as in events/*/*/format of tracefs.
struct FreeTep {
  void operator()(tep_handle* tep) const { tep_free(tep); }
};
using Tep = std::unique_ptr<tep_handle, FreeTep>;

inline Tep new_tep() {
  Tep tep(tep_alloc());
  tep_set_long_size(tep.get(), 8);
  return tep;
}

inline tep_errno add_format(tep_handle& tep, const std::string& text, const std::string& system) {
  return tep_parse_event(&tep, text.data(), text.size(), system.c_str());
}

// Returns the formats in a file. They follow one another, and each begins with "name:".
inline std::vector<std::string> formats_of(const std::string& path) {
  const auto source = open_bytes(path, {.read_ahead = false});
  std::string text;
  for (auto chunk = (*source)->next(); chunk.ok() && !chunk->empty(); chunk = (*source)->next())
    text += *chunk;
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = text.find("\nname: ", at);
    out.push_back(text.substr(at, next == std::string::npos ? next : next + 1 - at));
    at = next == std::string::npos ? text.size() : next + 1;
  }
  return out;
}

inline Tep tep_of(const std::string& path) {
  Tep tep = new_tep();
  for (const std::string& format : formats_of(path)) {
    const std::string name = format.substr(6, format.find('\n') - 6);
    if (add_format(*tep, format, name.substr(0, name.find('_'))) != 0) return nullptr;
  }
  return tep;
}

}  // namespace e4r::trace::test
