// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/inputs.h"
#include "common/command.h"
#include "common/print_line.h"
#include "image/bitmaps.h"
#include "report/free_space.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_freefrag {
namespace {

struct Options {
  std::string image;
  std::string chunk;
  std::string fstrim;
  std::string json;
  std::string extract;
  bool aligned = false;
  image::OpenOptions open;
};

// Parses a number of KiB as e2freefrag does: decimal, 0x..., or 0... for octal; 0 means no chunks.
Result<std::uint64_t> parse_chunk(std::string_view text) {
  int base = 10;
  std::string_view digits = text;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    digits = text.substr(2);
  } else if (text.starts_with("0")) {
    base = 8;
  }
  std::uint64_t value = 0;
  const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (ec != std::errc() || digits.empty() || end != digits.data() + digits.size())
    return error("'{}' is not a chunk size: give a number of KB, such as 1024", text);
  return value;
}

// The discard granularity in bytes; 0 for a file, and for a device that cannot discard. The queue
// of a partition is in its parent directory.
std::uint64_t granularity_of(const std::string& path) {
  struct stat st = {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISBLK(st.st_mode)) return 0;
  for (const char* up : {"", "/.."}) {
    const auto text = read_file(fmt::format("/sys/dev/block/{}:{}{}/queue/discard_granularity",
                                            major(st.st_rdev), minor(st.st_rdev), up));
    if (!text.ok()) continue;
    const auto bytes = parse_u64(std::string_view(*text).substr(0, text->find('\n')));
    return bytes.ok() ? *bytes : 0;
  }
  return 0;
}

Status print(const report::FreeSpaceReport& free, const OutputName& json) {
  if (!json.path().empty()) E4R_CHECK(write_output(free_space_json(free), json));
  if (json.path() != "-") print_report(free_space_text(free));
  return {};
}

Result<int> run(const Options& options) {
  std::uint64_t chunk_kb = 0;
  if (!options.chunk.empty()) {
    const auto parsed = parse_chunk(options.chunk);
    if (!parsed.ok()) return usage_error("-c: " + parsed.error().message);
    chunk_kb = *parsed;
  }
  std::optional<std::uint64_t> minlen;
  if (!options.fstrim.empty()) {
    const auto parsed = parse_size(options.fstrim);
    if (!parsed.ok()) return usage_error("--fstrim: " + parsed.error().message);
    minlen = *parsed;
  }
  Outputs outputs;
  outputs.reads(options.image);
  E4R_CHECK(outputs.writes(options.json));
  E4R_CHECK(outputs.writes(options.extract, OutputKind::file));
  E4R_TRY(app::OpenedImage opened, app::open_image(options.image, options.open));
  image::Image& image = opened.image;
  const auto bits = report::chunk_bits(chunk_kb, image.superblock().block_size());
  if (!bits.ok()) return usage_error("-c: " + bits.error().message);
  E4R_TRY(report::FreeSpaceReport free,
          report::measure_free_space(image, *bits, options.aligned || !options.json.empty()));
  free.chunks_wanted = chunk_kb != 0;
  free.aligned_wanted = options.aligned;
  if (minlen) {
    const auto clusters =
        stats::fitrim_minlen(image.superblock(), *minlen, granularity_of(options.image));
    if (!clusters.ok()) return usage_error("--fstrim: " + clusters.error().message);
    E4R_TRY(free.fitrim, report::measure_fitrim(image, *clusters));
  }
  for (const std::string& warning : image.warnings()) warn(warning);
  if (free.text_is_wrong() && options.json != "-")
    warn(options.image +
         ": e2freefrag misreads bigalloc, and this text shows the same wrong sizes; --json has the "
         "right ones");
  if (free.superblock_is_old())
    warn(fmt::format(
        "{}: its superblock counts {} free blocks, its bitmaps have {}{}", options.image,
        format_count(free.superblock.free_blocks_count), format_count(free.extents.blocks),
        options.json == "-"
            ? ""
            : ": percentages in the text are shares of the former, as in e2freefrag's"));
  if (!options.extract.empty())
    E4R_CHECK(image::write_copy(opened.path, outputs.name_of(options.extract)));
  E4R_CHECK(print(free, outputs.name_of(options.json)));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  options->open.load_bitmaps = false;
  app.add_option("image", options->image, "ext4 image or block device, read only; or a capture")
      .required()
      .type_name("IMAGE|FILE.e4c");
  app.add_option("--extract-image", options->extract,
                 "also write the image as a sparse file; for a capture, the parts that it contains")
      .type_name("OUT");
  app.add_option("-c", options->chunk, "also count aligned chunks of this many KB").type_name("KB");
  app.add_flag("--aligned", options->aligned,
               "also count aligned free pieces of 16, 64 and 256 KiB, each in one group");
  app.add_option("--fstrim", options->fstrim,
                 "also count what fstrim -m MINLEN would discard right after a mount")
      .type_name("MINLEN");
  app.add_option("--json", options->json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  app.add_flag("--strict", options->open.strict,
               "stop at a damaged group instead of leaving it out");
  app.add_option("--threads", options->open.threads, "threads that read bitmaps (one per CPU)")
      .type_name("N");
  return [options] { return run(*options); };
}

}  // namespace
}  // namespace cmd_freefrag

const Command& freefrag_command() {
  static const Command kCommand = {
      "freefrag", "sizes of free extents, in e2freefrag's words",
      "  e4replay freefrag disk.img\n"
      "  e4replay freefrag -c 2048 disk.img             also free chunks of 2 MiB\n"
      "  e4replay freefrag --aligned disk.img           for atomic writes of 16 to 256 KiB\n"
      "  e4replay freefrag /dev/vg/snapshot --json -    for a program\n"
      "  e4replay freefrag --fstrim 0 /dev/sdb1         what fstrim would discard\n"
      "  e4replay freefrag run.e4c --extract-image start.img\n"
      "                                                 a capture's start image\n",
      cmd_freefrag::declare};
  return kCommand;
}

}  // namespace e4r::tools
