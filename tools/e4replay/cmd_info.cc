// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <iterator>
#include <memory>

#include "capture/capture.h"
#include "common/command.h"
#include "common/print_line.h"
#include "e4replay/options.h"
#include "image/image.h"
#include "json/text.h"
#include "util/file.h"
#include "util/text.h"
#include "util/units.h"

namespace e4r::tools {
namespace cmd_info {
namespace {

struct Options {
  std::string path;
  std::string json;
};

// Lines of the form "label   value". Values may contain foreign text.
class Lines {
 public:
  template <class... A>
  void add(std::string_view label, fmt::format_string<A...> format, A&&... args) {
    fmt::format_to(std::back_inserter(out_), "{:<10} ", label);
    out_ += escape(fmt::format(format, std::forward<A>(args)...)) + '\n';
  }
  [[nodiscard]] const std::string& text() const { return out_; }

 private:
  std::string out_;
};

// Names the inputs that the capture has and no tracepoint shows.
std::string inputs_text(const capture::Capture& capture) {
  std::string out = capture.start().events == "full" ? "; with file sizes and open writers" : "";
  const capture::EndFacts* end = capture.end();
  if (!capture.start().ordered || (end != nullptr && end->unordered)) return out;
  return out + (out.empty() ? "; with the order of effect" : ", and the order of effect");
}

void add_end(Lines& lines, const capture::Capture& capture) {
  const capture::EndFacts* end = capture.end();
  if (end == nullptr) {
    lines.add("end", "{}",
              capture.is_being_recorded() ? "not yet: it is still being recorded"
                                          : "missing: the file is truncated");
    return;
  }
  if (!end->time.empty())
    lines.add("end", "{}: {} after {:.1f} s{}", end->time, end->reason, end->elapsed_s,
              end->exit_status ? fmt::format(", status {}", *end->exit_status) : "");
  const std::uint64_t lost = capture::all_lost(end->lost);
  lines.add("events", "{}{}{}", format_count(end->events),
            lost == 0 ? ", none lost" : fmt::format(", {} lost", format_count(lost)),
            inputs_text(capture));
}

std::string snapshot_text(const capture::StartFacts& start) {
  if (start.snapshot == "freeze" || start.snapshot == "reflink")
    return fmt::format("{}, writers waited {:.3f} s{}", start.snapshot, start.frozen_s,
                       start.settled ? ", after unused inodes were dropped" : "");
  return start.snapshot;
}

// Returns for example ", on /data (rw,relatime)". An anonymous capture lacks some of these facts.
std::string mount_text(const capture::StartFacts& start) {
  if (!start.mounted) return ", not mounted at the start";
  std::string out =
      start.mount_point.empty() ? ", mounted" : fmt::format(", on {}", start.mount_point);
  const std::string options = capture::each_option_once(start.mount_options);
  return options.empty() ? out : out + fmt::format(" ({})", options);
}

Result<std::string> info_text(const capture::Capture& capture) {
  const capture::StartFacts& s = capture.start();
  Lines lines;
  lines.add("capture", "{}, by {}", capture.path(), s.recorder);
  // A capture that was made from other files has no facts about the machine.
  if (!s.kernel.empty())
    lines.add("kernel", "Linux {} {}, {} possible CPUs", s.kernel, s.machine, s.possible_cpus);
  if (!s.device_name.empty())
    lines.add("device", "{} ({}), {}{}", s.device_name, s.device,
              s.rotational ? "rotational" : "not rotational", mount_text(s));
  if (!s.command.empty()) lines.add("command", "{}", s.command);
  if (!s.time.empty()) lines.add("start", "{}", s.time);
  add_end(lines, capture);
  if (capture.image().empty()) {
    lines.add("image", "none");
  } else {
    image::OpenOptions open;
    open.load_bitmaps = false;
    open.name = capture.path();
    E4R_TRY(const image::Image image, image::Image::open(capture.image().path(), open));
    const image::SuperblockInfo& g = image.superblock();
    lines.add("image", "{}, {} blocks, {} groups, {} free; {}",
              format_size(g.blocks_count * g.block_size()), format_size(g.block_size()),
              format_count(g.groups), format_size(g.free_blocks_count * g.block_size()),
              snapshot_text(s));
  }
  std::string names;
  for (const auto& [name, text] : capture.texts()) names += (names.empty() ? "" : " ") + name;
  lines.add("texts", "{}", names);
  return lines.text();
}

// Returns a JSON document with the capture's facts as they are stored, and with its texts.
std::string info_json(const capture::Capture& capture) {
  namespace json = boost::json;
  boost::system::error_code ec;
  json::object out = {{"schema", "e4replay-info/1"},
                      {"start", json::parse(to_json(capture.start()), ec)},
                      {"cut_short", capture.cut_short()},
                      {"being_recorded", capture.is_being_recorded()}};
  if (capture.end() != nullptr) out["end"] = json::parse(to_json(*capture.end()), ec);
  json::object texts;
  for (const auto& [name, text] : capture.texts())
    if (!name.ends_with(".json")) texts[name] = text;
  out["texts"] = std::move(texts);
  out["image_bytes"] = capture.image().size();
  return json_line(out) + "\n";
}

Result<int> run(const Options& options) {
  Outputs outputs;
  outputs.reads(options.path);
  E4R_CHECK(outputs.writes(options.json));
  E4R_TRY(const capture::Capture capture, capture::Capture::open(options.path));
  for (const std::string& note : capture.notes()) warn(note);
  if (!options.json.empty())
    E4R_CHECK(write_output(info_json(capture), outputs.name_of(options.json)));
  if (options.json == "-") return kDone;
  E4R_TRY(const std::string text, info_text(capture));
  print_report(text);
  return kDone;
}

std::function<Result<int>()> declare(CommandLine& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "capture",
         [options](const std::string& word) -> Status {
           options->path = find_capture(word);
           return {};
         },
         "what `e4replay record` wrote")
      .required()
      .type_name("FILE.e4c");
  app.add_option("--json", options->json,
                 "also write JSON to FILE; with -, print JSON instead of the text")
      .type_name("FILE");
  return [options] { return run(*options); };
}

}  // namespace
}  // namespace cmd_info

const Command& info_command() {
  static const Command kCommand = {
      "info", "what is in a capture: machine, file system, time, losses",
      "  e4replay info run.e4c\n"
      "  e4replay info run.e4c --json -                  for a program, with the kernel's files\n",
      cmd_info::declare};
  return kCommand;
}

}  // namespace e4r::tools
