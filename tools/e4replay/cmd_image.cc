// SPDX-License-Identifier: GPL-2.0-or-later
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/convert_capture.h"
#include "image/bitmaps.h"
#include "image/image.h"
#include "posted/compose.h"
#include "posted/texts.h"
#include "util/file.h"
#include "util/output.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_image {
namespace {

struct Options {
  std::vector<std::string> from;
  std::string output;
  std::string size;
  std::uint32_t block_size = 0;
  std::uint64_t inodes = 0;
  std::uint64_t seed = 1;
};

Result<posted::Texts> read_texts(const std::vector<std::string>& paths) {
  posted::Texts out;
  for (const std::string& path : paths) {
    E4R_TRY(const std::string text, read_file(path));
    if (const Status added = posted::add_text(text, out); !added.ok())
      return error("{}: {}", path, added.error().message);
  }
  return out;
}

// Prints each line after the word `head`, for example "exact   ...".
void tell(const char* head, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) print_line(stdout, "{:8} {}", head, line);
}

Result<int> run(const Options& options) {
  posted::StartOptions start_options = {0, options.block_size, options.inodes};
  if (options.output.empty()) return usage_error("-o is missing: where does the image go?");
  if (!options.size.empty()) {
    const auto bytes = parse_start_size(options.size);
    if (!bytes.ok()) return usage_error("--size " + bytes.error().message);
    start_options.bytes = *bytes;
  }
  Outputs outputs;
  for (const std::string& path : options.from) outputs.reads(path);
  E4R_CHECK(outputs.writes(options.output, OutputKind::file));
  E4R_TRY(const posted::Texts texts, read_texts(options.from));
  E4R_TRY(const posted::Wanted wanted, posted::wanted_start(texts, start_options));
  E4R_TRY(const SourceImage start,
          SourceImage::make_like(wanted.bytes, wanted.arguments, wanted.extended,
                                 outputs.name_of(options.output)));
  image::OpenOptions open;
  open.name = "the file system that mke2fs made";
  E4R_TRY(const image::Image image, image::Image::open(start.path(), open));
  E4R_TRY(const posted::Composed made, posted::compose(texts, image, options.seed));
  E4R_CHECK(
      image::write_with_bitmaps(start.path(), outputs.name_of(options.output),
                                [&](GroupNumber group) { return std::span(made.bitmaps[group]); }));
  const image::SuperblockInfo& g = image.superblock();
  print_line(stdout, "{:8} {}: {}, {} blocks, {} groups, {} free blocks", "image", options.output,
             format_size(g.blocks_count * g.block_size()), format_size(g.block_size()),
             format_count(g.groups), format_count(g.to_blocks(made.free)));
  tell("exact", made.exact);
  tell("inexact", made.inexact);
  tell("chosen", wanted.chosen);
  tell("chosen", made.chosen);
  print_line(stdout, "{:8} {}", "seed", options.seed);
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  app.add_option("from", options->from,
                 "texts of one file system: mb_groups, e2freefrag, dumpe2fs, mb_stats")
      .required()
      .takes_the_rest()
      .type_name("TEXT");
  app.add_option("-o,--output", options->output, "the image to write").type_name("OUT");
  app.add_option("--size", options->size, "size of the file system, if no text says it")
      .type_name("SIZE");
  app.add_option("--block-size", options->block_size, "bytes of a block, if no text says it (4096)")
      .type_name("BYTES");
  app.add_option("--inodes", options->inodes, "inodes, if no dumpe2fs says it (as mke2fs chooses)")
      .type_name("N");
  app.add_option("--seed", options->seed, "seed for everything that no text determines (1)")
      .type_name("N");
  return [options] { return run(*options); };
}

}  // namespace
}  // namespace cmd_image

const Command& image_command() {
  static const Command kCommand = {
      "image", "make a file system that matches posted texts",
      "  e4replay image mb_groups.txt -o start.img\n"
      "  e4replay image freefrag.txt dumpe2fs.txt --seed 7 -o start.img\n"
      "  e4replay image mb_groups.txt --size 10T -o start.img\n"
      "  e4replay age start.img --until 'turnover 0.1x' -o aged.img\n",
      cmd_image::declare};
  return kCommand;
}

}  // namespace e4r::tools
