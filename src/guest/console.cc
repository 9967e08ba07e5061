// SPDX-License-Identifier: GPL-2.0-or-later
#include "guest/console.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "util/escaped.h"

namespace e4r::guest {
namespace {

// Words of lines that tell what went wrong, the most telling first.
constexpr std::array<std::string_view, 7> kTelling = {"EXT4-fs error",
                                                      "kernel BUG",
                                                      "BUG: ",
                                                      "WARNING: ",
                                                      "Kernel mode fault",
                                                      "Kernel panic",
                                                      "this operation takes long"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// The function of a line of a backtrace, " [<60012345>] ? ext4_mb_new_blocks+0x1a/0x20". Empty when
// the line has no function, or not surely the right one: the unwinder marks its guesses with "?",
// and the return address of a call that never returns can be the start of the next function.
std::string_view call_of(std::string_view line) {
  const std::size_t at = line.find(">] ");
  if (at == line.npos) return {};
  const std::string_view name = line.substr(at + 3);
  if (name.starts_with("? ") || name.find("+0x0/") != name.npos) return {};
  return name.substr(0, name.find('+'));
}

// The calls of the first backtrace at or after a line, down to the driver's entry. Omits the
// functions that only report the trouble.
std::vector<std::string> calls_behind(const std::vector<std::string_view>& lines, std::size_t at) {
  constexpr std::size_t kMost = 12;
  constexpr std::array<std::string_view, 11> kTellers = {"show_stack",
                                                         "dump_stack",
                                                         "__warn",
                                                         "warn_slowpath",
                                                         "panic",
                                                         "vpanic",
                                                         "dump_stack_lvl",
                                                         "_printk",
                                                         "ext4_handle_error",
                                                         "__ext4_error",
                                                         "__ext4_grp_locked_error"};
  std::vector<std::string> out;
  while (at < lines.size() && lines[at].find("Call Trace") == std::string_view::npos) ++at;
  for (++at; at < lines.size() && out.size() < kMost; ++at) {
    const bool in_trace = lines[at].find("[<") != std::string_view::npos;
    if (!in_trace) break;
    const std::string_view call = call_of(lines[at]);
    if (call.empty()) continue;
    if (call.starts_with("e4r_")) break;
    if (out.empty() && std::ranges::any_of(kTellers, [call](std::string_view teller) {
          return call.starts_with(teller);
        }))
      continue;
    out.push_back(escaped(call));
  }
  return out;
}

struct Kept {
  std::mutex mutex;
  bool wanted = false;
  std::string text;
};
Kept& kept() {
  static Kept the;
  return the;
}

}  // namespace

Trouble trouble_of(std::string_view console) {
  constexpr std::size_t kMost = 400;  // bytes of a line
  const std::vector<std::string_view> lines = lines_of(console);
  if (lines.empty()) return {"it printed nothing", {}};
  const auto has = [](std::string_view line, std::string_view words) {
    return line.find(words) != line.npos;
  };
  for (const std::string_view telling : kTelling) {
    const auto at =
        std::ranges::find_if(lines, [&](std::string_view line) { return has(line, telling); });
    if (at == lines.end()) continue;
    return {escaped(at->substr(0, kMost)),
            calls_behind(lines, static_cast<std::size_t>(at - lines.begin()))};
  }
  // Falls back to the reason of a failed mount, or to the first line of a program that is not a
  // kernel.
  std::string_view said = lines.front();
  for (const std::string_view line : lines)
    if ((has(line, "EXT4-fs") || has(line, "ext4: ")) && !has(line, "mounted filesystem"))
      said = line;
  return {escaped(said.substr(0, kMost)), {}};
}

std::string trouble_text(std::string_view console) {
  const Trouble trouble = trouble_of(with_names_of_tree(console));
  if (trouble.calls.empty()) return trouble.what;
  return fmt::format("{}; called by {}", trouble.what, fmt::join(trouble.calls, " < "));
}

std::string with_names_of_tree(std::string_view console) {
  constexpr std::array<std::array<std::string_view, 2>, 2> kNames = {
      {{"mballoc-tree.c", "mballoc.c"}, {"ext4-tree.h", "ext4.h"}}};
  std::string out(console);
  for (const auto& [ours, theirs] : kNames)
    for (std::size_t at = out.find(ours); at != out.npos; at = out.find(ours, at + theirs.size()))
      out.replace(at, ours.size(), theirs);
  return out;
}

void keep_consoles() {
  const std::lock_guard lock(kept().mutex);
  kept().wanted = true;
}

void note_console(std::string_view kernel, std::string_view console) {
  const std::lock_guard lock(kept().mutex);
  if (!kept().wanted) return;
  kept().text += fmt::format("==> {} <==\n{}", escaped(kernel), with_names_of_tree(console));
  if (!kept().text.ends_with('\n')) kept().text += '\n';
}

std::string kept_consoles() {
  const std::lock_guard lock(kept().mutex);
  return kept().text;
}

}  // namespace e4r::guest
