// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// Includes every header of libe4replay. docs/library.md gives an overview.
#include <e4replay/allocator.h>
#include <e4replay/event.h>
#include <e4replay/free_extents.h>
#include <e4replay/image.h>
#include <e4replay/listener.h>
#include <e4replay/own_policy.h>
#include <e4replay/policy.h>
#include <e4replay/recording.h>
#include <e4replay/replay.h>
#include <e4replay/report.h>
#include <e4replay/result.h>
#include <e4replay/version.h>
