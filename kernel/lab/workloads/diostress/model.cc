// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"

#include <algorithm>
#include <cerrno>
#include <istream>
#include <ostream>
#include <utility>

namespace dio {

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"layout", "write", "extend", "buffered", "mapped",
                                    "punch",  "zero",  "grow",   "truncate"};
  return kNames[static_cast<unsigned>(kind)];
}

const char* name_of(Via via) {
  constexpr const char* kNames[] = {"sync", "aio", "uring", "buffered", "mapping", "control"};
  return kNames[static_cast<unsigned>(via)];
}

Model::Model(std::uint32_t file, std::uint32_t most, std::uint32_t sectors_per_block)
    : file_(file), most_(most), per_block_(sectors_per_block), sectors_(most) {
  for (Sector& sector : sectors_) sector.may_hold.push_back({kZeros, 0});
}

Model::Model(Model&& other) noexcept
    : file_(other.file_),
      most_(other.most_),
      per_block_(other.per_block_),
      size_(other.size_),
      claimed_(other.claimed_),
      perhaps_(other.perhaps_),
      clock_(other.clock_),
      sectors_(std::move(other.sectors_)),
      ops_(std::move(other.ops_)) {}

void Model::keep_for_mappings(Range pages) {
  const std::lock_guard lock(mutex_);
  for_mappings_ = pages;
}

void Model::set_bad(std::vector<Range> bad) {
  const std::lock_guard lock(mutex_);
  bad_ = std::move(bad);
}

bool Model::meets_bad(Range range) const {
  return std::any_of(bad_.begin(), bad_.end(), [range](Range bad) { return bad.meets(range); });
}

bool Model::has_bad(std::uint32_t first, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  return meets_bad({first, count});
}

bool Model::accepts(const Claimed& claimed, long result) {
  const std::lock_guard lock(mutex_);
  if (result == claimed.count * long{kSector}) return !meets_bad({claimed.first, claimed.count});
  const std::uint32_t first = claimed.first - claimed.first % per_block_;
  const std::uint32_t blocks =
      (claimed.first + claimed.count - first + per_block_ - 1) / per_block_;
  return result == -EIO && meets_bad({first, blocks * per_block_});
}

bool Model::is_free(const Claim& claim) const {
  const std::uint32_t end = claim.first + claim.count;
  const bool direct = claim.via == Via::sync || claim.via == Via::aio || claim.via == Via::uring;
  if (direct && for_mappings_.meets({claim.first, claim.count})) return false;
  return std::all_of(
      sectors_.begin() + claim.first, sectors_.begin() + end, [&claim](const Sector& sector) {
        return std::all_of(sector.in_flight.begin(), sector.in_flight.end(),
                           [&claim](const Flight& flight) {
                             return claim.mode == Mode::shared && flight.mode == Mode::shared;
                           });
      });
}

Claimed Model::start(const Claim& claim) {
  ops_.push_back(
      {claim.kind, claim.via, claim.mode, claim.owner, claim.first, claim.count, ++clock_, 0, 0});
  const std::uint64_t seq = ops_.size();
  for (std::uint32_t i = 0; i < claim.count; ++i)
    sectors_[claim.first + i].in_flight.push_back({seq, claim.mode});
  return {seq, claim.first, claim.count, value_of(ops_.back(), seq)};
}

std::optional<Claimed> Model::begin(const Claim& claim) {
  const std::lock_guard lock(mutex_);
  if (claim.count == 0 || claim.first >= size_ || claim.count > size_ - claim.first) return {};
  if (!is_free(claim)) return {};
  return start(claim);
}

std::optional<Claimed> Model::begin_extend(const Claim& claim, std::uint32_t gap,
                                           std::uint32_t back) {
  const std::lock_guard lock(mutex_);
  return extend(claim, gap, back);
}

std::optional<Claimed> Model::begin_grow_alone(std::uint32_t owner, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  if (extending_ > 0) return {};
  const auto claimed = extend({Kind::grow, Via::control, owner, 0, count}, 0, 0);
  alone_ = claimed.has_value();
  return claimed;
}

std::optional<Claimed> Model::extend(Claim claim, std::uint32_t gap, std::uint32_t back) {
  if (shrinking_ || alone_ || claim.count == 0) return {};
  if (extending_ > 0 || gap > 0) back = 0;
  back = std::min(back, claimed_);
  claim.first = claimed_ + gap - back;
  claim.count += back;
  if (claim.first >= most_ || claim.count > most_ - claim.first) return {};
  if (back > 0) claim.mode = Mode::shared;
  if (!is_free(claim)) return {};
  claimed_ = claim.first + claim.count;
  ++extending_;
  return start(claim);
}

std::optional<Claimed> Model::begin_truncate(std::uint32_t owner, std::uint32_t size) {
  const std::lock_guard lock(mutex_);
  if (shrinking_ || extending_ > 0 || size >= size_) return {};
  const Claim claim{Kind::truncate, Via::control, owner, size, size_ - size};
  if (!is_free(claim)) return {};
  shrinking_ = true;
  ++shrinks_;
  size_ = claimed_ = size;
  return start(claim);
}

