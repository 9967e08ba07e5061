// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/lines.h"

#include <algorithm>

namespace e4r::trace {

Result<bool> LineReader::next_across_chunks() {
  carry_.assign(rest_.substr(0, kMaxLine));
  rest_.remove_prefix(carry_.size());
  while (carry_.size() < kMaxLine) {
    E4R_TRY(rest_, source_->next());
    if (rest_.empty()) {
      if (carry_.empty()) return false;
      terminated_ = false;
      break;
    }
    const std::size_t room = kMaxLine - carry_.size();
    const std::size_t newline = rest_.substr(0, room).find('\n');
    if (newline != std::string_view::npos) {
      carry_.append(rest_.substr(0, newline));
      rest_.remove_prefix(newline + 1);
      break;
    }
    const std::size_t taken = std::min(room, rest_.size());
    carry_.append(rest_.substr(0, taken));
    rest_.remove_prefix(taken);
  }
  take(carry_);
  return true;
}

}  // namespace e4r::trace
