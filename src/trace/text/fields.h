// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "trace/tep/record.h"
#include "trace/text/body.h"
#include "trace/text/names.h"
#include "trace/text/scan.h"

// The field types with which body.cc describes each event's body, in text and in the kernel's
// binary records. Every field type has `key`; `required`; read(), which scans a value; print(),
// which appends it; `names`, the record's names for the numbers of the value; and take(), which
// builds the value from those numbers.
namespace e4r::trace::fields {

template <std::size_t N>
struct Key {
  char text[N] = {};
  consteval Key(const char (&s)[N]) { std::copy_n(s, N, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

template <std::size_t N, std::size_t M>
consteval auto operator+(Key<N> a, Key<M> b) {
  char both[N + M - 1] = {};
  std::copy_n(a.text, N - 1, both);
  std::copy_n(b.text, M, both + N - 1);
  return Key<N + M - 1>(both);
}

template <Key... K>
struct Names {
  static constexpr std::array<std::string_view, sizeof...(K)> names = {K.view()...};
};

struct Printer {
  std::string& out;
  Generation generation;
  void number(auto value) { fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), value); }
};

template <Key K>
struct Required {
  static constexpr std::string_view key = K.view();
  static constexpr bool required = true;
  static bool present(const Event&, Generation) { return true; }
};

// "dev 8,1"
struct Device : Required<"dev">, Names<"dev"> {
  static bool read(LineCursor& s, Event& e, BodyContext&) {
    std::uint32_t major = 0, minor = 0;
    return s.number(major) && s.ch(',') && s.number(minor) && set_dev(major, minor, e.dev);
  }
  static void print(Printer p, const Event& e) {
    p.number(dev_major(e.dev));
    p.out += ',';
    p.number(dev_minor(e.dev));
  }
  static bool take(Record r, Event& e, BodyContext&) { return r.number(0, e.dev); }
};

// Device for a record with separate major and minor numbers.
struct DeviceInParts : Device, Names<"dev_major", "dev_minor"> {
  using Names<"dev_major", "dev_minor">::names;
  static bool take(Record r, Event& e, BodyContext&) {
    std::uint32_t major = 0, minor = 0;
    return r.number(0, major) && r.number(1, minor) && set_dev(major, minor, e.dev);
  }
};

// "KEY 123", stored in a member. The record calls it NAME.
template <Key K, auto Member, Key Name = K>
struct Number : Required<K>, Names<Name> {
  static bool read(LineCursor& s, Event& e, BodyContext&) { return s.number(e.*Member); }
  static void print(Printer p, const Event& e) { p.number(e.*Member); }
  static bool take(Record r, Event& e, BodyContext&) { return r.number(0, e.*Member); }
};

// "KEY -3", stored in an unsigned member.
template <Key K, auto Member>
struct SignedNumber : Required<K>, Names<K> {
  static bool read(LineCursor& s, Event& e, BodyContext&) {
    std::int32_t value = 0;
    if (!s.number(value)) return false;
    e.*Member = static_cast<std::uint32_t>(value);
    return true;
  }
  static void print(Printer p, const Event& e) { p.number(static_cast<std::int32_t>(e.*Member)); }
  static bool take(Record r, Event& e, BodyContext&) {
    std::int32_t value = 0;
    const bool good = r.number(0, value);
    e.*Member = static_cast<std::uint32_t>(value);
    return good;
  }
};

// Reads "KEY 123" and drops it.
template <Key K, Key Name = K>
struct Ignored : Required<K>, Names<Name> {
  static constexpr bool required = false;
  static bool read(LineCursor& s, Event&, BodyContext&) {
    std::int64_t value = 0;
    return s.number(value);
  }
  static void print(Printer p, const Event&) { p.out += '0'; }
  static bool take(Record, Event&, BodyContext&) { return true; }
};

// "mode 0100644"
struct FileMode : Required<"mode">, Names<"mode"> {
  static bool read(LineCursor& s, Event& e, BodyContext&) { return s.octal(e.mode); }
  static void print(Printer p, const Event& e) {
    fmt::format_to(std::back_inserter(p.out), "0{:o}", e.mode);
  }
  static bool take(Record r, Event& e, BodyContext&) { return r.number(0, e.mode); }
};

// "flags HINT_DATA|0x8000", with names from a table. Linux 3.x prints a number.
template <auto Table>
struct Flags : Required<"flags">, Names<"flags"> {
  static constexpr auto flag_names = Table;
  static bool read(LineCursor& s, Event& e, BodyContext& c) {
    bool number = false;
    if (!scan_flags(s, Table(), e.flags, unknown_flags(c, e), number)) return false;
    if (number) show_older(c, OlderThan::v4_0);
    return true;
  }
  static void print(Printer p, const Event& e) { print_flags(p.out, Table(), e.flags); }
  static bool take(Record r, Event& e, BodyContext& c) {
    return r.flags(0, e.flags, unknown_flags(c, e));
  }
};

// "cr 1" or "cr CR_GOAL_LEN_FAST"
struct SearchCriterion : Required<"cr">, Names<"cr"> {
  static bool read(LineCursor& s, Event& e, BodyContext& c) {
    if (!c.criterion.read(s, e.criterion)) return false;
    c.unknown_criteria += e.criterion == mb::Criterion::unknown;
    return true;
  }
  static void print(Printer p, const Event& e) {
    print_criterion(p.out, e.criterion, p.generation);
  }
  static bool take(Record r, Event& e, BodyContext& c) {
    unsigned number = 0;
    if (!r.number(0, number)) return false;
    const std::string_view name = r.symbol(number);
    if (!r.has_symbols())
      e.criterion = c.criterion.read_number(number);
    else if (name.empty())
      e.criterion = c.criterion.read_unnamed(number);
    else if (!c.criterion.read_name(name, e.criterion))
      e.criterion = mb::Criterion::unknown;
    c.unknown_criteria += e.criterion == mb::Criterion::unknown;
    return true;
  }
};

// "KEY group/start/len@logical"; "@logical" is there only if Located. The record has three or four
// numbers: NAME_group, NAME_start, ...
template <Key N, bool Located>
struct ExtentNames : Names<N + Key("_group"), N + Key("_start"), N + Key("_len")> {};
template <Key N>
struct ExtentNames<N, true>
    : Names<N + Key("_group"), N + Key("_start"), N + Key("_len"), N + Key("_logical")> {};
template <Key K, auto Member, bool Located = true, Key Name = K>
struct GroupExtent : Required<K>, ExtentNames<Name, Located> {
  static bool read(LineCursor& s, Event& e, BodyContext&) {
    RecordedExtent& x = e.*Member;
    if (!s.number(x.group) || !s.ch('/') || !s.number(x.start) || !s.ch('/')) return false;
    std::int64_t len = 0;  // some events print it signed, others unsigned
    if (!s.number(len) || len < INT32_MIN || len > UINT32_MAX) return false;
    x.len = static_cast<std::uint32_t>(len);
    return !Located || (s.ch('@') && s.number(x.logical));
  }
  static void print(Printer p, const Event& e) {
    const RecordedExtent& x = e.*Member;
    p.number(x.group);
    p.out += '/';
    p.number(x.start);
    p.out += '/';
    p.number(x.len);
    if (!Located) return;
    p.out += '@';
    p.number(x.logical);
  }
  static bool take(Record r, Event& e, BodyContext&) {
    RecordedExtent& x = e.*Member;
    return r.number(0, x.group) && r.number(1, x.start) && r.number(2, x.len) &&
           (!Located || r.number(3, x.logical));
  }
};

// "WR": a letter for each flag of es::, nothing for no flags. Bits without a letter follow in
// hexadecimal: kernels before 5.7 print "WR" as "W0x10".
inline bool scan_status(LineCursor& s, Event& e, BodyContext& c) {
  const ScannedLetters status = scan_letters(s, es_flag_names(), unknown_flags(c, e));
  e.flags = status.named | status.rest;
  if ((status.rest & es::referenced) != 0) show_older(c, OlderThan::v5_7);
  return status.good;
}
inline void print_status(std::string& out, std::uint32_t flags) {
  for (const FlagName& f : es_flag_names())
    if ((flags & f.bit) != 0) out += f.name;
}

// "[12/8)": logical block and length.
struct LogicalRange : Names<"lblk", "len"> {
  static bool read(LineCursor& s, Event& e, BodyContext&) {
    return s.ch('[') && s.number(e.logical) && s.ch('/') && s.number(e.count) && s.ch(')');
  }
  static void print(Printer p, const Event& e) {
    fmt::format_to(std::back_inserter(p.out), FMT_COMPILE("[{}/{})"), e.logical, e.count);
  }
  static bool take(Record r, Event& e, BodyContext&) {
    return r.number(0, e.logical) && r.number(1, e.count);
  }
};
// "es [12/8)"
struct StatusRange : Required<"es">, LogicalRange {};

struct StatusLetters : Required<"status">, Names<"status"> {
  static constexpr auto flag_names = es_flag_names;
  static bool read(LineCursor& s, Event& e, BodyContext& c) { return scan_status(s, e, c); }
  static void print(Printer p, const Event& e) { print_status(p.out, e.flags); }
  static bool take(Record r, Event& e, BodyContext& c) {
    return r.flags(0, e.flags, unknown_flags(c, e));
  }
};

// "found 1 [12/8) 34304 WR", which all belongs to one key. If nothing is found, the kernel prints 0
// and no letter.
struct Answer : Required<"found">, Names<"found", "lblk", "len", "pblk", "status"> {
  static constexpr auto flag_names = es_flag_names;
  static bool read(LineCursor& s, Event& e, BodyContext& c) {
    return s.number(e.found) && s.ch(' ') && LogicalRange::read(s, e, c) && s.ch(' ') &&
           s.number(e.block) && (s.at_end() || s.ch(' ')) && scan_status(s, e, c);
  }
  static void print(Printer p, const Event& e) {
    p.number(e.found);
    p.out += ' ';
    LogicalRange::print(p, e);
    p.out += ' ';
    p.number(e.block);
    p.out += ' ';
    print_status(p.out, e.flags);
  }
  static bool take(Record r, Event& e, BodyContext& c) {
    if (!r.number(0, e.found) || !r.number(1, e.logical) || !r.number(2, e.count)) return false;
    return e.found == 0 || (r.number(3, e.block) && r.flags(4, e.flags, unknown_flags(c, e)));
  }
};

// "broken 16" of ext4_mballoc_alloc. The record holds the order instead; order 0 is printed as 0
// (TP_printk of ext4_mballoc_alloc, Linux 6.1).
struct Broken : Number<"broken", &Event::broken, "buddy"> {
  static bool take(Record r, Event& e, BodyContext&) {
    unsigned order = 0;
    if (!r.number(0, order)) return false;
    e.broken = order == 0 ? 0 : 1U << order % 32;
    return true;
  }
};

// A number followed by a comma: "nr_shrunk 3," of ext4_es_shrink, "group 3," of ext4_trim_all_free.
template <Key K, auto Member>
struct NumberAndComma : Number<K, Member> {
  static bool read(LineCursor& s, Event& e, BodyContext& c) {
    return Number<K, Member>::read(s, e, c) && s.ch(',');
  }
  static void print(Printer p, const Event& e) {
    Number<K, Member>::print(p, e);
    p.out += ',';
  }
};

// A field that some kernels do not print. Without it the event keeps its default.
template <class Field>
struct Optional : Field {
  static constexpr bool required = false;
};

// "len: 3" of ext4_discard_preallocations, which Linux has printed since 5.9 (and 5.8.6). From then
// until 6.4, the events in events.def print the same words (checked in 5.10.223 and 6.1.192).
struct DiscardedCount : Optional<Number<"len:", &Event::count, "len">> {
  static void lacks(BodyContext& c) { show_older(c, OlderThan::v5_9); }
};

// "needed 0" of ext4_discard_preallocations, absent in later kernels.
struct Needed : Optional<Number<"needed", &Event::needed>> {
  static bool present(const Event& e, Generation g) {
    return g != Generation::v6_5 || e.needed != 0;
  }
};

// "orig_goal_len 512" of ext4_mballoc_alloc on kernels with the CR1.5 series.
struct OrigGoalLen : Optional<Number<"orig_goal_len", &Event::orig_goal_len>> {
  static bool present(const Event& e, Generation) { return e.orig_goal_len != 0; }
};

// "i_size 4096 i_writecount 1" of kernels with the trace-inputs patch. They set has_inputs.
struct InputSize : Optional<Number<"i_size", &Event::i_size>> {
  static bool present(const Event& e, Generation) { return e.has_inputs; }
};
// A field that only this project's kernels print. Its presence sets has_inputs.
template <class Field>
struct OwnField : Optional<Field> {
  static bool read(LineCursor& s, Event& e, BodyContext& c) {
    e.has_inputs = true;
    return Field::read(s, e, c);
  }
  static bool take(Record r, Event& e, BodyContext& c) {
    e.has_inputs = true;
    return Field::take(r, e, c);
  }
  static bool present(const Event& e, Generation) { return e.has_inputs; }
};
using InputWriters = OwnField<Number<"i_writecount", &Event::i_writecount>>;

// A value that some kernels print and that is neither read nor printed here.
template <Key K>
struct Absent : Ignored<K> {
  static bool present(const Event&, Generation) { return false; }
};

// "nr_visited 16" of ext4_es_shrink on kernels with the es-shrinker series.
using Visited = OwnField<Number<"nr_visited", &Event::groups>>;

// An event's body: fields in the kernel's order, optional ones last. Ending::space: a space follows
// the last field.
enum class Ending { plain, space };
template <Ending E, class... Fields>
struct Body {
  // Reads the fields in this order with exactly one space between them. If it returns false, the
  // caller tries read_by_key().
  static bool read_in_order(LineCursor& s, Event& e, BodyContext& c) {
    if (!(read_next<Fields>(s, e, c) && ...)) return false;
    s.spaces();
    return s.at_end();
  }

