// SPDX-License-Identifier: GPL-2.0-or-later

#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/ageing.h"
#include "app/setups.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/convert_capture.h"
#include "e4replay/options.h"
#include "image/bitmaps.h"
#include "report/aged.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_age {
namespace {

struct Options {
  std::string target;  // SIZE or IMAGE
  std::string output;
  std::string profile = "agrawal";
  std::string until = "utilisation 0.8, turnover 1x";
  std::string policy = "legacy";
  std::string writing = "delalloc";
  std::string slots;       // a file of inode numbers
  std::string given;       // a file of operations to perform
  std::string operations;  // file to which the operations are written
  std::string real;        // the same, under the option's former name
  std::string json;
  std::vector<std::string> settings;
  std::uint64_t seed = 1;
  std::uint32_t pid = 0;
  bool no_progress = false;
  std::string kernel_log;
};

// Reads the inode numbers of files, one per line. Empty if no file is given.
Result<std::vector<std::uint32_t>> read_slots(const std::string& path,
                                              const image::SuperblockInfo& g) {
  if (path.empty()) return std::vector<std::uint32_t>();
  E4R_TRY(const std::string text, read_file(path));
  std::vector<std::uint32_t> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto ino = parse_u64(line);
    if (!ino.ok() || *ino == 0 || *ino > g.inodes_count)
      return error(
          "{}: line {}: '{}' is not an inode of the image: give numbers of 1 to {}, one a line",
          path, out.size() + 1, line, g.inodes_count);
    out.push_back(static_cast<std::uint32_t>(*ino));
  }
  if (out.empty()) return error("{}: is empty: give inode numbers, one a line", path);
  return out;
}

// Takes the file name from --real, the former name of --write-operations. --real sounds like an
// input option, so it does not overwrite an existing file.
Status take_old_name(Options& options) {
  if (options.real.empty()) return {};
  if (!options.operations.empty())
    return error("--real and --write-operations: give only the latter, both mean the same");
  if (std::filesystem::is_regular_file(options.real))
    return error(
        "--real {}: exists already, and --real writes the operations: give --write-operations to "
        "replace it",
        options.real);
  options.operations = options.real;
  return {};
}

// Rejects options for drawing operations if the operations come from a file.
Status check_drawing(const Options& options) {
  const Options defaults;
  if (options.given.empty()) return {};
  if (options.profile != defaults.profile) return error("--operations and --profile: give one");
  if (options.until != defaults.until)
    return error("--operations and --until: the operations end where their file ends");
  if (options.seed != defaults.seed)
    return error("--operations and --seed: operations from a file are not drawn");
  return {};
}

// Checks the command line and fills `chosen`.
Status choose(const Options& options, app::AgeingOptions& chosen) {
  E4R_CHECK(check_drawing(options));
  E4R_TRY(chosen.profile, age::find_profile(options.profile));
  E4R_TRY(chosen.until, age::parse_until(options.until));
  chosen.seed = options.seed;
  E4R_TRY(chosen.policy, app::parse_policy(options.policy));
  if (options.writing != "delalloc" && options.writing != "nodelalloc")
    return error("--writing {}: give delalloc or nodelalloc", options.writing);
  chosen.writing = options.writing == "delalloc" ? age::Writing::delayed : age::Writing::direct;
  chosen.pid = options.pid;
  E4R_CHECK(app::check_settings(options.settings));
  chosen.settings = options.settings;
  if (options.output.empty()) return error("-o is missing: where does the aged image go?");
  return {};
}

Result<Outputs> declare_files(const Options& options, const allocator::Policy* policy) {
  Outputs outputs;
  outputs.reads(options.target);
  outputs.reads(options.slots);
  outputs.reads(options.given);
  outputs.reads(options.profile);
  app::declare_reads({&policy, 1}, outputs);
  E4R_CHECK(outputs.writes(options.output, OutputKind::file));
  E4R_CHECK(outputs.writes(options.operations));
  E4R_CHECK(outputs.writes(options.json));
  E4R_CHECK(outputs.writes(options.kernel_log));
  return outputs;
}

// Performs all operations, and writes them to a file if that was requested.
Status do_all(app::Ageing& ageing, const Options& options, const Outputs& outputs) {
  Progress progress(!options.no_progress);
  if (options.operations.empty()) return ageing.run({progress, warn}, {});
  std::string script;
  E4R_CHECK(ageing.run({progress, warn}, [&script](const age::Operation& operation) {
    script += age::text_of(operation) + "\n";
  }));
  return write_output(script, outputs.name_of(options.operations));
}

