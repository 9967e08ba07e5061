// SPDX-License-Identifier: GPL-2.0-or-later
#include "record/tracefs_api.h"

#include <tracefs.h>
