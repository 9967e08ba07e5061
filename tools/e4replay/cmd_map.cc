// SPDX-License-Identifier: GPL-2.0-or-later
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "app/inputs.h"
#include "common/command.h"
#include "common/run.h"
#include "report/space_picture.h"
#include "util/file.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_map {
namespace {

constexpr unsigned kMost = 1000;  // maximum number of columns, and of rows
constexpr unsigned kBeside = 13;  // characters of a line that are not cells
constexpr unsigned kAbove = 4;    // lines that are not rows of cells
constexpr unsigned kLeastRows = 8, kMostRows = 24;

struct Options {
  std::string image;
  unsigned columns = 0, rows = 0;  // 0: as many as fit in the terminal
  std::string by = "free";
  bool ascii = false;
  std::string svg;
  std::string html;
  std::string json;
  std::string watch;
  image::OpenOptions open;
};

// Whether this user's terminal shows characters other than ASCII.
bool speaks_utf8() {
  const locale_t locale = newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr) return false;
  const std::string codeset = nl_langinfo_l(CODESET, locale);
  freelocale(locale);
  return codeset == "UTF-8";
}

struct Form {
  report::TextForm text;
  std::uint64_t cells = 0;
};

Result<Form> form_of(const Options& options) {
  for (const unsigned size : {options.columns, options.rows})
    if (size > kMost) return error("{} is too many: give at most {}", size, kMost);
  Form out;
  winsize terminal = {};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0 && terminal.ws_col > 0;
  unsigned rows = 16;
  if (known) {
    out.text.columns = std::clamp<unsigned>(terminal.ws_col, kBeside + 8, kMost) - kBeside;
    rows = std::clamp(terminal.ws_row > kAbove + 1 ? terminal.ws_row - kAbove - 1 : 0u, kLeastRows,
                      kMostRows);
  }
  if (options.columns != 0) out.text.columns = options.columns;
  if (options.rows != 0) rows = options.rows;
  out.text.shown = options.by == "order" ? report::Shown::order : report::Shown::free;
  out.text.ascii = options.ascii || !speaks_utf8();
  out.cells = std::uint64_t{out.text.columns} * rows;
  return out;
}

// Opens the image again, so that a mounted device is shown in its current state.
Result<report::SpacePicture> look(const Options& options, std::uint64_t cells, bool first) {
  image::OpenOptions open = options.open;
  open.load_bitmaps = false;
  E4R_TRY(app::OpenedImage opened, app::open_image(options.image, open));
  E4R_TRY(report::SpacePicture picture, report::measure_space(opened.image, cells));
  if (first)
    for (const std::string& warning : opened.image.warnings()) warn(warning);
  return picture;
}

// Redraws the map until a signal comes.
Result<int> watch(const Options& options, const Form& form, std::chrono::milliseconds period) {
  constexpr std::chrono::milliseconds kStep(50);
  const std::atomic<bool>& stop = stop_on_signals();
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (bool first = true; !stop; first = false) {
    E4R_TRY(const report::SpacePicture picture, look(options, form.cells, first));
    const std::string before = terminal ? "\033[H\033[2J" : first ? "" : "\n";
    E4R_CHECK(write_output(before + space_text(picture, form.text), "-"));
    const auto until = std::chrono::steady_clock::now() + period;
    while (!stop && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::min(kStep, period));
  }
  return kDone;
}

Result<int> run(const Options& options) {
  const auto form = form_of(options);
  if (!form.ok()) return usage_error("--columns, --rows: " + form.error().message);
  if (!options.watch.empty()) {
    const auto period = parse_duration(options.watch);
    if (!period.ok()) return usage_error("--watch: " + period.error().message);
    if (period->count() == 0) return usage_error("--watch: give a time above 0, such as 2s");
    if (!options.svg.empty() || !options.html.empty() || !options.json.empty())
      return usage_error("--watch draws text repeatedly: leave out --svg, --html and --json");
    return watch(options, *form, *period);
  }
  Outputs outputs;
  outputs.reads(options.image);
  E4R_CHECK(outputs.writes(options.svg));
  E4R_CHECK(outputs.writes(options.html));
  E4R_CHECK(outputs.writes(options.json));
  E4R_TRY(const report::SpacePicture picture, look(options, form->cells, true));
  if (!options.svg.empty())
    E4R_CHECK(write_output(space_svg(picture, form->text.columns), outputs.name_of(options.svg)));
  if (!options.html.empty())
    E4R_CHECK(write_output(space_html(picture, form->text.columns), outputs.name_of(options.html)));
  if (!options.json.empty())
    E4R_CHECK(write_output(space_json(picture), outputs.name_of(options.json)));
  if (options.svg != "-" && options.html != "-" && options.json != "-")
    E4R_CHECK(write_output(space_text(picture, form->text), "-"));
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  app.add_option("image", options->image, "ext4 image or block device, read only; or a capture")
      .required()
      .type_name("IMAGE|FILE.e4c");
  app.add_option("--by", options->by,
                 "what a character shows: free, how much of its blocks is free; order, the order "
                 "of the largest free chunk (default: free)")
      .type_name("WHAT")
      .one_of({"free", "order"});
  app.add_option("--columns", options->columns,
                 "characters in a line (default: as many as fit in the terminal)")
      .type_name("N");
  app.add_option("--rows", options->rows, "lines (default: as many as fit in the terminal)")
      .type_name("N");
  app.add_flag("--ascii", options->ascii, "draw with ASCII characters");
  app.add_option("--svg", options->svg,
                 "also write the picture as SVG; with -, print SVG instead of the text")
      .type_name("FILE");
  app.add_option("--html", options->html,
                 "also write the picture as a page; with -, instead of the text")
      .type_name("FILE");
  app.add_option("--json", options->json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  app.add_option("--watch", options->watch, "draw again after this time, such as 2s, until Ctrl-C")
      .type_name("TIME");
  app.add_flag("--strict", options->open.strict,
               "stop at a damaged group instead of showing it as full");
  app.add_option("--threads", options->open.threads, "threads that read bitmaps (one per CPU)")
      .type_name("N");
  return [options] { return run(*options); };
}

}  // namespace
}  // namespace cmd_map

const Command& map_command() {
  static const Command kCommand = {
      "map", "where free space lies, as a picture",
      "  e4replay map disk.img\n"
      "  e4replay map disk.img --by order              how long the free extents are\n"
      "  e4replay map /dev/sdb1 --watch 2s             a mounted device, redrawn every 2 s\n"
      "  e4replay map run.e4c --svg start.svg          a capture's start image\n",
      cmd_map::declare};
  return kCommand;
}

}  // namespace e4r::tools