Token Model::value_of(const Op& op, std::uint64_t seq) const {
  switch (op.kind) {
    case Kind::punch:
    case Kind::zero:
    case Kind::grow:
    case Kind::truncate:
      return kZeros;
    default:
      return token_of(op.owner, seq);
  }
}

void Model::finish_sector(Sector& sector, const Op& op, std::uint64_t seq, bool sure) {
  std::erase_if(sector.in_flight, [seq](const Flight& flight) { return flight.seq == seq; });
  if (sure)
    std::erase_if(sector.may_hold, [&op](const Alternative& old) { return old.end <= op.begin; });
  sector.may_hold.push_back({value_of(op, seq), op.end});
}

void Model::finish_size(const Op& op, bool sure) {
  if (op.kind == Kind::truncate) {
    shrinking_ = false;
    if (!sure) perhaps_ = std::max(perhaps_, op.first + op.count);
    return;
  }
  if (op.kind != Kind::extend && op.kind != Kind::grow) return;
  if (sure)
    size_ = std::max(size_, op.first + op.count);
  else
    perhaps_ = std::max(perhaps_, op.first + op.count);
  alone_ = false;
  if (--extending_ == 0) claimed_ = size_;
}

void Model::end(const Claimed& claimed, long result) {
  const std::lock_guard lock(mutex_);
  Op& op = ops_[claimed.seq - 1];
  op.end = ++clock_;
  op.result = result;
  const bool moves_data = value_of(op, claimed.seq) != kZeros;
  std::uint32_t sure = 0;
  if (result >= 0)
    sure = moves_data ? static_cast<std::uint32_t>(result / long{kSector}) : op.count;
  sure = std::min(sure, op.count);
  for (std::uint32_t i = 0; i < op.count; ++i)
    finish_sector(sectors_[op.first + i], op, claimed.seq, i < sure);
  finish_size(op, sure == op.count);
}

std::uint32_t Model::size() {
  const std::lock_guard lock(mutex_);
  return size_;
}

std::uint64_t Model::ambiguous() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(
      std::count_if(sectors_.begin(), sectors_.end(),
                    [](const Sector& sector) { return sector.may_hold.size() > 1; }));
}

bool Model::settle_size(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t sectors = bytes / kSector;
  if (bytes % kSector != 0 || sectors < size_ || sectors > std::max(size_, perhaps_)) return false;
  size_ = claimed_ = static_cast<std::uint32_t>(sectors);
  perhaps_ = 0;
  return true;
}

std::vector<Token> Model::legal_now(const Sector& sector) const {
  std::vector<Token> legal;
  for (const Alternative& old : sector.may_hold) legal.push_back(old.token);
  for (const Flight& flight : sector.in_flight)
    legal.push_back(value_of(ops_[flight.seq - 1], flight.seq));
  return legal;
}

ReadWindow Model::begin_read(std::uint32_t first, std::uint32_t count, Via via) {
  const std::lock_guard lock(mutex_);
  ReadWindow window{first, size_, ops_.size() + 1, shrinks_, {}, {}, via, clock_};
  for (std::uint32_t i = 0; i < count; ++i) {
    const Sector& sector = sectors_[first + i];
    window.legal.push_back(legal_now(sector));
    window.storing.push_back(std::any_of(
        sector.in_flight.begin(), sector.in_flight.end(),
        [this](const Flight& flight) { return ops_[flight.seq - 1].kind == Kind::mapped; }));
  }
  return window;
}

bool Model::is_one_of(const Found& found, std::uint32_t file, std::uint32_t sector,
                      const std::vector<Token>& legal) {
  if (found.what == Found::torn || found.what == Found::foreign) return false;
  if (found.what == Found::payload && (found.file != file || found.sector != sector)) return false;
  return std::find(legal.begin(), legal.end(), found.token) != legal.end();
}

bool Model::wrote_since(std::uint64_t seq, std::uint32_t sector, Token token) const {
  for (; seq <= ops_.size(); ++seq) {
    const Op& op = ops_[seq - 1];
    if (sector >= op.first && sector - op.first < op.count && value_of(op, seq) == token)
      return true;
  }
  return false;
}

// Returns whether the sector may hold a mix of contents. A reader can see a store through a mapping
// while it is half done. The rest of the sector then has any of the contents that are legal at that
// time.
bool Model::may_be_torn(const ReadWindow& window, std::uint32_t sector, const char* data) const {
  std::vector<Token> tokens = window.legal[sector - window.first];
  bool storing = window.storing[sector - window.first];
  for (std::uint64_t seq = window.next_seq; seq <= ops_.size(); ++seq) {
    const Op& op = ops_[seq - 1];
    if (sector < op.first || sector - op.first >= op.count) continue;
    tokens.push_back(value_of(op, seq));
    storing = storing || op.kind == Kind::mapped;
  }
  return storing && is_mix(data, file_, sector, tokens);
}

// Returns whether the first store to the sector's page may have happened during this direct read.
// The first store allocates a block with old contents for the page.
bool Model::may_be_exposed(const ReadWindow& window, std::uint32_t sector) const {
  if (!stores_expose_ || window.via == Via::mapping || window.via == Via::buffered) return false;
  const Range page{sector - sector % kPageSectors, kPageSectors};
  return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) {
    return op.kind == Kind::mapped && page.meets({op.first, op.count}) &&
           (op.end == 0 || op.end > window.time);
  });
}

