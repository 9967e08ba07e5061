// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/tep/decoder.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

namespace e4r::trace {
namespace {

// More than any record has room for (a page), and more than the kernel numbers its events up to.
constexpr int kMaxSize = 1 << 16;
constexpr int kMaxId = 1 << 16;
constexpr std::size_t kMaxSymbols = 256;

bool good_place(const tep_format_field& f) {
  return f.offset >= 0 && (f.size == 1 || f.size == 2 || f.size == 4 || f.size == 8) &&
         f.offset <= kMaxSize - f.size;
}
RecordPlace place_of(const tep_format_field& f) {
  return {static_cast<std::uint32_t>(f.offset), static_cast<std::uint32_t>(f.size)};
}

const tep_format_field* find(const tep_format_field* list, std::string_view name) {
  for (; list != nullptr; list = list->next)
    if (list->name != nullptr && list->name == name) return list;
  return nullptr;
}

const tep_print_arg* find_arg(const tep_event& event, tep_print_arg_type type) {
  const tep_print_arg* arg = event.print_fmt.args;
  while (arg != nullptr && arg->type != type) arg = arg->next;
  return arg;
}

// A name's value: a number, or else an enumerator, which the kernel has not put into numbers.
bool value_of(const tep_print_flag_sym& s, std::uint64_t& value) {
  if (s.value == nullptr || s.str == nullptr) return false;
  char* end = nullptr;
  value = std::strtoull(s.value, &end, 0);
  return end != s.value && *end == '\0';
}

// How the kernel names the flags; nothing when all that it names is called so in `ours`, too.
std::vector<RecordNames::Flag> flags_of(const tep_event& event, std::span<const FlagName> ours) {
  const tep_print_arg* arg = find_arg(event, TEP_PRINT_FLAGS);
  std::vector<RecordNames::Flag> out;
  bool same = true;
  for (const auto* s = arg != nullptr ? arg->flags.flags : nullptr; s != nullptr; s = s->next) {
    RecordNames::Flag flag = {0, 0};
    if (!value_of(*s, flag.mask) || flag.mask == 0) continue;
    for (const FlagName& f : ours)
      if (f.name == s->str) flag.bits = f.bit;
    same &= flag.mask == flag.bits;
    out.push_back(flag);
  }
  if (same) out.clear();
  return out;
}

// The names of the criteria by number; an enumerator's number is its place.
std::vector<std::string> symbols_of(const tep_event& event) {
  const tep_print_arg* arg = find_arg(event, TEP_PRINT_SYMBOL);
  std::vector<std::string> out;
  std::uint64_t number = 0;
  for (const auto* s = arg != nullptr ? arg->symbol.symbols : nullptr; s != nullptr;
       s = s->next, ++number) {
    std::uint64_t value = 0;
    if (!value_of(*s, value)) value = number;
    if (s->str == nullptr || value >= kMaxSymbols) continue;
    if (out.size() <= value) out.resize(value + 1);
    out[value] = s->str;
  }
  return out;
}

}  // namespace

Result<RecordDecoder::Layout> RecordDecoder::layout_of(const tep_event& event, EventKind kind) {
  Layout layout;
  layout.kind = kind;
  layout.name = event.name;
  const RecordBody& body = record_body(kind);
  const std::vector<RecordField> wanted = body.fields();
  for (const RecordField& w : wanted) {
    const tep_format_field* field = find(event.format.fields, w.name);
    if (field == nullptr && w.required)
      return error("the format of {} has no field {}", event.name, w.name);
    if (field != nullptr && !good_place(*field))
      return error("the format of {} has field {} at byte {}, {} long", event.name, w.name,
                   field->offset, field->size);
    layout.places.push_back(field == nullptr ? RecordPlace() : place_of(*field));
  }
  for (const auto* f = event.format.fields; f != nullptr; f = f->next)
    layout.strangers |= f->name != nullptr &&
                        std::ranges::find(wanted, f->name, &RecordField::name) == wanted.end();
  layout.names.flags = flags_of(event, body.flag_names());
  if (kind != EventKind::mballoc_alloc) return layout;
  // Without its print format nobody knows what the criteria mean.
  if ((static_cast<unsigned>(event.flags) & TEP_EVENT_FL_FAILED) != 0)
    return error("the print format of {} cannot be read", event.name);
  layout.names.symbols = symbols_of(event);
  return layout;
}

Status RecordDecoder::add(const tep_event& event) {
  if (event.id < 0 || event.id >= kMaxId || event.name == nullptr) return {};
  const auto kind = kind_of(event.name);
  Layout layout;
  layout.name = event.name;
  // Who else names an event of his (a probe, say) like one of ours is not meant.
  if (kind && event.system != nullptr && event_system(*kind) == event.system) {
    E4R_TRY(layout, layout_of(event, *kind));
    known_[static_cast<std::size_t>(*kind)] = true;
  }
  const std::array<std::string_view, 2> names = {"common_type", "common_pid"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const tep_format_field* field = find(event.format.common_fields, names[i]);
    if (field != nullptr && good_place(*field)) common_[i] = place_of(*field);
  }
  const auto id = static_cast<std::size_t>(event.id);
  if (by_id_.size() <= id) by_id_.resize(id + 1);
  layouts_.push_back(std::move(layout));
  by_id_[id] = static_cast<std::uint16_t>(layouts_.size());
  return {};
}

Result<RecordDecoder> RecordDecoder::create(tep_handle& tep, Generation declared) {
  RecordDecoder decoder;
  decoder.context_.criterion = CriterionReader(declared);
  decoder.swapped_ = tep_is_file_bigendian(&tep) != (std::endian::native == std::endian::big);
  const int count = tep_get_events_count(&tep);
  for (int i = 0; i < std::min(count, kMaxId - 1); ++i) {
    const tep_event* event = tep_get_event(&tep, i);
    if (event != nullptr) E4R_CHECK(decoder.add(*event));
  }
  std::size_t common = 0;
  for (const RecordPlace& p : decoder.common_) {
    if (p.size == 0 && count > 0)
      return error("the events' formats lack common_type or common_pid");
    common = std::max<std::size_t>(common, p.offset + p.size);
  }
  for (Layout& layout : decoder.layouts_) {
    layout.size = common;
    for (const RecordPlace& p : layout.places)
      layout.size = std::max<std::size_t>(layout.size, p.offset + p.size);
  }
  return decoder;
}

RecordDecoder::Outcome RecordDecoder::malformed(const Layout& layout, std::string_view what) {
  problem_ = fmt::format("malformed {} event: {}", layout.name, what);
  return Outcome::malformed;
}

RecordDecoder::Outcome RecordDecoder::decode(const tep_record& record, Event& out) {
  static const RecordNames kNoNames;
  const auto size = static_cast<std::size_t>(std::max(record.size, 0));
  const Record common(record.data, common_.data(), swapped_, kNoNames);
  std::uint32_t id = 0;
  if (record.data == nullptr || common_[0].size == 0 ||
      size < std::size_t{common_[0].offset} + common_[0].size || !common.number(0, id)) {
    problem_ = "malformed record: too short for an event's number";
    return Outcome::malformed;
  }
  const std::size_t index = id < by_id_.size() ? by_id_[id] : 0;
  if (index == 0 || layouts_[index - 1].kind == EventKind::lost_events) {
    other_name_ = index == 0 ? std::string_view() : layouts_[index - 1].name;
    return Outcome::other;
  }
  const Layout& layout = layouts_[index - 1];
  if (size < layout.size) return malformed(layout, "shorter than its format says");
  if (record.cpu < 0 || record.cpu > UINT16_MAX) return malformed(layout, "its CPU is none");
  out = Event{};
  out.kind = layout.kind;
  out.cpu = static_cast<std::uint16_t>(record.cpu);
  out.time_ns = record.ts;
  std::int32_t pid = 0;
  if (!common.number(1, pid) ||
      !record_body(layout.kind)
           .take(Record(record.data, layout.places.data(), swapped_, layout.names), out, context_))
    return malformed(layout, "a value is out of range");
  out.pid = static_cast<std::uint32_t>(pid);
  context_.unknown_fields += layout.strangers;
  return Outcome::event;
}

bool RecordDecoder::knows(EventKind kind) const {
  return known_[static_cast<std::size_t>(kind)];
}

}  // namespace e4r::trace
