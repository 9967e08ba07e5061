// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "util/status.h"
#include "watch/page.h"

namespace e4r::watch {

// A full-screen page on the terminal of standard output, with keys from standard input. The
// destructor restores the terminal.
class Terminal {
 public:
  // The Error says why there is no page: this build or the terminal does not support it.
  [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
  virtual ~Terminal() = default;

  [[nodiscard]] virtual unsigned columns() const = 0;
  [[nodiscard]] virtual unsigned rows() const = 0;
  // Whether the terminal shows characters other than ASCII.
  [[nodiscard]] virtual bool speaks_utf8() const = 0;
  virtual void show(const std::vector<PageLine>& lines) = 0;
  // Waits for a key: an ASCII character or a PageKey. Returns 0 if no key came, and kResized if the
  // terminal's size has changed.
  [[nodiscard]] virtual int key(std::chrono::milliseconds most) = 0;
};

}  // namespace e4r::watch