Result<int> run(Options options) {
  app::AgeingOptions chosen;
  if (const Status status = choose(options, chosen); !status.ok())
    return usage_error(status.error().message);
  E4R_CHECK(take_old_name(options));
  E4R_TRY(const Outputs outputs, declare_files(options, chosen.policy));
  E4R_TRY(const SourceImage start,
          SourceImage::open(options.target, outputs.name_of(options.output)));
  image::OpenOptions open;
  open.name = options.target;
  E4R_TRY(const image::Image image, image::Image::open(start.path(), open));
  for (const std::string& warning : image.warnings()) warn(warning);
  E4R_TRY(chosen.inodes, read_slots(options.slots, image.superblock()));
  if (!options.given.empty()) {
    E4R_TRY(chosen.operations, read_file(options.given));
    chosen.operations_from = options.given;
  }
  report::AgedReport aged;
  aged.output = options.output;
  aged.superblock = image.superblock();
  aged.operations_from = options.given;
  aged.profile = chosen.profile.name;
  aged.profile_source = chosen.profile.source;
  aged.seed = options.seed;
  E4R_TRY(const auto ageing,
          app::Ageing::begin(image, start.path(), options.target, std::move(chosen)));
  E4R_CHECK(do_all(*ageing, options, outputs));
  E4R_CHECK(image::write_with_bitmaps(start.path(), outputs.name_of(options.output),
                                      [&](GroupNumber group) { return ageing->bitmap(group); }));
  aged.start = ageing->start();
  aged.end = ageing->outcome();
  if (!options.json.empty())
    E4R_CHECK(write_output(report::aged_json(aged), outputs.name_of(options.json)));
  if (options.json != "-") print_report(report::aged_text(aged));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  app.add_option("target", options->target,
                 "a size (10G): mke2fs makes the file system; or the image of one, read only")
      .required()
      .type_name("SIZE|IMAGE");
  app.add_option("-o,--output", options->output, "the aged image to write").type_name("OUT");
  app.add_option("--profile", options->profile, "sizes and ages of files: a profile, or a file")
      .type_name("PROFILE");
  app.add_option("--until", options->until,
                 "when to stop (utilisation 0.8, turnover 1x: bytes written as a multiple of the "
                 "file system's size)")
      .type_name("WHEN");
  app.add_option("--operations", options->given,
                 "perform the operations of a file, as --write-operations writes them, instead of "
                 "drawing them")
      .type_name("FILE");
  app.add_option("--seed", options->seed, "seed of all random choices (1)").type_name("N");
  app.add_option("-p,--policy", options->policy, "policy that allocates, or kernel:FILE (legacy)")
      .type_name("POLICY");
  app.add_option("--set", options->settings, "set a tunable; may be repeated")
      .type_name("NAME=VALUE")
      .may_repeat();
  app.add_option("--writing", options->writing,
                 "delalloc: allocated at the next sync; nodelalloc: block by block, at once")
      .type_name("HOW-WRITTEN");
  app.add_option("--slots", options->slots,
                 "inode numbers of the files to write, one a line (default: spread over the disk)")
      .type_name("FILE");
  app.add_option("--pid", options->pid,
                 "process id of the writer: decides where nodelalloc begins (0)")
      .type_name("N");
  app.add_option("--write-operations", options->operations,
                 "write the operations down, for a mounted file system")
      .type_name("FILE");
  app.add_option("--real", options->real, "old name of --write-operations; the file must not exist")
      .type_name("FILE");
  app.add_option("--json", options->json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  app.add_flag("--no-progress", options->no_progress, "no progress line on the terminal");
  declare_kernel_log(app, options->kernel_log);
  return [options] { return with_kernel_log(options->kernel_log, [&] { return run(*options); }); };
}

}  // namespace
}  // namespace cmd_age

const Command& age_command() {
  static const Command kCommand = {
      "age", "make an aged file system by writing and removing files",
      "  e4replay age 10G -o aged.img\n"
      "  e4replay age 100G --profile meyer --until 'utilisation 0.9, turnover 10x' -o aged.img\n"
      "  e4replay age start.img -p cr1.5 --seed 7 -o aged.img\n"
      "  e4replay age 64G --operations year.txt -p linux-7.3 -o full.img\n"
      "  e4replay freefrag aged.img\n",
      cmd_age::declare};
  return kCommand;
}

}  // namespace e4r::tools
