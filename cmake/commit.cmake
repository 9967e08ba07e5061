# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DSOURCE=DIR -DOUTPUT=FILE [-DCOMMIT=TEXT] -P commit.cmake: writes a header that says which
# commit DIR is checked out at, with -dirty behind it when files have been changed; nothing where DIR is
# no checkout. TEXT: that instead. The file is touched only when it changes.
if(NOT DEFINED COMMIT)
  set(COMMIT "")
  # A tarball that lies in somebody else's checkout is none.
  if(EXISTS ${SOURCE}/.git)
    execute_process(
      COMMAND git --no-optional-locks -C ${SOURCE} describe --always --dirty --exclude *
      OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define E4R_COMMIT \"${COMMIT}\"\n")