  static bool read_by_key(LineCursor& s, Event& e, BodyContext& c) {
    std::uint32_t seen = 0;
    bool strangers = false;
    for (s.spaces(); !s.at_end(); s.spaces()) {
      std::string_view word = s.word();
      s.ch(' ');
      const int field = index_of(word);
      if (field < 0 || (seen >> field & 1) != 0) {
        strangers = true;
        continue;
      }
      seen |= 1U << field;
      if (!read_field(field, s, e, c) || !(s.at_end() || *s.p == ' '))
        return fail(c, word, "has an invalid value");
    }
    std::size_t at = 0;
    (((seen >> at++ & 1) == 0 ? note_lacking<Fields>(c) : void()), ...);
    for (std::size_t i = 0; i < sizeof...(Fields); ++i)
      if (kRequired[i] && (seen >> i & 1) == 0) return fail(c, kKeys[i], "is missing");
    unknown_fields(c, e) += strangers;
    return true;
  }

  static void print(std::string& out, const Event& e, Generation g) {
    bool first = true;
    (print_field<Fields>(out, e, g, first), ...);
    if (E == Ending::space) out += ' ';
  }

  // Reads a record whose places correspond to all names of all fields, in this order.
  static bool take(Record r, Event& e, BodyContext& c) {
    return (take_field<Fields>(r, e, c) && ...);
  }

