// SPDX-License-Identifier: GPL-2.0-or-later
#include <memory>

#include "common/command.h"
#include "common/print_line.h"
#include "common/run.h"
#include "lazyinit/features.h"
#include "lazyinit/verify.h"
#include "tune2fs-lazy/session.h"
#include "tune2fs-lazy/tune2fs.h"
#include "util/parallel.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_enable {
namespace {

using lazyinit::FileSystem;

struct Options {
  ImageOptions image;
  std::string feature = "uninit_bg";
  bool probe = false;
  bool trust_discard = false;
};

// The features that tune2fs -O must set; empty if tune2fs is not needed.
Result<std::string> features_to_set(const Options& options, const lazyinit::ImageLock& lock) {
  E4R_TRY(const OpenedTarget opened, open_to_look(options.image, lock));
  const auto now = opened.tables->file_system().checksums;
  E4R_CHECK(lazyinit::freshly_checked(*opened.target));
  E4R_CHECK(lazyinit::inode_bitmaps_agree(*opened.target));
  if (options.feature != "metadata_csum" || now == FileSystem::Checksums::metadata_csum)
    return std::string();
  E4R_CHECK(lazyinit::orphan_file_readable(*opened.target));
  return std::string("metadata_csum");
}

Status set_features(const Options& options, const std::string& features,
                    const lazyinit::ImageLock& lock) {
  if (features.empty()) return {};
  if (!options.image.undo.empty())
    return error(
        "--undo does not cover what tune2fs rewrites for metadata_csum: copy the image instead, or "
        "enable uninit_bg");
  return change_metadata_csum(options.image, features, lock);
}

Result<int> run(const Options& options) {
  if (options.probe) E4R_CHECK(may_believe_zeros(options.image, options.trust_discard));
  E4R_TRY(const auto lock, lock_image(options.image));
  E4R_TRY(const std::string features, features_to_set(options, lock));
  E4R_CHECK(set_features(options, features, lock));
  E4R_TRY(const auto target, open_target(options.image, lock));
  E4R_CHECK(lazyinit::add_group_checksums(*target));
  E4R_TRY(const auto enabled, lazyinit::record_unused(*target, options.probe));
  print_line("{}: {}recorded {} inodes as never used; no inode was ever used in {}",
             options.image.image, would(options.image), format_count(enabled.unused_inodes),
             groups_text(enabled.inode_uninit));
  print_line("{} flagged ITABLE_ZEROED; {} to zero, by the kernel or by finish",
             groups_text(enabled.zeroed), format_size(enabled.to_zero));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_image(app, options->image, true);
  app.add_option("--feature", options->feature,
                 "uninit_bg: checksums of group descriptors, at once; metadata_csum: of all "
                 "metadata, by the installed tune2fs")
      .one_of({"uninit_bg", "metadata_csum"})
      .show_default();
  const DeclaredOption probe =
      app.add_flag("--probe", options->probe, "flag tables that read as zeros already");
  app.add_flag("--trust-discard", options->trust_discard,
               "with --probe: discarded blocks of the device always read as zeros")
      .needs(probe);
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_enable

const Command& enable_command() {
  static const Command kCommand = {
      "enable", "make an old file system lazy: record which inodes were never used",
      "  tune2fs-lazy enable old.img\n"
      "  tune2fs-lazy enable old.img --feature metadata_csum\n"
      "  tune2fs-lazy enable old.img --probe             and flag the tables that are zero\n",
      cmd_enable::declare};
  return kCommand;
}

namespace cmd_disable {
namespace {

using lazyinit::FileSystem;

struct Options {
  ImageOptions image;
  unsigned threads = 1;
  bool no_progress = false;
};

// Clears the flags of tables that are not zero. Then zeroes every table without a flag, unless it
// already is zero.
Status make_all_zero(const Options& options, const OpenedTarget& opened) {
  const unsigned threads = thread_count(options.threads);
  E4R_TRY(const auto verified,
          lazyinit::verify_tables(*opened.target, *opened.tables, opened.tables->tables(), threads,
                                  &stop_on_signals()));
  if (verified.stopped) return error("stopped; nothing has been changed");
  if (!verified.lies.empty())
    print_line("{} flagged ITABLE_ZEROED, but not zero", groups_text(verified.lies.size()));
  std::vector<std::uint32_t> not_zero = lazyinit::groups_of(verified.lies);
  not_zero.insert(not_zero.end(), verified.with_deleted.begin(), verified.with_deleted.end());
  E4R_CHECK(lazyinit::retract(*opened.target, *opened.tables, not_zero));
  const auto groups = groups_to_do(*opened.tables);
  if (groups.empty()) return {};
  lazyinit::ZeroOptions how;
  how.threads = threads;
  how.probe = true;
  Progress progress(!options.no_progress);
  E4R_TRY(const auto outcome, zero_with_progress(opened, groups, how, progress));
  print_outcome(outcome, options.image);
  if (outcome.stopped)
    return error(
        "stopped: the file system is consistent and still lazy; run the same command again to "
        "continue");
  return {};
}

Status refuse_undo(const Options& options) {
  if (options.image.undo.empty()) return {};
  return error(
      "--undo does not cover what tune2fs rewrites to drop metadata_csum: copy the image instead");
}

Result<int> run(const Options& options) {
  E4R_TRY(const auto lock, lock_image(options.image));
  FileSystem::Checksums was = FileSystem::Checksums::none;
  {
    E4R_TRY(const OpenedTarget opened, open_to_look(options.image, lock));
    E4R_CHECK(need_checksums(opened));
    E4R_CHECK(lazyinit::bitmaps_readable(*opened.target));
    was = opened.tables->file_system().checksums;
    if (was == FileSystem::Checksums::metadata_csum) {
      E4R_CHECK(refuse_undo(options));
      E4R_CHECK(lazyinit::freshly_checked(*opened.target));
      E4R_CHECK(lazyinit::orphan_file_readable(*opened.target));
    }
  }
  {
    E4R_TRY(const OpenedTarget opened, open_to_write(options.image, lock));
    E4R_CHECK(make_all_zero(options, opened));
    E4R_TRY(const auto slack, lazyinit::zero_slack(*opened.target, *opened.tables));
    if (slack != 0)
      print_line("{}zeroed stale inodes next to used ones in {}", would(options.image),
                 groups_text(slack));
    E4R_CHECK(lazyinit::write_out_groups(*opened.target));
    if (was == FileSystem::Checksums::uninit_bg)
      E4R_CHECK(lazyinit::drop_group_checksums(*opened.target));
  }
  if (was == FileSystem::Checksums::metadata_csum)
    E4R_CHECK(change_metadata_csum(options.image, "^metadata_csum,^uninit_bg", lock));
  print_line("{}: {}initialised every table and dropped {}", options.image.image,
             would(options.image), name_of(was));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_image(app, options->image, true);
  app.add_option("--threads", options->threads, "groups at a time (0: one per CPU)").type_name("N");
  app.add_flag("--no-progress", options->no_progress, "no progress line");
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_disable

const Command& disable_command() {
  static const Command kCommand = {
      "disable", "initialise every table, then drop the feature that makes it lazy",
      "  tune2fs-lazy disable disk.img\n"
      "  tune2fs-lazy disable /dev/vg/data --threads 0 --dry-run\n",
      cmd_disable::declare};
  return kCommand;
}

}  // namespace e4r::tools
