// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/e4t/block.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace e4r::trace::e4t {
namespace {

// An event begins with a tag: its kind, and a flag for each of the three parts that may follow.
constexpr std::uint8_t kContext = 0x20;  // pid, cpu or device differ from the previous event
constexpr std::uint8_t kTime = 0x40;     // the time differs from the time of the previous event
constexpr std::uint8_t kFields = 0x80;   // fields differ from the model's prediction
constexpr std::uint8_t kPid = 1, kCpu = 2, kDev = 4;  // the mask of the context part
// A time code that no time difference produces. It says that the absolute time follows.
constexpr std::uint64_t kAbsoluteTime = 1;
constexpr std::uint64_t kMicrosecond = 1000;

// The number of tags available to kinds.
constexpr std::size_t kMostKinds = 128;
constexpr std::array<std::uint8_t, kEventKinds> kTags = {
#define E4R_EVENT(kind, tag, name, body, model, want) tag,
#include "trace/events.def"
};

// The kind of each tag; kEventKinds for unused tags. Compilation fails if a tag is out of range or
// used twice.
constexpr auto kKinds = [] {
  std::array<std::uint8_t, kMostKinds> kinds = {};
  kinds.fill(kEventKinds);
  for (std::uint8_t kind = 0; kind < kEventKinds; ++kind) {
    std::uint8_t& of_tag = kinds.at(kTags[kind]);
    if (of_tag != kEventKinds) throw "two events have one tag";
    of_tag = kind;
  }
  return kinds;
}();

template <class T>
constexpr auto as_number(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return static_cast<std::uint8_t>(value);
  else if constexpr (std::is_enum_v<T>)
    return static_cast<std::underlying_type_t<T>>(value);
  else
    return static_cast<std::make_unsigned_t<T>>(value);
}

// The difference of two values of the same width, encoded so that it is small near zero.
template <class U>
constexpr std::uint64_t difference(U value, U expected) {
  using S = std::make_signed_t<U>;
  const auto d = static_cast<S>(static_cast<U>(value - expected));
  return zigzag(static_cast<std::uint64_t>(static_cast<std::int64_t>(d)));
}

// Collects the fields that differ from their predicted values.
struct EncodeFields {
  std::uint32_t mask = 0;
  int count = 0;
  std::array<std::uint64_t, 32> codes;

  template <class T, class E>
  void operator()(int bit, T& field, E expected) {
    const auto value = as_number(field);
    const auto wanted = static_cast<decltype(value)>(as_number(expected));
    if (value == wanted) return;
    mask |= 1U << bit;
    codes[static_cast<std::size_t>(count++)] = difference(value, wanted);
  }
};

// Sets a field from a number. A number that the enum or bool cannot hold becomes a valid value.
template <class T, class U>
void set(T& field, U value) {
  if constexpr (std::is_same_v<T, mb::Criterion>)
    // The numbers of plugin policies' criteria are meaningful only in the process that wrote them.
    field = value < mb::kCriteria && !mb::is_own(static_cast<T>(value)) ? static_cast<T>(value)
                                                                        : mb::Criterion::unknown;
  else if constexpr (std::is_same_v<T, bool>)
    field = (value & 1) != 0;
  else
    field = static_cast<T>(value);
}

// Decodes an event whose fields all have their predicted values.
struct DecodeExpected {
  template <class T, class E>
  void operator()(int, T& field, E expected) {
    field = static_cast<T>(expected);
  }
};

// Decodes an event whose masked fields differ from the prediction. All calls are inlined into one
// function, so the position can stay in a register.
struct DecodeFields {
  std::uint32_t mask;
  const std::uint8_t* at;

