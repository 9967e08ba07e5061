// SPDX-License-Identifier: GPL-2.0-or-later
// Tests reviews of two kernels, with fake kernels (test/guest/fake_kernel.cc).
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/setups.h"
#include "hunt/trial.h"
#include "review/words.h"
#include "support/ext2_images.h"
#include "support/temp_dir.h"

namespace e4r::review {
namespace {

class KernelReview : public ::testing::Test {
 protected:
  KernelReview() {
    hunt::Starts starts([this](std::uint64_t bytes, std::uint32_t block_size) {
      std::string path = dir_.file("start.img");
      test::make_image(path, bytes, {"-t", "ext4", "-b", std::to_string(block_size)});
      return Result<std::string>(std::move(path));
    });
    hunt::Candidate candidate;
    candidate.origin = {.bytes = 64 << 20, .block_size = 4096};
    candidate.mix.operations = 20;
    const auto start = starts.make(candidate.origin);
    Side recorded;
    recorded.policy = *app::parse_policy("legacy");
    const auto events = hunt::write_case(hunt::scene_of(candidate, *start), recorded,
                                         {"the test", "none"}, dir_.file("case.e4c"));
    EXPECT_TRUE(events.ok()) << events.error().message;
    options_.captures.push_back(*app::parse_capture(dir_.file("case.e4c")));
  }

  // Makes a side with a fake kernel. The name of its file selects its behaviour.
  Side kernel(const std::string& name) {
    std::filesystem::copy_file(FAKE_KERNEL, dir_.file(name));
    Side out;
    out.policy = *app::parse_policy("kernel:" + dir_.file(name));
    out.file = *app::policy_file(*out.policy);
    return out;
  }
  Result<Review> run(const std::string& base, const std::string& with) {
    options_.base = kernel(base);
    options_.with = kernel(with);
    return review::review(options_, {silent_, [](const std::string&) {}});
  }
  static const Figure& figure(const Review& review, const std::string& key) {
    static const Figure kNone;
    for (const Figure& one : review.cases.front().figures)
      if (one.row->key == key) return one;
    ADD_FAILURE() << "no figure " << key;
    return kNone;
  }

  // Returns the text with a blank in place of each line break.
  static std::string unwrapped(const std::string& text) {
    std::istringstream words(text);
    std::string out;
    for (std::string word; words >> word;) out += " " + word;
    return out;
  }

