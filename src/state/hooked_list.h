// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <boost/intrusive/list.hpp>

namespace e4r::state {

// A doubly linked list threaded through its elements. An element leaves it by hook.unlink(), which
// does not need the list, or by its destruction.
using ListHook =
    boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

template <class T, ListHook T::*Hook>
using HookedList = boost::intrusive::list<T, boost::intrusive::member_hook<T, ListHook, Hook>,
                                          boost::intrusive::constant_time_size<false>>;

}  // namespace e4r::state