  template <class T, class E>
  [[gnu::always_inline]] void operator()(int bit, T& field, E expected) {
    using U = decltype(as_number(field));
    auto value = static_cast<U>(as_number(expected));
    if ((mask >> bit & 1) != 0) value = static_cast<U>(value + unzigzag(get_varint(at)));
    set(field, value);
  }
};

std::uint8_t* put_time(std::uint8_t* p, std::uint64_t now, std::uint64_t last) {
  const std::uint64_t d = now - last;
  const auto signed_d = static_cast<std::int64_t>(d);
  if (signed_d % static_cast<std::int64_t>(kMicrosecond) == 0)
    return put_varint(p, zigzag(static_cast<std::uint64_t>(signed_d / 1000)) << 1);
  if (zigzag(d) >> 63 == 0) return put_varint(p, zigzag(d) << 1 | 1);
  return put_varint(put_varint(p, kAbsoluteTime), now);
}

std::uint64_t get_time(const std::uint8_t*& p, std::uint64_t last) {
  const std::uint64_t code = get_varint(p);
  if (code == kAbsoluteTime) return get_varint(p);
  const std::uint64_t d = unzigzag(code >> 1);
  return last + ((code & 1) != 0 ? d : d * kMicrosecond);
}

std::uint8_t* put_context(std::uint8_t* p, const Event& now, Event& last) {
  const int mask = (now.pid != last.pid ? kPid : 0) | (now.cpu != last.cpu ? kCpu : 0) |
                   (now.dev != last.dev ? kDev : 0);
  *p++ = static_cast<std::uint8_t>(mask);
  if ((mask & kPid) != 0) p = put_varint(p, last.pid = now.pid);
  if ((mask & kCpu) != 0) p = put_varint(p, last.cpu = now.cpu);
  if ((mask & kDev) != 0) p = put_varint(p, last.dev = now.dev);
  return p;
}

void get_context(const std::uint8_t*& p, Event& last) {
  const std::uint8_t mask = *p++;
  if ((mask & kPid) != 0) last.pid = static_cast<std::uint32_t>(get_varint(p));
  if ((mask & kCpu) != 0) last.cpu = static_cast<std::uint16_t>(get_varint(p));
  if ((mask & kDev) != 0) last.dev = static_cast<std::uint32_t>(get_varint(p));
}

}  // namespace

void BlockEncoder::add(const Event& event) {
  Event e = event;  // the model takes a mutable event, because the decoder writes to it
  std::uint8_t* p = bytes_.data() + size_;
  std::uint8_t& tag = *p;
  p = put_kind(p, kTags[static_cast<std::size_t>(e.kind)]);
  if (e.pid != last_.pid || e.cpu != last_.cpu || e.dev != last_.dev) {
    tag |= kContext;
    p = put_context(p, e, last_);
    model_.select(e.pid);
  }
  if (e.time_ns != last_.time_ns) {
    tag |= kTime;
    p = put_time(p, e.time_ns, last_.time_ns);
    last_.time_ns = e.time_ns;
  }
  EncodeFields fields;
  model_.code(fields, e);
  if (fields.mask != 0) {
    tag |= kFields;
    p = put_varint(p, fields.mask);
    for (int i = 0; i < fields.count; ++i)
      p = put_varint(p, fields.codes[static_cast<std::size_t>(i)]);
  }
  size_ = static_cast<std::size_t>(p - bytes_.data());
  ++events_;
}

void BlockEncoder::clear() {
  size_ = 0;
  events_ = 0;
  last_ = Event{};
  model_ = EventModel{};
}

bool BlockDecoder::read_one(Event& e) {
  const std::uint8_t* at = at_;
  const std::uint8_t tag = *at++;
  const std::uint64_t number = get_kind(tag, at);
  if (number >= kMostKinds) return false;
  const int kind = kKinds[number];
  if (kind >= kEventKinds) return false;
  if ((tag & kContext) != 0) {
    get_context(at, last_);
    model_.select(last_.pid);
  }
  if ((tag & kTime) != 0) last_.time_ns = get_time(at, last_.time_ns);
  e = last_;
  e.kind = static_cast<EventKind>(kind);
  if ((tag & kFields) == 0) {
    DecodeExpected fields;
    model_.code(fields, e);
    at_ = at;
  } else {
    const auto mask = static_cast<std::uint32_t>(get_varint(at));
    DecodeFields fields{mask, at};
    model_.code(fields, e);
    at_ = fields.at;
  }
  return at_ <= end_;
}

Result<std::size_t> BlockDecoder::read(std::span<Event> out) {
  const std::size_t wanted = std::min<std::size_t>(out.size(), left_);
  for (std::size_t i = 0; i < wanted; ++i)
    if (at_ >= end_ || !read_one(out[i])) return error("packed events are damaged");
  left_ -= static_cast<std::uint32_t>(wanted);
  if (left_ == 0 && at_ != end_) return error("packed events are damaged");
  return wanted;
}

}  // namespace e4r::trace::e4t
