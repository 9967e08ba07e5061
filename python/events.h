// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <e4replay/event.h>
#include <utility>

namespace e4replay::python {

// Wraps a reader of events as an iterator.
class Events {
 public:
  explicit Events(EventReader reader) : reader_(std::move(reader)) {}
  Event next();

 private:
  EventReader reader_;
  bool at_work_ = false;
};

}  // namespace e4replay::python