  test::TempDir dir_;
  ReviewOptions options_;
  Progress silent_{false};
};

TEST_F(KernelReview, TimesOfTwoCopiesAreNoChange) {
  const auto review = run("noisy-a", "noisy-b");
  ASSERT_TRUE(review.ok()) << review.error().message;
  const Case& one = review->cases.front();
  ASSERT_EQ(one.refused, "");
  EXPECT_TRUE(one.alike);
  EXPECT_EQ(one.repeats, 1u);
  for (const Figure& figure : one.figures) EXPECT_FALSE(is_time(figure)) << figure.row->key;
  EXPECT_TRUE(list_changed(*review, Change::worse).empty());
  EXPECT_TRUE(list_changed(*review, Change::better).empty());
  ASSERT_EQ(review->bands.size(), 3u);
  EXPECT_EQ(review->bands.front().cases, 1u);
  const std::string text = review_text(*review, {"e4replay 1", {"e4replay", "review"}});
  EXPECT_NE(text.find("their checksums are equal"), std::string::npos) << text;
  EXPECT_NE(text.find("same decisions, the mean differs"), std::string::npos) << text;
  EXPECT_NE(text.find("Both made the same decision for every request in 1: case."),
            std::string::npos)
      << text;
}

TEST_F(KernelReview, ATimeOfOneThatDecidesOtherwiseIsTheMedianOfRunsInTurn) {
  options_.repeats = 5;
  const auto review = run("good", "far-slow");
  ASSERT_TRUE(review.ok()) << review.error().message;
  const Case& one = review->cases.front();
  ASSERT_EQ(one.refused, "");
  EXPECT_FALSE(one.alike);
  EXPECT_EQ(one.repeats, 5u);
  EXPECT_EQ(results::number_of(figure(*review, "decision_ns/mean").with), 900);
  EXPECT_EQ(change_of(figure(*review, "decision_ns/p50")), Change::worse);
  EXPECT_TRUE(one.caveats.empty()) << one.caveats.front();
}

// If a clock ticks every 256 ns, the difference between 100 ns and 350 ns may be only one tick.
TEST_F(KernelReview, ATickOfTheClockIsNoChange) {
  const auto review = run("good", "far");
  ASSERT_TRUE(review.ok()) << review.error().message;
  EXPECT_EQ(change_of(figure(*review, "decision_ns/p50")), Change::same);
  EXPECT_EQ(change_text(figure(*review, "decision_ns/p99")), "noise");
  EXPECT_EQ(change_of(figure(*review, "decision_ns/mean")), Change::worse) << "of many requests";
}

// The mean time of the noisy kernel is 350 ns or less in some runs, and more in others.
TEST_F(KernelReview, WhatRunsOfOneKernelDifferByIsNoise) {
  const auto review = run("noisy-a", "far");
  ASSERT_TRUE(review.ok()) << review.error().message;
  const Figure& p50 = figure(*review, "decision_ns/p50");
  EXPECT_GE(p50.noise, 256.0 / 1500);
  EXPECT_EQ(review->cases.front().repeats, 3u);
}

TEST_F(KernelReview, NamesTheKernelsThatWereCompared) {
  const auto review = run("good", "far");
  ASSERT_TRUE(review.ok()) << review.error().message;
  const std::string text = review_text(*review, {"e4replay 1", {"e4replay", "review"}});
  EXPECT_NE(text.find("\n      Linux 6.1.0-fake, commit 0123456789ab with changes that are not"),
            std::string::npos)
      << text;
  const auto doc = boost::json::parse(review_json(*review, {"e4replay 1", {"a"}}));
  for (const char* side : {"base", "with"}) {
    EXPECT_FALSE(doc.at(side).at("verified").as_bool());
    EXPECT_EQ(doc.at(side).at("release").as_string(), "6.1.0-fake");
    EXPECT_EQ(doc.at(side).at("commit").as_string(), "0123456789abcdef");
    EXPECT_TRUE(doc.at(side).at("dirty").as_bool());
    EXPECT_EQ(doc.at(side).at("crc32c").as_string().size(), 8u);
  }
  const std::string page = review_html(*review, {"e4replay 1", {"a"}});
  EXPECT_NE(page.find("commit 0123456789ab"), std::string::npos);
}

// However a kernel fails, its failure is worse than any figure.
TEST_F(KernelReview, AKernelThatFailsIsTheFirstThatGotWorse) {
  ::setenv("E4R_GUEST_PATIENCE", "1", 1);
  const std::pair<const char*, const char*> kernels[] = {
      {"dies-later", "the kernel failed: it ended at an allocation: EXT4-fs error"},
      {"hangs", "the kernel failed: it has not answered for 1 s at an allocation"},
      {"warns", "mballoc.c:5571 ext4_mb_new_blocks+0x1a/0x20; called by "},
      {"meets-errors", "the kernel failed: ext4 met an error at an allocation"}};
  options_.base = kernel("good");
  for (const auto& [name, why] : kernels) {
    options_.with = kernel(name);
    const auto review = review::review(options_, {silent_, [](const std::string&) {}});
    ASSERT_TRUE(review.ok()) << review.error().message;
    const Case& one = review->cases.front();
    EXPECT_EQ(one.failed[0], "");
    EXPECT_NE(one.failed[1].find(why), std::string::npos) << one.failed[1];
    EXPECT_NE(one.failed[1].find("(--explain "), std::string::npos) << one.failed[1];
    EXPECT_NE(one.refused.find(why), std::string::npos) << one.refused;
    const std::string head =
        fmt::format("{} failed in 1 of 1 case, and --base did not", options_.with.policy->name);
    const std::string text = unwrapped(review_text(*review, {"e4replay 1", {"a"}}));
    EXPECT_NE(text.find(" What got worse -------------- " + head + ": case: "), std::string::npos)
        << text;
    const std::string page = review_html(*review, {"e4replay 1", {"a"}});
    EXPECT_NE(page.find("<h2>What got worse</h2>\n<p><b>" + head), std::string::npos) << page;
    const auto doc = boost::json::parse(review_json(*review, {"e4replay 1", {"a"}}));
    EXPECT_EQ(doc.at("worse").at(0).at("key").as_string(), "policy_failed");
    EXPECT_EQ(doc.at("worse").at(0).at("name").as_string(), "case");
    EXPECT_EQ(doc.at("cases").at(0).at("failed").at("with").as_string(), one.failed[1]);
    EXPECT_TRUE(doc.at("cases").at(0).at("failed").at("base").is_null());
  }
  ::unsetenv("E4R_GUEST_PATIENCE");
}

TEST_F(KernelReview, AFailureOfTheBaseIsOfTheBase) {
  const auto alone = run("dies", "good");
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(failures_text(*alone, Change::worse), "");
  EXPECT_EQ(failures_text(*alone, Change::better),
            std::string(options_.base.policy->name) + " failed in 1 of 1 case, and --with did not");
  const auto both = run("dies-later", "warns");
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(failures_text(*both, Change::worse),
            std::string(options_.with.policy->name) + " failed in 1 of 1 case, and --base as well");
  EXPECT_EQ(failures_text(*both, Change::better), "");
}

// A kernel that fails in one of several runs counts as failed.
TEST_F(KernelReview, AKernelThatFailsWhenItIsAskedAgainHasFailed) {
  const auto review = run("good", "far-dies-again");
  ASSERT_TRUE(review.ok()) << review.error().message;
  EXPECT_NE(review->cases.front().failed[1].find("the kernel failed"), std::string::npos);
}

// The capture contains neither file sizes nor numbers of writers. For each policy, a caveat counts
// the decisions that depended on them.
TEST_F(KernelReview, GuessesAreACaveat) {
  options_.captures = {*app::parse_capture(TRACES "/cr5-64m.e4c")};
  options_.force = true;
  const auto review = run("full", "full-too");
  ASSERT_TRUE(review.ok()) << review.error().message;
  ASSERT_EQ(review->cases.front().refused, "");
  const auto found = std::ranges::find_if(review->caveats, [](const Caveat& caveat) {
    return caveat.text.find("full: of ") != std::string::npos &&
           caveat.text.find("depended on a file size that was not recorded") != std::string::npos;
  });
  ASSERT_NE(found, review->caveats.end());
  EXPECT_EQ(found->of, std::vector<std::size_t>{0});
  EXPECT_GT(results::number_of(figure(*review, "guessed_sizes").base).value_or(0), 0);
  const ReviewOrigin origin = {"e4replay 1", {"a"}};
  for (const std::string& document : {unwrapped(review_text(*review, origin)),
                                      review_json(*review, origin), review_html(*review, origin)})
    EXPECT_NE(document.find("full: of "), std::string::npos) << document;
}

TEST_F(KernelReview, AFileThatIsBuiltAnewMeanwhileIsRefused) {
  options_.base = kernel("good");
  options_.with = kernel("far");
  std::ofstream(dir_.file("far"), std::ios::app) << "built anew";
  const auto review = review::review(options_, {silent_, [](const std::string&) {}});
  ASSERT_FALSE(review.ok());
  EXPECT_NE(review.error().message.find("far: changed while it was reviewed"), std::string::npos)
      << review.error().message;
}

}  // namespace
}  // namespace e4r::review
