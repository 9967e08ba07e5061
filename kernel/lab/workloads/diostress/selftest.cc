// SPDX-License-Identifier: GPL-2.0-only
#include "selftest.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "model.h"

namespace dio {
namespace {

constexpr std::uint32_t kFile = 7, kMost = 64, kPerBlock = 8;

// A model and a simulated file.
class Bench {
 public:
  Bench() : model(kFile, kMost, kPerBlock), bytes_(kMost * kSector, 0) {
    const auto grown = model.begin_extend({Kind::grow, Via::control, 0, 0, 32}, 0, 0);
    model.end(*grown, 0);
  }
  std::optional<Claimed> claim(std::uint32_t first, std::uint32_t count,
                               Mode mode = Mode::exclusive, Kind kind = Kind::write) {
    return model.begin({kind, Via::aio, 1, first, count, mode});
  }
  void put(std::uint32_t sector, Token token, std::uint32_t file = kFile) {
    paint(at(sector), file, sector, token);
  }
  void put_all(const Claimed& claimed) {
    for (std::uint32_t i = 0; i < claimed.count; ++i) put(claimed.first + i, claimed.token);
  }
  void done(const Claimed& claimed) { model.end(claimed, claimed.count * long{kSector}); }
  Claimed written(std::uint32_t first, std::uint32_t count) {
    const Claimed claimed = *claim(first, count);
    put_all(claimed);
    done(claimed);
    return claimed;
  }
  std::optional<Claimed> stored(std::uint32_t first, std::uint32_t count) {
    const auto claimed = model.begin({Kind::mapped, Via::mapping, 2, first, count});
    if (claimed) put_all(*claimed);
    if (claimed) done(*claimed);
    return claimed;
  }
  // Makes a torn sector: `bytes` bytes of the first token's contents, and the rest from the other
  // token's.
  void mix(std::uint32_t sector, Token one, Token other, std::size_t bytes) {
    std::vector<char> first(kSector);
    paint(first.data(), kFile, sector, one);
    put(sector, other);
    std::memcpy(at(sector), first.data(), bytes);
  }
  char* at(std::uint32_t sector) { return &bytes_[sector * kSector]; }
  // Returns the contents to which the model objects, or "" if the file is right.
  std::string verdict() {
    const auto violation = model.check(0, bytes_.data(), model.size());
    return violation ? violation->found : "";
  }
  std::string read_verdict(const ReadWindow& window, std::uint32_t sectors) {
    const auto violation =
        model.end_read(window, at(window.first), static_cast<long>(sectors * kSector));
    return violation ? violation->found : "";
  }

  Model model;