  static std::vector<RecordField> record_fields() {
    std::vector<RecordField> out;
    const auto add = [&out]<class Field>() {
      for (const std::string_view name : Field::names) out.push_back({name, Field::required});
    };
    (add.template operator()<Fields>(), ...);
    return out;
  }

  // The names of the body's flags; empty if it has none.
  static std::span<const FlagName> flag_names() {
    std::span<const FlagName> out;
    const auto look = [&out]<class Field>() {
      if constexpr (requires { Field::flag_names; }) out = Field::flag_names();
    };
    (look.template operator()<Fields>(), ...);
    return out;
  }

 private:
  static constexpr std::array<std::string_view, sizeof...(Fields)> kKeys = {Fields::key...};
  static constexpr std::array<bool, sizeof...(Fields)> kRequired = {Fields::required...};

  template <class Field>
  static bool read_next(LineCursor& s, Event& e, BodyContext& c) {
    if constexpr (!Field::required) {
      s.spaces();
      if (s.at_end()) {
        note_lacking<Field>(c);
        return true;
      }
      return s.literal(Field::key) && s.ch(' ') && Field::read(s, e, c);
    } else {
      if constexpr (Field::key != std::string_view("dev"))
        if (!s.ch(' ')) return false;
      return s.literal(Field::key) && s.ch(' ') && Field::read(s, e, c);
    }
  }

