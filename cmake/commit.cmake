# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DSOURCE=DIR -DOUTPUT=FILE [-DCOMMIT=TEXT] -P commit.cmake: writes a header with the commit checked out
# in DIR, followed by -dirty if files have been changed; empty if DIR is not a checkout. TEXT replaces the
# commit. The file is touched only if it changes.
if(NOT DEFINED COMMIT)
  set(COMMIT "")
  # A tarball that lies in another project's checkout is not a checkout.
  if(EXISTS ${SOURCE}/.git)
    execute_process(
      COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --exclude *
      OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define E4R_COMMIT \"${COMMIT}\"\n")
