// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

#include "allocator/preallocations.h"
#include "replay/checkpoint.h"

namespace e4r::replay {
namespace {

using allocator::PlantedPrealloc;
using allocator::StreamGoals;
using state::GroupIndex;

constexpr std::array kIndexes = {std::pair{GroupIndex::none, "none"},
                                 std::pair{GroupIndex::lists, "lists"},
                                 std::pair{GroupIndex::lists_keep_full, "lists-keep-full"},
                                 std::pair{GroupIndex::tree, "tree"},
                                 std::pair{GroupIndex::tree_to_end, "tree-to-end"},
                                 std::pair{GroupIndex::sets, "sets"}};

class Lines {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void shape(const state::TreeShape& shape) {
    for (const state::ShapeNode& node : shape)
      if (node.id == state::ShapeNode::kNone)
        add(" -");
      else
        add(" {}{}", node.id, node.red ? "r" : "b");
    add("\n");
  }
  void lists(std::string_view name, const std::vector<std::vector<Checkpoint::Listed>>& lists) {
    for (std::size_t order = 0; order < lists.size(); ++order) {
      if (lists[order].empty()) continue;
      add("{} {}", name, order);
      for (const Checkpoint::Listed& listed : lists[order])
        add(" {}{}", listed.group, listed.moved ? "" : "?");
      add("\n");
    }
  }
  void numbers(std::string_view name, const std::vector<std::uint32_t>& all) {
    if (all.empty()) return;
    add("{}", name);
    for (const std::uint32_t one : all) add(" {}", one);
    add("\n");
  }
  void prealloc(const Checkpoint::Prealloc& pa) {
    const bool of_cpu = pa.kind == state::Prealloc::Kind::group;
    add("{} ", of_cpu ? "of-cpu" : "of-inode");
    if (pa.owner == PlantedPrealloc::kNobody)
      add("-");
    else
      add("{}", pa.owner);
    add(" {} {} {} {} {} {}", pa.made, pa.group, pa.start, pa.made_len, pa.len, pa.logical);
    for (const ClusterRange& run : pa.unused) add(" {} {}", run.first, run.count);
    add("\n");
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// The words of a line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  std::string_view word() {
    const auto end = std::min(rest_.find(' '), rest_.size());
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return out;
  }
  template <class T = std::uint32_t>
  T number() {
    return parse<T>(word());
  }
  template <class T>
  T parse(std::string_view text) {
    T out = 0;
    const auto end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, out);
    if (failed != std::errc() || stop != end || text.empty()) ok_ = false;
    return out;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

state::TreeShape read_shape(Words& words) {
  state::TreeShape out;
  while (!words.at_end() && words.ok()) {
    const std::string_view word = words.word();
    if (word == "-") {
      out.push_back({});
      continue;
    }
    if (word.empty() || (word.back() != 'r' && word.back() != 'b')) words.fail();
    out.push_back(
        {words.parse<std::uint32_t>(word.substr(0, std::max<std::size_t>(word.size(), 1) - 1)),
         word.ends_with('r')});
  }
  return out;
}

void read_list(Words& words, std::vector<std::vector<Checkpoint::Listed>>& lists) {
  const auto order = words.number();
  if (order >= state::kMaxOrders) return words.fail();
  if (lists.size() <= order) lists.resize(order + 1);
  while (!words.at_end() && words.ok()) {
    std::string_view word = words.word();
    const bool moved = !word.ends_with('?');
    if (!moved) word.remove_suffix(1);
    lists[order].push_back({words.parse<std::uint32_t>(word), moved});
  }
}

void read_numbers(Words& words, std::vector<std::uint32_t>& out) {
  while (!words.at_end() && words.ok()) out.push_back(words.number());
}

void read_prealloc(Words& words, state::Prealloc::Kind kind, Checkpoint& out) {
  Checkpoint::Prealloc& pa = out.preallocs.emplace_back();
  pa.kind = kind;
  const std::string_view owner = words.word();
  pa.owner = owner == "-" ? PlantedPrealloc::kNobody : words.parse<std::uint64_t>(owner);
  pa.made = words.number<std::uint64_t>();
  for (std::uint32_t* field : {&pa.group, &pa.start, &pa.made_len, &pa.len, &pa.logical})
    *field = words.number();
  while (!words.at_end() && words.ok()) {
    ClusterRange& run = pa.unused.emplace_back();
    run.first = words.number();
    run.count = words.number();
  }
}

void read_stream(Words& words, Checkpoint& out) {
  constexpr std::uint32_t kMostStreams = 1 << 20;
  const auto stream = words.number();
  if (stream >= kMostStreams) return words.fail();
  if (out.streams.size() <= stream) out.streams.resize(stream + 1);
  std::vector<StreamGoals::Goal>& goals = out.streams[stream];
  goals.clear();
  while (!words.at_end() && words.ok()) {
    StreamGoals::Goal& goal = goals.emplace_back();
    goal.group = words.number();
    goal.start = words.number();
  }
  for (std::size_t i = 0; i < goals.size(); ++i)
    goals[goals.size() - 1 - i].request = allocator::kLatestGoal - 1 - i;
}

void read_discard(Words& words, Checkpoint& out) {
  allocator::Trim& trim = out.discards.emplace_back();
  for (std::uint32_t* field : {&trim.group, &trim.start, &trim.end, &trim.minlen})
    *field = words.number();
  const std::string_view flags = words.word();
  trim.begun = flags.find('b') != std::string_view::npos;
  trim.from_first = flags.find('f') != std::string_view::npos;
  trim.all = flags.find('a') != std::string_view::npos;
  trim.even_trimmed = flags.find('e') != std::string_view::npos;
  trim.seen = words.number<std::uint64_t>();
}

void read_file(Words& words, Checkpoint& out) {
  Checkpoint::File& file = out.files.emplace_back();
  file.ino = words.number<std::uint64_t>();
  file.facts.size = words.number<std::uint64_t>();
  const auto mode = words.number();
  if (mode > static_cast<std::uint32_t>(allocator::Mode::noprealloc)) words.fail();
  file.facts.mode = static_cast<allocator::Mode>(mode);
  file.facts.regular = words.number() != 0;
}

void read_index(Words& words, Checkpoint& out) {
  const std::string_view name = words.word();
  const auto found =
      std::ranges::find_if(kIndexes, [&](const auto& one) { return one.second == name; });
  if (found == kIndexes.end()) return words.fail();
  out.index = found->first;
}

// Reads a line. Returns false for words that only a later version writes, because ignoring them
// would lose information.
bool read_line(std::string_view line, Checkpoint& out) {
  Words words(line);
  const std::string_view what = words.word();
  if (what == "index") {
    read_index(words, out);
  } else if (what == "streams") {
    const auto count = words.number();
    if (count > 1 << 20) words.fail();
    if (words.ok()) out.streams.resize(count, {{0, 0, allocator::kLatestGoal - 1}});
  } else if (what == "stream") {
    read_stream(words, out);
  } else if (what == "cursor") {
    out.cursor = words.number();
  } else if (what == "trials") {
    out.trials = words.number<std::uint64_t>();
  } else if (what == "largest") {
    read_list(words, out.largest);
  } else if (what == "average") {
    read_list(words, out.average);
  } else if (what == "tree") {
    out.tree = read_shape(words);
  } else if (what == "first-free") {
    const auto group = words.number();
    out.first_free[group] = words.number();
  } else if (what == "trimmed") {
    read_numbers(words, out.trimmed);
  } else if (what == "of-inode") {
    read_prealloc(words, state::Prealloc::Kind::inode, out);
  } else if (what == "of-cpu") {
    read_prealloc(words, state::Prealloc::Kind::group, out);
  } else if (what == "freed") {
    Checkpoint::Freed& freed = out.freed.emplace_back();
    for (std::uint32_t* field : {&freed.group, &freed.start, &freed.count}) *field = words.number();
  } else if (what == "freed-tree") {
    const auto group = words.number();
    out.freed_shapes[group] = read_shape(words);
  } else if (what == "discard") {
    read_discard(words, out);
  } else if (what == "freeing-data") {
    read_numbers(words, out.freeing_data);
  } else if (what == "file") {
    read_file(words, out);
  } else {
    return false;
  }
  return words.ok() && words.at_end();
}

constexpr std::string_view kFirstLine = "checkpoint 1";

}  // namespace

std::string Checkpoint::text_with(const std::vector<File>& kept) const {
  Lines out;
  out.add("{}\n", kFirstLine);
  for (const auto& [kind, name] : kIndexes)
    if (kind == index) out.add("index {}\n", name);
  out.add("trials {}\ncursor {}\nstreams {}\n", trials, cursor, streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const auto& goals = streams[i];
    if (goals.size() == 1 && goals[0].group == 0 && goals[0].start == 0) continue;
    out.add("stream {}", i);
    for (const StreamGoals::Goal& goal : goals) out.add(" {} {}", goal.group, goal.start);
    out.add("\n");
  }
  out.lists("largest", largest);
  out.lists("average", average);
  if (!tree.empty()) {
    out.add("tree");
    out.shape(tree);
  }
  for (const auto& [group, first] : std::map(first_free.begin(), first_free.end()))
    out.add("first-free {} {}\n", group, first);
  out.numbers("trimmed", trimmed);
  for (const Prealloc& pa : preallocs) out.prealloc(pa);
  for (const Freed& one : freed) out.add("freed {} {} {}\n", one.group, one.start, one.count);
  for (const auto& [group, shape] : std::map(freed_shapes.begin(), freed_shapes.end())) {
    out.add("freed-tree {}", group);
    out.shape(shape);
  }
  for (const allocator::Trim& trim : discards)
    out.add("discard {} {} {} {} -{}{}{}{} {}\n", trim.group, trim.start, trim.end, trim.minlen,
            trim.begun ? "b" : "", trim.from_first ? "f" : "", trim.all ? "a" : "",
            trim.even_trimmed ? "e" : "", trim.seen);
  out.numbers("freeing-data", freeing_data);
  std::vector<File> sorted = kept;
  std::ranges::sort(sorted, {}, &File::ino);
  for (const File& file : sorted)
    out.add("file {} {} {} {}\n", file.ino, file.facts.size, static_cast<int>(file.facts.mode),
            file.facts.regular ? 1 : 0);
  return out.take();
}

Result<Checkpoint> Checkpoint::parse(std::string_view text) {
  Checkpoint out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool ok = number == 1 ? line == kFirstLine : read_line(line, out);
    if (!ok) return error("line {} is not one of a checkpoint that this program knows", number);
  }
  return out;
}

}  // namespace e4r::replay
