// SPDX-License-Identifier: GPL-2.0-or-later
#include "age/job.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace e4r::age {
namespace {

using Kind = Operation::Kind;

std::vector<Operation> draw(const std::vector<Job>& jobs) {
  JobWorkload workload(jobs);
  std::vector<Operation> out;
  for (Operation operation; workload.next(operation);) out.push_back(operation);
  return out;
}

std::string texts_of(const std::vector<Operation>& operations) {
  std::string out;
  for (const Operation& operation : operations)
    out += (out.empty() ? "" : ", ") + age::text_of(operation);
  return out;
}

std::string drawn(std::string_view words) {
  const auto wanted = parse_job_words(words);
  return wanted.ok() ? texts_of(draw(wanted->jobs)) : wanted.error().message;
}

std::string drawn_of_fio(std::string_view text) {
  const auto wanted = parse_fio(text, "job.fio");
  return wanted.ok() ? texts_of(draw(wanted->jobs)) : wanted.error().message;
}

TEST(JobWorkload, WritesFileByFileInTurn) {
  EXPECT_EQ(drawn("files=3 size=8K bs=4K writers=2"),
            "W 0 0 4096, W 1 0 4096, W 0 4096 4096, c 0, W 1 4096 4096, c 1, W 2 0 4096, "
            "W 2 4096 4096, c 2, s");
  EXPECT_EQ(drawn("size=10K bs=4K direct=yes fsync=2"),
            "D 0 0 4096, D 0 4096 4096, y 0, D 0 8192 2048, c 0, s");
  EXPECT_EQ(drawn("size=10K bs=4K fallocate=8K"),
            "k 0 0 8192, W 0 0 4096, W 0 4096 4096, k 0 8192 8192, W 0 8192 2048, c 0, s");
  EXPECT_EQ(drawn("size=10K fallocate=whole"), "f 0 0 10240, W 0 0 10240, c 0, s");
}

TEST(JobWorkload, WritesEachPartOnceInRandomOrder) {
  Job job;
  job.size = 1000 * 4096 + 5;
  job.bs = 4096;
  job.random = true;
  job.seed = 9;
  std::set<std::uint64_t> offsets;
  std::uint64_t bytes = 0, ascending = 0, last = 0;
  for (const Operation& operation : draw({job})) {
    if (operation.kind != Kind::write_at) continue;
    EXPECT_TRUE(offsets.insert(operation.offset).second) << operation.offset;
    bytes += operation.bytes;
    ascending += operation.offset > last ? 1 : 0;
    last = operation.offset;
  }
  EXPECT_EQ(offsets.size(), 1001u);
  EXPECT_EQ(bytes, job.size);
  EXPECT_LT(ascending, 700u);
}

TEST(JobWorkload, EndsTheWriterThatFindsNoSpace) {
  Job job;
  job.writers = 2;
  job.files = 2;
  job.size = 8192;
  job.bs = 4096;
  JobWorkload workload({job});
  EXPECT_EQ(workload.bytes_wanted(), 32768u);
  std::map<std::uint32_t, std::uint64_t> writes;
  bool failed = false;
  for (Operation operation; workload.next(operation);) {
    if (operation.kind != Kind::write_at) continue;
    ++writes[operation.writer];
    if (operation.writer == 1 && !failed) {
      failed = true;
      workload.fail();
    }
  }
  EXPECT_EQ(writes[0], 4u);
  EXPECT_EQ(writes[1], 1u);
  EXPECT_EQ(workload.bytes_written(), 16384u);
}

TEST(Fio, CreatesFilesBeforeJobsBegin) {
  // If a job does not set fallocate, fio preallocates each file.
  EXPECT_EQ(drawn_of_fio("[a]\nrw=write\nsize=8k\nnrfiles=2\nbs=4k\n"),
            "f 0 0 4096, c 0, f 1 0 4096, c 1, W 0 0 4096, W 1 0 4096, c 0, c 1, s");
  EXPECT_EQ(drawn_of_fio("[a]\nrw=read\nsize=8k\nfallocate=none\n"),
            "W 0 0 4096, W 0 4096 4096, y 0, c 0, W 0 0 4096, W 0 4096 4096, c 0, s");
  EXPECT_EQ(drawn_of_fio("[a]\nrw=write\nsize=4k\ncreate_on_open=1\n"), "W 0 0 4096, c 0, s");
  EXPECT_EQ(drawn_of_fio("[a]\nrw=write\nfilesize=4k\nsize=8k\nnrfiles=2\nfallocate=none\n"
                         "file_service_type=sequential\nend_fsync=1\n"),
            "c 0, c 1, W 0 0 4096, y 0, c 0, W 1 0 4096, y 1, c 1, s");
}

TEST(Fio, SharesWhatGlobalSaysAndWaitsAtAWall) {
  EXPECT_EQ(drawn_of_fio("; text\n[global]\nbs=4k\nfallocate=none\nrw=write\ndirect=1\n\n"
                         "[a]\nsize=8k\n# more\n[b]\nstonewall\nsize=4k\nbs=2k,4k\nnumjobs=2\n"),
            "c 0, c 1, c 2, D 0 0 4096, D 0 4096 4096, c 0, D 1 0 4096, c 1, D 2 0 4096, c 2, s");
  EXPECT_EQ(drawn_of_fio("[a]\nrw=write\nfallocate=none\nfilename=x\nnumjobs=2\nsize=4k\n"
                         "offset=8k\n"),
            "c 0, W 0 8192 4096, c 0, W 0 8192 4096, c 0, s");
}

TEST(Fio, ListsWhatChangesNothing) {
  const auto wanted = parse_fio(
      "[global]\nioengine=libaio\niodepth=8\n[a]\nrw=write\nsize=4k\ngroup_reporting\n"
      "write_bw_log\nname=x\n[b]\nrw=write\nsize=4k\ngroup_reporting\n",
      "job.fio");
  ASSERT_TRUE(wanted.ok()) << wanted.error().message;
  EXPECT_EQ(wanted->jobs.size(), 2u);
  EXPECT_EQ(wanted->ignored,
            (std::vector<std::string>{"ioengine=libaio", "iodepth=8", "group_reporting",
                                      "write_bw_log", "name=x"}));
}

TEST(Jobs, HaveLimits) {
  const FileLimits limits = {4096, 1000};
  const auto refused = [&](const std::string& words) {
    const auto wanted = parse_job_words(words);
    if (!wanted.ok()) return wanted.error().message;
    const Status fits = check_jobs(wanted->jobs, limits);
    return fits.ok() ? std::string() : fits.error().message;
  };
  EXPECT_EQ(refused("files=1000 size=4K"), "");
  EXPECT_NE(refused("files=1001 size=4K").find("1,000 inodes are free"), std::string::npos);
  EXPECT_NE(refused("files=18446744073709551615 size=4K").find("inodes"), std::string::npos);
  EXPECT_NE(refused("size=16T").find("a file has at most"), std::string::npos);
  EXPECT_NE(refused("size=1T bs=512").find("more than 20,000,000 writes"), std::string::npos);
  // The product of these values does not fit into 64 bits.
  Job job;
  job.writers = 1024;
  job.files = std::uint64_t{1} << 60;
  job.size = 4096;
  EXPECT_FALSE(check_jobs({job}, limits).ok());
  job.files = 1;
  job.io = UINT64_MAX;
  EXPECT_FALSE(check_jobs({job}, limits).ok());
}

}  // namespace
}  // namespace e4r::age
