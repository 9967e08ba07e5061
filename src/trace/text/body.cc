// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/text/body.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <numeric>

#include "trace/text/fields.h"
#include "trace/trace.h"

namespace e4r::trace {
namespace {

using namespace fields;

using Ino = Number<"ino", &Event::ino>;
using Inode = Number<"inode", &Event::ino, "ino">;
using Group = Number<"group", &Event::group>;
using Transaction = Number<"transaction", &Event::block>;
using MbFlags = Flags<mb_flag_names>;
using FbFlags = Flags<fb_flag_names>;
using Len = Number<"len", &Event::count>;
using Lblk = Number<"lblk", &Event::logical, "logical">;
using Goal = Number<"goal", &Event::goal>;
using Lleft = Number<"lleft", &Event::left_logical>;
using Lright = Number<"lright", &Event::right_logical>;
using Pleft = Number<"pleft", &Event::left_block>;
using Pright = Number<"pright", &Event::right_block>;
using Block = Number<"block", &Event::block>;
using Count = Number<"count", &Event::count>;
using Pstart = Number<"pstart", &Event::block, "pa_pstart">;
using Lstart = Number<"lstart", &Event::logical, "pa_lstart">;
using PaLen = Number<"len", &Event::count, "pa_len">;
using Mapped = Number<"mapped", &Event::block, "pblk">;
using Sync = Ignored<"sync", "sync_commit">;

// The layouts of the bodies, under their names in events.def.
using RequestBlocks = Body<Ending::space, Device, Ino, MbFlags, Len, Lblk, Goal, Lleft, Lright,
                           Pleft, Pright, InputSize, InputWriters>;
using AllocateBlocks = Body<Ending::plain, Device, Ino, MbFlags, Len, Block, Lblk, Goal, Lleft,
                            Lright, Pleft, Pright, InputSize, InputWriters>;
using MballocAlloc =
    Body<Ending::plain, Device, Inode, GroupExtent<"orig", &Event::orig>,
         GroupExtent<"goal", &Event::goal_ex>, GroupExtent<"result", &Event::result>,
         Number<"blks", &Event::found, "found">, Number<"grps", &Event::groups, "groups">,
         SearchCriterion, MbFlags, Number<"tail", &Event::tail>, Broken, OrigGoalLen>;
using MballocPrealloc = Body<Ending::plain, Device, Inode, GroupExtent<"orig", &Event::orig>,
                             GroupExtent<"result", &Event::result>>;
using NewPa = Body<Ending::plain, Device, Ino, Pstart, PaLen, Lstart>;
using ReleaseInodePa = Body<Ending::plain, Device, Ino, Block, Count>;
using ReleaseGroupPa = Body<Ending::plain, Device, Pstart, PaLen>;
using DiscardPreallocations = Body<Ending::plain, Device, Ino, DiscardedCount, Needed>;
using MbDiscardPreallocations = Body<Ending::plain, Device, SignedNumber<"needed", &Event::count>>;
using FreeBlocks = Body<Ending::plain, Device, Ino, FileMode, Block, Count, FbFlags>;
using MballocExtent =
    Body<Ending::space, Device, Inode, GroupExtent<"extent", &Event::result, false, "result">>;
using BitmapLoad = Body<Ending::plain, Device, Group>;
using AllocateInode = Body<Ending::plain, Device, Ino, Number<"dir", &Event::parent>, FileMode>;
using FreeInode =
    Body<Ending::plain, Device, Ino, FileMode, Ignored<"uid">, Ignored<"gid">, Ignored<"blocks">>;
using CommitFlushing = Body<Ending::plain, Device, Transaction, Sync>;
using PrefetchBitmaps = Body<Ending::plain, Device, Group, Number<"next", &Event::count>,
                             Number<"ios", &Event::needed>>;
using EsExtent = Body<Ending::plain, Device, Ino, StatusRange, Mapped, StatusLetters>;
using EsDelayedBlock =
    Body<Ending::plain, Device, Ino, StatusRange, Mapped, StatusLetters, Ignored<"allocated">>;
using EsRemoveExtent = Body<Ending::plain, Device, Ino, StatusRange>;
using EsLookupEnter = Body<Ending::plain, Device, Ino, Number<"lblk", &Event::logical>>;
using EsLookupExit = Body<Ending::plain, Device, Ino, Answer>;
using EsCacheCount = Number<"cache_cnt", &Event::count>;
using EsScanEnter = Body<Ending::plain, Device, Number<"nr_to_scan", &Event::needed>, EsCacheCount>;
using EsScanExit = Body<Ending::plain, Device, Number<"nr_shrunk", &Event::found>, EsCacheCount>;
using EsShrink = Body<Ending::plain, Device, NumberAndComma<"nr_shrunk", &Event::found>,
                      Number<"scan_time", &Event::count>, Number<"nr_skipped", &Event::needed>,
                      Number<"retried", &Event::tail>, Absent<"scan_ns">, Absent<"nr_to_scan">,
                      Visited, Absent<"nr_spared">, Absent<"nr_inodes">>;
using DiscardBlocks = Body<Ending::plain, Device, Number<"blk", &Event::block>, Count>;
using ShiftRange = Body<Ending::plain, Device, Ino, Number<"offset", &Event::logical>, Len>;
using TrimAllFree = Body<Ending::plain, DeviceInParts, NumberAndComma<"group", &Event::group>,
                         NumberAndComma<"start", &Event::logical>, Number<"len", &Event::count>>;
using MarkedRun =
    Body<Ending::plain, Device, Group, Number<"start", &Event::logical>, Len, Absent<"__probe_ip">>;
using EndCommit = Body<Ending::plain, Device, Transaction, Sync, Ignored<"head">>;

struct Functions {
  bool (*read_in_order)(LineCursor&, Event&, BodyContext&);
  bool (*read_by_key)(LineCursor&, Event&, BodyContext&);
  void (*print)(std::string&, const Event&, Generation);
  RecordBody record;
};

template <class B>
constexpr Functions functions = {
    &B::read_in_order, &B::read_by_key, &B::print, {&B::record_fields, &B::flag_names, &B::take}};

// lost_events markers have neither a text body nor binary records.
struct Nothing {};
template <>
constexpr Functions functions<Nothing> = {};

constexpr std::array<Functions, kEventKinds> kFunctions = {
#define E4R_EVENT(kind, tag, name, body, model, want) functions<body>,
#include "trace/events.def"
};

struct KindName {
  EventKind kind;
  std::string_view name;
};
constexpr KindName kKindNames[] = {
#define E4R_EVENT(kind, tag, name, body, model, want) {EventKind::kind, name},
#include "trace/events.def"
};

// A collision-free hash table of the kinds by name. The hash uses the length and two letters, each
// multiplied by a factor.
struct KindTable {
  static constexpr std::size_t kSlots = 128;
  static constexpr std::size_t kShortestName = 8;
  std::size_t factor = 0, second_factor = 0;
  std::array<std::int16_t, kSlots> kinds = {};  // -1: none