  // Records the absence of an optional field if the absence limits the kernel's release.
  template <class Field>
  static void note_lacking(BodyContext& c) {
    if constexpr (requires { Field::lacks(c); }) Field::lacks(c);
  }

  template <class Field>
  static bool take_field(Record& r, Event& e, BodyContext& c) {
    const bool there = r.has(0);
    const bool good = !there || Field::take(r, e, c);
    if (!there) note_lacking<Field>(c);
    r.skip(Field::names.size());
    return good;
  }

  static int index_of(std::string_view word) {
    for (std::size_t i = 0; i < kKeys.size(); ++i)
      if (word == kKeys[i]) return static_cast<int>(i);
    return -1;
  }

  static bool read_field(int field, LineCursor& s, Event& e, BodyContext& c) {
    int i = 0;
    bool good = false;
    ((i++ == field && (good = Fields::read(s, e, c))), ...);
    return good;
  }

  static bool fail(BodyContext& c, std::string_view key, std::string_view what) {
    for (const std::string_view k : kKeys)
      if (k == key) c.problem_key = k;  // static text, unlike a word of the line
    c.problem = what;
    return false;
  }

  template <class Field>
  static void print_field(std::string& out, const Event& e, Generation g, bool& first) {
    if (!Field::present(e, g)) return;
    if (!first && !out.ends_with(' ')) out += ' ';
    first = false;
    out += Field::key;
    out += ' ';
    const std::size_t before = out.size();
    Field::print(Printer{out, g}, e);
    if (out.size() == before) out += ' ';  // an empty value keeps its place between two spaces
  }
};

}  // namespace e4r::trace::fields
