// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/bytes.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>

#include "trace/support.h"
#include "trace/text/scan.h"

namespace e4r::trace {
namespace {

using test::TemporaryDirectory;

// Compresses with a checksum, as the zstd command does.
std::string zstd(std::string_view text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context, out.data(), out.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return out;
}

std::string gzip(std::string_view text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  std::string input(text);
  z_stream z = {};
  deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(input.data());
  z.avail_in = static_cast<uInt>(input.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

struct Read {
  std::string bytes, error, warning;
};

Read drain(ByteSource& source) {
  Read out;
  for (;;) {
    const auto chunk = source.next();
    if (!chunk.ok()) out.error = chunk.error().message;
    if (!chunk.ok() || chunk->empty()) break;
    out.bytes += *chunk;
  }
  out.warning = source.warning();
  return out;
}

Read decompressed(std::string_view bytes, const ByteOptions& options, std::size_t chunk) {
  auto source = decompress(memory_bytes(bytes, chunk), "t", options);
  if (!source.ok()) return {"", source.error().message, ""};
  return drain(**source);
}

// Returns a text that is longer than one buffer of a decoder. It can be compressed, but not to a
// very small size.
std::string long_text() {
  std::string out;
  for (int i = 0; out.size() < 1'500'000; ++i) out += std::to_string(i * 7919 % 100003) + "\n";
  return out;
}

TEST(Bytes, DecompressesAnyNumberOfMembersInAnyChunks) {
  const std::string text = long_text();
  for (const auto& packed :
       {zstd(text) + zstd("tail"), gzip(text) + gzip("tail") + std::string(3, '\0')})
    for (const std::size_t chunk : {std::size_t{7}, std::size_t{100'000}, packed.size()})
      for (const bool ahead : {false, true}) {
        const Read read = decompressed(packed, {false, ahead}, chunk);
        EXPECT_EQ(read.error, "");
        EXPECT_TRUE(read.bytes == text + "tail");
      }
}

TEST(Bytes, TruncatedCompressionNamesTheOffset) {
  for (const auto& whole : {zstd(long_text()), gzip(long_text())}) {
    const std::string cut = whole.substr(0, whole.size() / 2);
    const Read strict = decompressed(cut, {}, cut.size());
    EXPECT_EQ(strict.error, "t: compressed data end early at byte " + std::to_string(cut.size()));
    const Read lenient = decompressed(cut, {true, true}, cut.size());
    EXPECT_EQ(lenient.error, "");
    EXPECT_EQ(lenient.warning, strict.error);
    EXPECT_GT(lenient.bytes.size(), 100'000u);
    EXPECT_TRUE(long_text().starts_with(lenient.bytes));
  }
}

TEST(Bytes, DamagedCompressionIsAnError) {
  for (const auto& whole : {zstd(long_text()), gzip(long_text())}) {
    std::string bad = whole;
    for (std::size_t i = bad.size() / 2; i < bad.size() / 2 + 64; ++i) bad[i] ^= 0x5a;
    const Read strict = decompressed(bad, {}, bad.size());
    EXPECT_NE(strict.error.find("t: compressed data "), std::string::npos) << strict.error;
    EXPECT_EQ(decompressed(bad, {true, false}, bad.size()).error, "");
    const Read garbage = decompressed(whole + "garbage", {}, bad.size());
    EXPECT_NE(garbage.error, "");
  }
}

TEST(Bytes, AConsumerMayLeaveEarly) {
  const std::string packed = zstd(long_text());
  auto source = decompress(memory_bytes(packed), "t", {false, true});
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE((*source)->next().ok());
}

TEST(Bytes, OpensFilesPlainAndCompressed) {
  const TemporaryDirectory dir;
  for (const std::string& content : {std::string("plain"), zstd("plain"), gzip("plain")}) {
    std::ofstream(dir / "f", std::ios::binary) << content;
    auto source = open_bytes(dir / "f", {});
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(drain(**source).bytes, "plain");
  }
  EXPECT_EQ(open_bytes(dir / "none", {}).error().message,
            (dir / "none") + ": cannot open: No such file or directory");
  EXPECT_NE(open_bytes("/tmp", {}).error().message.find("is a directory"), std::string::npos);
}

TEST(Bytes, PeekLooksAheadAcrossChunks) {
  auto peeked = peek(memory_bytes("abcdefgh", 3), 5);
  ASSERT_TRUE(peeked.ok());
  EXPECT_EQ(peeked->head, "abcdef");
  EXPECT_EQ(drain(*peeked->source).bytes, "abcdefgh");
  auto all = peek(memory_bytes("ab", 1), 5);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->head, "ab");
  EXPECT_EQ(drain(*all->source).bytes, "ab");
}

std::vector<std::string> lines_of(std::string_view text, std::size_t chunk, bool* terminated) {
  std::vector<std::string> out;
  LineReader reader(memory_bytes(text, chunk));
  while (*reader.next()) out.emplace_back(reader.line());
  *terminated = reader.terminated();
  return out;
}

TEST(Lines, CutsAnyChunksAndLineEndings) {
  const std::vector<std::string> expected = {"one", "", "two three", "four"};
  for (const std::string_view text :
       {"one\n\ntwo three\nfour\n", "one\r\n\r\ntwo three\r\nfour\r\n", "one\n\ntwo three\nfour"})
    for (std::size_t chunk = 1; chunk < 24; ++chunk) {
      bool terminated = false;
      EXPECT_EQ(lines_of(text, chunk, &terminated), expected) << chunk;
      EXPECT_EQ(terminated, text.back() == '\n');
    }
}

TEST(Lines, OverlongLinesComeInPieces) {
  const std::string text(3 * LineReader::kMaxLine / 2, '7');
  for (const std::size_t chunk : {std::size_t{1000}, text.size()}) {
    bool terminated = true;
    const auto lines = lines_of(text + "\nnext\n", chunk, &terminated);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0].size(), LineReader::kMaxLine);
    EXPECT_EQ(lines[0] + lines[1], text);
    EXPECT_EQ(lines[2], "next");
  }
}

}  // namespace
}  // namespace e4r::trace