  [[nodiscard]] constexpr std::size_t slot_of(std::string_view name) const {
    const auto letter = [&](std::size_t i) { return static_cast<unsigned char>(name[i]); };
    return (name.size() + letter(name.size() - 6) * factor +
            letter(name.size() - 8) * second_factor) %
           kSlots;
  }

  // Fills the table. Returns whether each name has its own slot.
  constexpr bool fill() {
    kinds.fill(-1);
    for (const auto& [kind, name] : kKindNames) {
      if (kind == EventKind::lost_events) continue;
      if (name.size() < kShortestName) throw "too short a name for the hash";
      std::int16_t& slot = kinds[slot_of(name)];
      if (slot >= 0) return false;
      slot = static_cast<std::int16_t>(kind);
    }
    return true;
  }
};

constexpr KindTable kKindTable = [] {
  KindTable table;
  for (table.factor = 1; table.factor < KindTable::kSlots; ++table.factor)
    for (table.second_factor = 1; table.second_factor < KindTable::kSlots; ++table.second_factor)
      if (table.fill()) return table;
  throw "no factors give each name a slot of its own";
}();

}  // namespace

bool is_of_ldiskfs(std::string_view name) {
  return name.starts_with(kLdiskfs);
}

std::optional<EventKind> kind_of(std::string_view name) {
  if (is_of_ldiskfs(name)) {
    const std::string ours = "ext4_" + std::string(name.substr(kLdiskfs.size()));
    return kind_of(ours);
  }
  if (name.size() < KindTable::kShortestName) return std::nullopt;
  const int kind = kKindTable.kinds[kKindTable.slot_of(name)];
  if (kind < 0 || event_name(static_cast<EventKind>(kind)) != name) return std::nullopt;
  return static_cast<EventKind>(kind);
}

bool parse_body(LineCursor scan, Event& event, BodyContext& context) {
  const Functions& f = kFunctions[static_cast<std::size_t>(event.kind)];
  LineCursor straight = scan;
  const std::uint64_t flags = unknown_flags(context, event), criteria = context.unknown_criteria;
  if (f.read_in_order(straight, event, context)) return true;
  unknown_flags(context, event) = flags;  // the second attempt counts them again
  context.unknown_criteria = criteria;
  Event fresh;
  fresh.kind = event.kind;
  fresh.cpu = event.cpu;
  fresh.pid = event.pid;
  fresh.time_ns = event.time_ns;
  event = fresh;
  return f.read_by_key(scan, event, context);
}

void print_body(std::string& out, const Event& event, Generation generation) {
  kFunctions[static_cast<std::size_t>(event.kind)].print(out, event, generation);
}

const RecordBody& record_body(EventKind kind) {
  return kFunctions[static_cast<std::size_t>(kind)].record;
}

Status note_misread(const BodyContext& context, const ReadOptions& options,
                    const std::string& where, TraceSummary& summary) {
  if (!context.criterion.misread() || summary.reread_before > 0) return {};
  if (!options.late_generation)
    return error(
        "{}: criterion 4 shows a 6.5 or 6.6 kernel, but earlier criteria were taken "
        "for 6.1's: give --generation 6.5",
        where);
  summary.reread_before = summary.events;
  return {};
}

void report_bodies(const BodyContext& context, TraceSummary& summary) {
  summary.generation = context.criterion.generation();
  summary.generation_guessed = context.criterion.guessed();
  summary.older_than = context.older_than;
  summary.of_ldiskfs = context.of_ldiskfs;
  summary.unknown_flags_of = context.unknown_flags;
  summary.unknown_flags = std::reduce(context.unknown_flags.begin(), context.unknown_flags.end());
  summary.unknown_criteria = context.unknown_criteria;
  summary.unknown_fields_of = context.unknown_fields;
  summary.unknown_fields =
      std::reduce(context.unknown_fields.begin(), context.unknown_fields.end());
}

namespace {

void print_lost_marker(std::string& out, const Event& event) {
  const auto to = std::back_inserter(out);
  if (event.count == 0)
    fmt::format_to(to, "CPU:{} [LOST EVENTS]\n", event.cpu);
  else
    fmt::format_to(to, "CPU:{} [LOST {} EVENTS]\n", event.cpu, event.count);
}

}  // namespace

void print_ftrace_header(std::string& out) {
  out +=
      "# tracer: nop\n"
      "#\n"
      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
      "#              | |         |   |||||     |         |\n";
}

void print_ftrace_event(std::string& out, const Event& event, Generation generation) {
  if (event.kind == EventKind::lost_events) return print_lost_marker(out, event);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto to = std::back_inserter(out);
  const std::uint64_t seconds = event.time_ns / kSecond, ns = event.time_ns % kSecond;
  fmt::format_to(to, FMT_COMPILE("           <...>-{:<7} [{:03}] ..... {:5}."), event.pid,
                 event.cpu, seconds);
  if (ns % 1000 == 0)
    fmt::format_to(to, FMT_COMPILE("{:06}: "), ns / 1000);
  else
    fmt::format_to(to, FMT_COMPILE("{:09}: "), ns);
  out += event_name(event.kind);
  out += ": ";
  print_body(out, event, generation);
  out += '\n';
}

}  // namespace e4r::trace