 private:
  std::vector<char> bytes_;
};

unsigned failed = 0, passed = 0;

// `wanted` is the beginning of the verdict; "" means legal.
void expect(const char* what, const std::string& verdict, const std::string& wanted) {
  const bool right = wanted.empty() ? verdict.empty() : verdict.rfind(wanted, 0) == 0;
  ++(right ? passed : failed);
  if (!right)
    std::fprintf(stderr, "self-test: %s: '%s', expected '%s'\n", what, verdict.c_str(),
                 wanted.c_str());
}
void expect(const char* what, bool right) {
  expect(what, right ? "" : "false", "");
}

void one_writer() {
  Bench bench;
  const Claimed first = bench.written(4, 3);
  expect("written", bench.verdict(), "");
  const Claimed second = bench.written(4, 3);
  expect("written again", bench.verdict(), "");
  bench.put(5, kZeros);
  expect("zeroed", bench.verdict(), "zeros");
  bench.put(5, first.token);
  expect("lost", bench.verdict(), "stale");
  bench.put(5, second.token, kFile - 1);
  expect("of another file", bench.verdict(), "stale");
  bench.put(5, second.token);
  std::memcpy(bench.at(6), bench.at(5), kSector);
  expect("in the wrong place", bench.verdict(), "misplaced");
  bench.put(6, second.token);
  std::memset(bench.at(6) + 300, 0, kSector - 300);
  expect("torn", bench.verdict(), "torn");
  bench.put(6, first.token);
  std::memcpy(bench.at(6), bench.at(5), 32);
  expect("header of one, body of another", bench.verdict(), "torn");
  std::memset(bench.at(6), 0x5a, kSector);
  expect("foreign", bench.verdict(), "foreign");
  bench.put(6, second.token);
  bench.put(20, second.token);
  expect("what nobody wrote", bench.verdict(), "stale");
}

void overlapping() {
  Bench bench;
  const Claimed old = bench.written(8, 4);
  const Claimed a = *bench.claim(8, 4, Mode::shared);
  const Claimed b = *bench.claim(9, 2, Mode::shared);
  bench.put_all(a);
  bench.done(a);
  bench.done(b);
  expect("the first of two that overlapped", bench.verdict(), "");
  bench.put(9, b.token);
  expect("the second in one sector only", bench.verdict(), "");
  bench.put(8, b.token);
  expect("the second where it did not write", bench.verdict(), "stale");
  bench.put(8, a.token);
  bench.put(10, old.token);
  expect("neither", bench.verdict(), "stale");
  bench.put(10, kZeros);
  expect("zeros instead of either", bench.verdict(), "zeros");
  const Claimed c = bench.written(8, 4);
  expect("a later one", bench.verdict(), "");
  bench.put(9, b.token);
  expect("superseded", bench.verdict(), "stale");
  bench.put(9, c.token);
  expect("ambiguous no more", bench.model.ambiguous() == 0);
}

// Two short writes begin and end, one after the other, during a long write. The second supersedes
// the first, but neither supersedes the long write.
void long_one() {
  Bench bench;
  const Claimed slow = *bench.claim(0, 1, Mode::shared);
  const Claimed a = *bench.claim(0, 1, Mode::shared);
  bench.done(a);
  const Claimed b = *bench.claim(0, 1, Mode::shared);
  bench.done(b);
  bench.done(slow);
  bench.put(0, slow.token);
  expect("the slow one", bench.verdict(), "");
  bench.put(0, b.token);
  expect("the last one", bench.verdict(), "");
  bench.put(0, a.token);
  expect("the one before it", bench.verdict(), "stale");
}

void failing() {
  Bench bench;
  const Claimed old = bench.written(0, 4);
  const Claimed refused = *bench.claim(0, 4);
  bench.model.end(refused, -11);
  expect("failed: old", bench.verdict(), "");
  bench.put(1, refused.token);
  expect("failed: new", bench.verdict(), "");
  bench.put(1, kZeros);
  expect("failed: zeros", bench.verdict(), "zeros");
  const Claimed partial = *bench.claim(0, 4);
  bench.model.end(partial, 2 * long{kSector});
  bench.put(0, partial.token);
  bench.put(1, partial.token);
  bench.put(2, old.token);
  bench.put(3, partial.token);
  expect("short", bench.verdict(), "");
  bench.put(1, old.token);
  expect("short, but not that short", bench.verdict(), "stale");
}

void zeroing() {
  Bench bench;
  const Claimed old = bench.written(3, 6);
  const Claimed hole = *bench.claim(4, 2, Mode::exclusive, Kind::punch);
  expect("what is being punched is nobody's", !bench.claim(5, 2));
  const auto beside = bench.claim(6, 1);
  expect("what is beside it is free", beside.has_value());
  bench.model.end(*beside, -11);
  bench.model.end(hole, 0);
  expect("not punched", bench.verdict(), "stale");
  bench.put(4, kZeros);
  bench.put(5, kZeros);
  expect("punched", bench.verdict(), "");
  bench.put(3, kZeros);
  expect("punched too much", bench.verdict(), "zeros");
  bench.put(3, old.token);
  const Claimed cut = *bench.model.begin_truncate(1, 4);
  expect("nobody extends what is being truncated",
         !bench.model.begin_extend({Kind::extend, Via::sync, 1, 0, 1}, 0, 0));
  bench.model.end(cut, 0);
  const auto grown = bench.model.begin_grow_alone(1, 12);
  expect("from where it was cut", grown && grown->first == 4);
  bench.model.end(*grown, 0);
  expect("old contents after truncate", bench.verdict(), "stale");
  for (std::uint32_t i = 4; i < 16; ++i) bench.put(i, kZeros);
  expect("zeros after truncate", bench.verdict(), "");
}

void extending() {
  Bench bench;
  const Claimed tail = *bench.claim(30, 2, Mode::shared);
  const Claimed more = *bench.model.begin_extend({Kind::extend, Via::uring, 2, 0, 4}, 0, 2);
  expect("rewrites the tail", more.first == 30 && more.count == 6);
  const Claimed next = *bench.model.begin_extend({Kind::extend, Via::aio, 3, 0, 2}, 3, 2);
  expect("behind it, with a gap", next.first == 39 && next.count == 2);
  expect("no truncate meanwhile", !bench.model.begin_truncate(1, 8));
  bench.put_all(more);
  bench.put_all(next);
  bench.done(next);
  expect("size, out of order", bench.model.size() == 41);
  bench.done(more);
  bench.done(tail);
  expect("extended", bench.verdict(), "");
  bench.put(31, tail.token);
  expect("its tail by the other", bench.verdict(), "");
  bench.put(32, kZeros);
  expect("zeroed behind the tail", bench.verdict(), "zeros");
  bench.put(32, more.token);
  expect("size on disk", bench.model.settle_size(41 * kSector));
  expect("too short", !bench.model.settle_size(40 * kSector));
  const Claimed lost = *bench.model.begin_extend({Kind::extend, Via::aio, 3, 0, 2}, 0, 0);
  bench.model.end(lost, -5);
  expect("failed to extend", bench.model.settle_size(42 * kSector));
  expect("no more than that", !bench.model.settle_size(44 * kSector));
}

void reading() {
  Bench bench;
  const Claimed old = bench.written(0, 2);
  const Claimed now = *bench.claim(0, 2);
  ReadWindow window = bench.model.begin_read(0, 2, Via::sync);
  expect("read: old", bench.read_verdict(window, 2), "");
  bench.put(0, now.token);
  expect("read: new", bench.read_verdict(window, 2), "");
  bench.put(0, kZeros);
  expect("read: zeros", bench.read_verdict(window, 2), "zeros");
  bench.done(now);
  const Claimed later = bench.written(0, 2);
  expect("read: began meanwhile", bench.read_verdict(window, 2), "");
  window = bench.model.begin_read(0, 2, Via::sync);
  bench.put(1, now.token);
  expect("read: superseded", bench.read_verdict(window, 2), "stale");
  bench.put(1, old.token);
  expect("read: older", bench.read_verdict(window, 2), "stale");
  bench.put(1, later.token);
  expect("read: less than there is", bench.read_verdict(window, 1), "end of file");
}

// Tests pages that are reserved for mappings, and reads during stores to them.
void mapping() {
  Bench bench;
  bench.model.keep_for_mappings({8, 16});
  expect("no direct write into them", !bench.claim(7, 2) && !bench.claim(23, 1));
  const Claimed beside = bench.written(0, 8);
  expect("beside them", beside.count == 8 && bench.claim(24, 1));
  const Claimed old = *bench.stored(9, 2);
  expect("stored", bench.verdict(), "");
  bench.put(9, kZeros);
  expect("not stored", bench.verdict(), "zeros");
  bench.put(9, old.token);
  const Claimed now = *bench.model.begin({Kind::mapped, Via::mapping, 2, 9, 2});
  expect("what is being stored is nobody's",
         !bench.model.begin({Kind::buffered, Via::buffered, 1, 10, 1}));
  const ReadWindow window = bench.model.begin_read(8, 4, Via::sync);
  bench.mix(9, now.token, old.token, 100);
  expect("read: half stored", bench.read_verdict(window, 4), "");
  bench.at(9)[300] ^= 1;
  expect("read: half stored, and a byte of neither", bench.read_verdict(window, 4), "torn");
  bench.mix(9, beside.token, old.token, 100);
  expect("read: half of what nobody stored there", bench.read_verdict(window, 4), "torn");
  bench.put_all(now);
  bench.done(now);
  expect("stored again", bench.verdict(), "");
  bench.mix(9, now.token, old.token, 100);
  expect("still half stored at the end", bench.verdict(), "torn");
  expect("read: stored meanwhile", bench.read_verdict(window, 4), "");
  expect("read: half stored when all was over",
         bench.read_verdict(bench.model.begin_read(8, 4, Via::sync), 4), "torn");
}

// Tests that a reader may see old contents of the disk only in a page with a concurrent store.
void exposing() {
  Bench bench;
  bench.model.keep_for_mappings({8, 16});
  const Claimed first = *bench.stored(9, 1);
  bench.put(9, first.token);
  const auto soil = [&bench](std::uint32_t sector) {
    std::memset(bench.at(sector), 0x5a, kSector);
  };
  const Claimed now = *bench.model.begin({Kind::mapped, Via::mapping, 2, 9, 2});
  const ReadWindow direct = bench.model.begin_read(8, 16, Via::sync);
  soil(12);
  expect("exposed, where that is a mistake", bench.read_verdict(direct, 16), "foreign");
  bench.model.let_stores_expose();
  expect("exposed in the page of the store", bench.read_verdict(direct, 16), "");
  expect("read from the page cache",
         bench.read_verdict(bench.model.begin_read(8, 16, Via::buffered), 16), "foreign");
  expect("read from the mapping",
         bench.read_verdict(bench.model.begin_read(8, 16, Via::mapping), 16), "foreign");
  bench.put_all(now);
  bench.done(now);
  expect("exposed when the store ended meanwhile", bench.read_verdict(direct, 16), "");
  expect("exposed after the store",
         bench.read_verdict(bench.model.begin_read(8, 16, Via::sync), 16), "foreign");
  expect("exposed at the end", bench.verdict(), "foreign");
  bench.put(12, kZeros);
  soil(17);
  expect("exposed in the next page", bench.read_verdict(direct, 16), "foreign");
  const Claimed later = *bench.stored(16, 1);
  expect("exposed by a store that began later",
         later.count == 1 ? bench.read_verdict(direct, 16) : "x", "");
}

// Tests which results are legal if the disk refuses some sectors.
void refusing() {
  Bench bench;
  const Claimed old = bench.written(8, 8);
  bench.model.set_bad({{10, 2}, {20, 1}});
  const long error = -EIO;
  const Claimed bad = *bench.claim(8, 8);
  expect("a bad sector that was written", !bench.model.accepts(bad, 8 * long{kSector}));
  expect("a bad sector in it", bench.model.accepts(bad, error));
  expect("some other error", !bench.model.accepts(bad, -EINVAL));
  bench.model.end(bad, error);
  bench.put(9, bad.token);
  expect("failed in part", bench.verdict(), "");
  bench.put(9, kZeros);
  expect("failed, and lost what was there", bench.verdict(), "zeros");
  bench.put(9, old.token);
  const Claimed beside = *bench.claim(12, 1);
  expect("beside it: either",
         bench.model.accepts(beside, long{kSector}) && bench.model.accepts(beside, error));
  bench.done(beside);
  expect("beside it: not written", bench.verdict(), "stale");
  const Claimed apart = *bench.claim(0, 8);
  expect("in another block",
         bench.model.accepts(apart, 8 * long{kSector}) && !bench.model.accepts(apart, error));
  expect("which are bad", bench.model.has_bad(20, 1) && !bench.model.has_bad(12, 8));
  bench.model.set_bad({});
  const Claimed again = *bench.claim(8, 4);
  expect("bad no more",
         bench.model.accepts(again, 4 * long{kSector}) && !bench.model.accepts(again, error));
}

// A reader must never see a half-done write(). Only a store through a mapping may be half done.
void half_written() {
  Bench bench;
  const Claimed old = bench.written(0, 2);
  const Claimed now = *bench.claim(0, 2);
  const ReadWindow window = bench.model.begin_read(0, 2, Via::sync);
  bench.mix(0, now.token, old.token, 100);
  expect("read: half written", bench.read_verdict(window, 2), "torn");
}

void remembering() {
  Bench bench;
  bench.written(0, 8);
  const Claimed a = *bench.claim(2, 1, Mode::shared);
  const Claimed b = *bench.claim(2, 1, Mode::shared);
  bench.done(a);
  bench.done(b);
  std::stringstream text;
  bench.model.save(text);
  auto model = Model::load(text);
  expect("loaded", model.has_value() && model->size() == 32 && model->file() == kFile);
  bench.put(2, a.token);
  expect("legal after loading", !model->check(0, bench.at(0), 32));
  bench.put(2, kZeros);
  expect("zeroed after loading", model->check(0, bench.at(0), 32).has_value());
}

}  // namespace

int self_test() {
  one_writer();
  overlapping();
  long_one();
  failing();
  zeroing();
  extending();
  reading();
  mapping();
  exposing();
  half_written();
  refusing();
  remembering();
  std::printf("self_tests_passed %u\nself_tests_failed %u\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace dio
