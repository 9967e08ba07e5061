// SPDX-License-Identifier: GPL-2.0-or-later
#include <boost/json.hpp>
#include <memory>
#include <optional>

#include "common/command.h"
#include "common/print_line.h"
#include "json/text.h"
#include "lazyinit/kernel_thread.h"
#include "lazyinit/place.h"
#include "lazyinit/verify.h"
#include "tune2fs-lazy/mounted.h"
#include "tune2fs-lazy/session.h"
#include "tune2fs-lazy/tune2fs.h"
#include "util/fd.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_status {
namespace {

namespace json = boost::json;
using lazyinit::FileSystem;
using lazyinit::GroupRun;
using lazyinit::InitItable;
using lazyinit::Inventory;

// The time for a group on storage that does not rotate, in addition to the time for its bytes.
constexpr std::chrono::duration<double> kFlashGroup{0.002};
constexpr std::size_t kMapWidth = 64;
constexpr std::uint64_t kMostSeconds = 86400;

struct Options {
  ImageOptions image;
  bool json = false;
  bool groups = false;
  std::string mult;
  std::string rate;
  std::string group_cost;
  std::string watch;  // in seconds; empty without --watch
};

// The assumed pace for the estimate, and the origin of its numbers.
struct Basis {
  std::uint32_t multiplier = InitItable::kDefaultMultiplier;
  const char* multiplier_from = "the kernel's default";
  lazyinit::ZeroCost cost;
  const char* rate_from = "assumed, not measured: --rate";
  const char* group_from = "assumed, for a disk that rotates: --group-cost";
  [[nodiscard]] double group_ms() const { return cost.per_group.count() * 1000; }
};

// Whether the device reports that it does not rotate. False for a file.
bool does_not_rotate(const std::string& path) {
  const auto file = file_id(path);
  if (!file || !file->is_block_device) return false;
  return lazyinit::device_attribute(file->device, "queue/rotational") == "0";
}

Status read_costs(const Options& options, Basis& basis) {
  if (!options.rate.empty()) {
    E4R_TRY(basis.cost.bytes_per_second, parse_size(options.rate));
    if (basis.cost.bytes_per_second == 0)
      return error("--rate 0: give bytes per second, such as 150M");
    basis.rate_from = "--rate";
  }
  if (!options.group_cost.empty()) {
    E4R_TRY(const std::uint64_t ms, parse_u64(options.group_cost));
    basis.cost.per_group = std::chrono::milliseconds(ms);
    basis.group_from = "--group-cost";
  } else if (does_not_rotate(options.image.image)) {
    basis.cost.per_group = kFlashGroup;
    basis.group_from = "assumed, for a device that does not rotate: --group-cost";
  }
  return {};
}

Result<Basis> make_basis(const Options& options, const InitItable& stored,
                         const std::optional<InitItable>& mounted) {
  Basis basis;
  if (stored.kind == InitItable::Kind::wait) {
    basis.multiplier = stored.multiplier;
    basis.multiplier_from = "its mount options";
  }
  if (mounted && mounted->kind == InitItable::Kind::wait) {
    basis.multiplier = mounted->multiplier;
    basis.multiplier_from = "as it is mounted";
  }
  if (!options.mult.empty()) {
    E4R_TRY(basis.multiplier, lazyinit::parse_multiplier("--mult", options.mult));
    basis.multiplier_from = "--mult";
  }
  E4R_CHECK(read_costs(options, basis));
  return basis;
}

struct View {
  const OpenedTarget& opened;
  Inventory inventory;
  InitItable stored;
  std::string stored_problem;         // why the kernel ignores the mount options
  std::optional<InitItable> mounted;  // the mount's option, if the mount is visible to this process
  Basis basis;
  std::string finished_by;  // the program that zeroes tables when `finish` is called
};

std::string kernel_text(const View& view) {
  if (!view.stored_problem.empty())
    return fmt::format("ignores the mount options of the superblock: {}", view.stored_problem);
  if (view.stored.kind == InitItable::Kind::off)
    return "leaves tables alone (noinit_itable in the superblock)";
  return fmt::format(
      "multiplier {} ({})",
      view.stored.kind == InitItable::Kind::wait ? view.stored.multiplier
                                                 : InitItable::kDefaultMultiplier,
      view.stored.kind == InitItable::Kind::wait ? "init_itable in the superblock" : "default");
}

std::string groups_table(std::span<const GroupRun> runs) {
  TextTable table;
  table.row({"groups", "unused", "to zero", "flags"});
  for (const GroupRun& run : runs) {
    std::string flags;
    const auto add = [&flags](bool set, const char* name) {
      if (set) flags += (flags.empty() ? "" : " ") + std::string(name);
    };
    add(run.like.inode_uninit, "INODE_UNINIT");
    add(run.like.block_uninit, "BLOCK_UNINIT");
    add(run.like.zeroed, "ITABLE_ZEROED");
    table.row({run.first == run.last ? fmt::format("{}", run.first)
                                     : fmt::format("{}-{}", run.first, run.last),
               format_count(run.like.unused), format_size(run.bytes_to_do),
               flags.empty() ? "-" : flags});
  }
  return table.text();
}

void print_estimate(const View& view) {
  const Basis& basis = view.basis;
  print_line(
      "estimate  {} at multiplier {} ({}), if {}/s are zeroed ({})",
      duration_text(lazyinit::estimate(view.inventory, basis.multiplier, basis.cost).count()),
      basis.multiplier, basis.multiplier_from, format_size(basis.cost.bytes_per_second),
      basis.rate_from);
  print_line("          plus {:g} ms for each group ({})", basis.group_ms(), basis.group_from);
}

void print_status(const View& view, bool groups) {
  const Inventory& i = view.inventory;
  print_line("image     {}", describe(view.opened));
  if (!view.opened.tables->has_group_checksums()) {
    print_line("tables    {}; no table is lazy, since group descriptors have no checksums",
               format_size(i.table_bytes));
    return;
  }
  print_line("flags     INODE_UNINIT {}, BLOCK_UNINIT {}, ITABLE_ZEROED {} of {}",
             format_count(i.inode_uninit), format_count(i.block_uninit), format_count(i.zeroed),
             groups_text(i.groups));
  print_line("unused    {} inodes in {}", format_count(i.unused_inodes),
             groups_text(i.unused_groups));
  print_line("to zero   {} of {} of tables, in {}", format_size(i.bytes_to_do),
             format_size(i.table_bytes), groups_text(i.to_do));
  print_line("map       [{}]", lazyinit::map_of_groups(view.opened.tables->tables(), kMapWidth));
  print_line("          # zeroed  . never used, to zero  o used in part, to zero  + both");
  print_line("kernel    {}", kernel_text(view));
  if (i.bytes_to_do != 0) print_estimate(view);
  if (i.to_do + i.to_flag != 0) print_line("finish    by {}", view.finished_by);
  if (view.mounted && i.to_do + i.to_flag != 0)
    print_line("mounted   {}; --watch measures how long it takes", view.mounted->text());
  if (groups)
    print_text("\n" + groups_table(lazyinit::runs_of_groups(view.opened.tables->tables())));
}

json::object image_json(const View& view) {
  const FileSystem fs = view.opened.tables->file_system();
  return {{"path", view.opened.target->path()},
          {"label", fs.label},
          {"uuid", fs.uuid},
          {"blocks", fs.blocks},
          {"block_size", fs.block_size},
          {"inode_size", fs.inode_size},
          {"inodes_per_group", fs.inodes_per_group},
          {"groups", fs.groups},
          {"checksums", name_of(fs.checksums)},
          {"needs_recovery", fs.needs_recovery},
          {"at_rest", fs.at_rest},
          {"mount_options", view.opened.tables->mount_options()}};
}

json::array groups_json(std::span<const GroupRun> runs) {
  json::array all;
  for (const GroupRun& run : runs)
    all.push_back(json::object{{"first", run.first},
                               {"last", run.last},
                               {"inode_uninit", run.like.inode_uninit},
                               {"block_uninit", run.like.block_uninit},
                               {"itable_zeroed", run.like.zeroed},
                               {"itable_unused", run.like.unused},
                               {"bytes_to_zero_each", run.bytes_to_do}});
  return all;
}

void print_status_json(const View& view, bool groups) {
  const Inventory& i = view.inventory;
  json::object document{{"schema", "tune2fs-lazy-status/1"}, {"image", image_json(view)}};
  document["inode_tables"] = json::object{{"groups", i.groups},
                                          {"inode_uninit", i.inode_uninit},
                                          {"block_uninit", i.block_uninit},
                                          {"itable_zeroed", i.zeroed},
                                          {"groups_with_unused", i.unused_groups},
                                          {"itable_unused", i.unused_inodes},
                                          {"bytes", i.table_bytes},
                                          {"groups_to_zero", i.to_do},
                                          {"groups_to_flag_only", i.to_flag},
                                          {"bytes_to_zero", i.bytes_to_do}};
  document["finished_by"] = view.finished_by;
  document["map"] = lazyinit::map_of_groups(view.opened.tables->tables(), kMapWidth);
  document["estimate"] = json::object{
      {"seconds", lazyinit::estimate(i, view.basis.multiplier, view.basis.cost).count()},
      {"multiplier", view.basis.multiplier},
      {"multiplier_from", view.basis.multiplier_from},
      {"bytes_per_second", view.basis.cost.bytes_per_second},
      {"bytes_per_second_from", view.basis.rate_from},
      {"ms_per_group", view.basis.group_ms()},
      {"ms_per_group_from", view.basis.group_from}};
  if (groups)
    document["group_runs"] = groups_json(lazyinit::runs_of_groups(view.opened.tables->tables()));
  print_text(json_text(document));
}

std::optional<InitItable> mount_option(const std::string& path) {
  const auto mounted = lazyinit::find_mount(path);
  if (!mounted.ok()) return std::nullopt;
  const auto option = lazyinit::thread_option(*mounted);
  return option.ok() ? std::optional(*option) : std::nullopt;
}

// Returns the program that zeroes tables when `finish` is called without further options.
std::string finished_by(const OpenedTarget& opened, bool mounted) {
  if (mounted) return "the kernel";
  std::string ours = "tune2fs-lazy";
  if (!opened.tables->has_group_checksums()) return ours;
  if (opened.tables->file_system().ends_within_block()) return ours;
  return tune2fs_with("finish").value_or(ours);
}

Result<int> run(const Options& options) {
  if (!options.watch.empty()) {
    const auto seconds = parse_u64(options.watch);
    if (!seconds.ok() || *seconds == 0 || *seconds > kMostSeconds)
      return usage_error("--watch=" + options.watch + ": give the seconds between two lines");
    return watch_mounted(options.image.image, *seconds);
  }
  E4R_TRY(const OpenedTarget opened, open_to_read(options.image));
  const auto stored = lazyinit::init_itable_of(opened.tables->mount_options());
  const InitItable in_force = stored.ok() ? *stored : InitItable{};
  const auto mounted = mount_option(options.image.image);
  const auto basis = make_basis(options, in_force, mounted);
  if (!basis.ok()) return usage_error(basis.error().message);
  const View view{opened,
                  lazyinit::take_inventory(opened.tables->tables()),
                  in_force,
                  stored.ok() ? "" : stored.error().message,
                  mounted,
                  *basis,
                  finished_by(opened, mounted.has_value())};
  warn_of_partial_block(opened);
  options.json ? print_status_json(view, options.groups) : print_status(view, options.groups);
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  declare_image(app, options->image, false);
  const DeclaredOption json = app.add_flag("--json", options->json, "for a program");
  app.add_flag("--groups", options->groups, "also list every group; equal neighbours share a line");
  app.add_option("--mult", options->mult, "estimate for this wait multiplier").type_name("N");
  app.add_option("--rate", options->rate, "estimate for this many bytes zeroed per second")
      .type_name("SIZE");
  app.add_option("--group-cost", options->group_cost,
                 "estimate with this many milliseconds per group in addition to its bytes")
      .type_name("MS");
  app.add_flag("--watch{10}", options->watch,
               "for a mounted device, print a line every 10 s (or --watch=SECONDS) with the pace "
               "of the kernel's thread, until nothing is left")
      .excludes(json);
  return on_image(options, run);
}

}  // namespace
}  // namespace cmd_status

const Command& status_command() {
  static const Command kCommand = {
      "status", "how many inode tables are initialised, according to the descriptors",
      "  tune2fs-lazy status disk.img\n"
      "  tune2fs-lazy status /dev/vg/data --groups\n"
      "  tune2fs-lazy status disk.img --mult 2 --rate 180M     how long would that take?\n"
      "  tune2fs-lazy status /dev/vg/data --watch              how long does it take?\n"
      "  tune2fs-lazy status disk.img --json\n",
      cmd_status::declare};
  return kCommand;
}

}  // namespace e4r::tools
