// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "util/status.h"
#include "watch/page.h"

namespace e4r::watch {

// A full-screen page on the terminal of standard output, and the keys of standard input. The
// destructor leaves the terminal as it was.
class Terminal {
 public:
  // The Error says why there is no page: no support in this build, or in the terminal.
  [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
  virtual ~Terminal() = default;

  [[nodiscard]] virtual unsigned columns() const = 0;
  [[nodiscard]] virtual unsigned rows() const = 0;
  // Whether it shows characters outside of ASCII.
  [[nodiscard]] virtual bool speaks_utf8() const = 0;
  virtual void show(const std::vector<PageLine>& lines) = 0;
  // Waits for a key: a character of ASCII or a PageKey. 0: no key came; kResized: the terminal has
  // another size now.
  [[nodiscard]] virtual int key(std::chrono::milliseconds most) = 0;
};

}  // namespace e4r::watch
