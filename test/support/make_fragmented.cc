// SPDX-License-Identifier: GPL-2.0-or-later
// Makes a fragmented sparse image for benchmarks: runs mke2fs, and then marks runs of clusters as
// used.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <sstream>

#include "support/ext2_images.h"
#include "util/units.h"

namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("make_fragmented: a sparse ext4 image with free runs of given lengths");
  std::string path;
  std::string size = "1T";
  std::string options = "-t ext4 -b 4096";
  e4r::test::Fill fill;
  fill.max_free = 1;
  app.add_option("image", path, "file to make")->required();
  app.add_option("--size", size, "size of the file system");
  app.add_option("--mke2fs", options, "options of mke2fs, in one word: --mke2fs='-b 1024'");
  app.add_option("--seed", fill.seed);
  app.add_option("--min-free", fill.min_free, "shortest free run, in clusters");
  app.add_option("--max-free", fill.max_free, "longest free run; 0: none");
  app.add_option("--min-used", fill.min_used);
  app.add_option("--max-used", fill.max_used);
  app.add_option("--most-free", fill.most_free, "free clusters in one group, at most");
  app.add_option("--skip-percent", fill.skip_percent, "groups left as mke2fs made them");
  CLI11_PARSE(app, argc, argv);
  const auto bytes = e4r::parse_size(size);
  if (!bytes.ok()) {
    fmt::print(stderr, "make_fragmented: {}\n", bytes.error().message);
    return 2;
  }
  try {
    e4r::test::make_image(path, *bytes, split(options));
    e4r::test::fill_image(path, fill);
  } catch (const std::exception& e) {
    fmt::print(stderr, "make_fragmented: {}\n", e.what());
    return 1;
  }
  return 0;
}