std::uint64_t Model::take_exposed() {
  const std::lock_guard lock(mutex_);
  return std::exchange(exposed_, 0);
}

std::optional<Violation> Model::end_read(const ReadWindow& window, const char* data, long bytes) {
  const std::lock_guard lock(mutex_);
  const auto got = static_cast<std::uint32_t>(std::max(bytes, 0L) / long{kSector});
  const auto asked = static_cast<std::uint32_t>(window.legal.size());
  const std::uint32_t below_size = window.size > window.first ? window.size - window.first : 0;
  const std::uint32_t due = shrinks_ == window.shrinks ? std::min(asked, below_size) : 0;
  if (!shrinking_ && got < due && bytes >= 0)
    return Violation{window.first + got, "data", "end of file", ""};
  for (std::uint32_t i = 0; i < std::min(got, asked); ++i) {
    const std::uint32_t sector = window.first + i;
    const Found found = decode(data + i * kSector);
    if (is_one_of(found, file_, sector, window.legal[i])) continue;
    const bool whole =
        found.what == Found::zeros ||
        (found.what == Found::payload && found.file == file_ && found.sector == sector);
    if (whole && wrote_since(window.next_seq, sector, found.token)) continue;
    if (!whole && may_be_torn(window, sector, data + i * kSector)) continue;
    if (may_be_exposed(window, sector)) {
      ++exposed_;
      continue;
    }
    return violation(sector, window.legal[i], found);
  }
  return {};
}

std::optional<Violation> Model::check(std::uint32_t first, const char* data, std::uint32_t count) {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::vector<Token> legal = legal_now(sectors_[first + i]);
    const Found found = decode(data + i * kSector);
    if (!is_one_of(found, file_, first + i, legal)) return violation(first + i, legal, found);
  }
  return {};
}

Violation Model::violation(std::uint32_t sector, const std::vector<Token>& legal,
                           const Found& found) const {
  std::string expected;
  for (const Token token : legal) {
    const std::string name = name_of(token);
    if (expected.find(name) != std::string::npos) continue;
    expected += (expected.empty() ? "" : " or ") + name;
  }
  return {sector, expected, name_of(found, file_, sector), around(sector, legal)};
}

// Describes the operations in the sector's block, or next to it, that were in flight at the same
// time as the first of the expected operations. If only zeros are expected, describes the last
// operations there.
std::string Model::around(std::uint32_t sector, const std::vector<Token>& legal) const {
  constexpr std::size_t kMost = 8;
  std::uint64_t from = 0, to = clock_;
  for (const Token token : legal) {
    if (token == kZeros || seq_of(token) > ops_.size()) continue;
    const Op& op = ops_[seq_of(token) - 1];
    from = op.begin;
    to = op.end != 0 ? op.end : clock_;
    break;
  }
  const std::uint32_t block = sector / per_block_ * per_block_;
  std::vector<std::string> all;
  for (std::uint64_t seq = 1; seq <= ops_.size(); ++seq) {
    const Op& op = ops_[seq - 1];
    if (op.first >= block + per_block_ || op.first + op.count < block) continue;
    if (op.begin > to || (op.end != 0 && op.end < from)) continue;
    all.push_back(std::string(name_of(op.kind)) + " by " + name_of(op.via) + " " +
                  name_of(token_of(op.owner, seq)) + " sectors " + std::to_string(op.first) + "+" +
                  std::to_string(op.count) + " time " + std::to_string(op.begin) + "-" +
                  (op.end != 0 ? std::to_string(op.end) : "") + " result " +
                  std::to_string(op.result));
  }
  std::string out;
  for (std::size_t i = all.size() - std::min(all.size(), kMost); i < all.size(); ++i)
    out += (out.empty() ? "" : "; ") + all[i];
  return out;
}

void Model::save(std::ostream& out) {
  const std::lock_guard lock(mutex_);
  out << "file " << file_ << ' ' << most_ << ' ' << per_block_ << ' ' << size_ << '\n';
  for (std::uint32_t i = 0; i < size_; ++i) {
    const std::vector<Token> legal = legal_now(sectors_[i]);
    out << legal.size();
    for (const Token token : legal) out << ' ' << token;
    out << '\n';
  }
}

std::optional<Model> Model::load(std::istream& in) {
  std::string word;
  std::uint32_t file = 0, most = 0, per_block = 0, size = 0;
  if (!(in >> word >> file >> most >> per_block >> size) || word != "file" || per_block == 0 ||
      size > most)
    return {};
  Model model(file, most, per_block);
  model.size_ = model.claimed_ = size;
  for (std::uint32_t i = 0; i < size; ++i) {
    std::size_t count = 0;
    if (!(in >> count)) return {};
    model.sectors_[i].may_hold.resize(count);
    for (Alternative& old : model.sectors_[i].may_hold)
      if (!(in >> old.token)) return {};
  }
  return model;
}

}  // namespace dio
