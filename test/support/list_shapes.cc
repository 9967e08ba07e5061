// SPDX-License-Identifier: GPL-2.0-or-later
// Prints lazy_shapes() for scripts: name, bytes and mke2fs's options, with tabs between them.
#include <fmt/format.h>

#include "support/lazy_images.h"

int main() {
  for (const e4r::test::Shape& shape : e4r::test::lazy_shapes()) {
    fmt::print("{}\t{}", shape.name, shape.bytes);
    for (const std::string& option : shape.options) fmt::print("\t{}", option);
    fmt::print("\n");
  }
}
