// SPDX-License-Identifier: GPL-2.0-or-later
#include "lazyinit/kernel_thread.h"

#include <gtest/gtest.h>

namespace e4r::lazyinit {
namespace {

using Kind = InitItable::Kind;

TEST(InitItable, ParsesWhatTheKernelParses) {
  EXPECT_EQ(*parse_init_itable("default"), InitItable{});
  EXPECT_EQ(*parse_init_itable("noinit_itable"), (InitItable{.kind = Kind::off}));
  EXPECT_EQ(*parse_init_itable("init_itable"), (InitItable{.kind = Kind::wait}));
  EXPECT_EQ(*parse_init_itable("init_itable=0"), (InitItable{Kind::wait, 0}));
  EXPECT_EQ(*parse_init_itable("init_itable=2147483647"), (InitItable{Kind::wait, 0x7fffffff}));
}

TEST(InitItable, RefusesTheRest) {
  for (const char* text : {"", "init_itable=", "init_itable=-1", "init_itable=x", "init_itable=1 ",
                           "init_itable=2147483648", "init_itable=1,discard", "noinit_itable=1",
                           "init_itables", "Default"})
    EXPECT_FALSE(parse_init_itable(text).ok()) << text;
}

TEST(InitItable, TextIsParsedBack) {
  for (const InitItable& value : {InitItable{}, InitItable{.kind = Kind::off},
                                  InitItable{Kind::wait, 0}, InitItable{Kind::wait, 77}})
    EXPECT_EQ(*parse_init_itable(value.text()), value);
}

TEST(InitItable, LastWordOfTheListCounts) {
  EXPECT_EQ(*init_itable_of(""), InitItable{});
  EXPECT_EQ(*init_itable_of("discard,,nodelalloc,"), InitItable{});
  EXPECT_EQ(*init_itable_of("init_itable=3,discard,noinit_itable"),
            (InitItable{.kind = Kind::off}));
  EXPECT_EQ(*init_itable_of("noinit_itable,init_itable=3"), (InitItable{Kind::wait, 3}));
  EXPECT_FALSE(init_itable_of("discard,init_itable=many").ok());
}

TEST(InitItable, ReplacesInTheListAndKeepsTheOthers) {
  const InitItable five{Kind::wait, 5};
  EXPECT_EQ(*with_init_itable("", five), "init_itable=5");
  EXPECT_EQ(*with_init_itable("noinit_itable,discard,init_itable=9,data=ordered", five),
            "discard,data=ordered,init_itable=5");
  EXPECT_EQ(*with_init_itable("discard,init_itable=bad", InitItable{}), "discard");
  EXPECT_EQ(*with_init_itable("init_itable=9", InitItable{}), "");
}

TEST(InitItable, KeepsToTheRoomInTheSuperblock) {
  const InitItable off{.kind = Kind::off};
  const std::string fits(kMountOptionsMax - std::string(",noinit_itable").size(), 'x');
  ASSERT_TRUE(with_init_itable(fits, off).ok());
  EXPECT_EQ(with_init_itable(fits, off)->size(), kMountOptionsMax);
  EXPECT_FALSE(with_init_itable(fits + "x", off).ok());
}

}  // namespace
}  // namespace e4r::lazyinit
