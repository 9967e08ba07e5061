# SPDX-License-Identifier: GPL-2.0-or-later
# e4r_optional(NAME WHAT PACKAGES CONDITION...): declares an optional part of the build, which needs
# the Debian packages PACKAGES. E4R_<NAME> is AUTO (build the part if CONDITION holds), ON (fail if
# CONDITION does not hold) or OFF. Sets E4R_HAVE_<NAME> to whether the part is built. If it is not,
# appends WHAT to the global property E4R_LEFT_OUT.
function(e4r_optional name what packages)
  set(E4R_${name} AUTO CACHE STRING "${what}: AUTO, ON or OFF")
  set_property(CACHE E4R_${name} PROPERTY STRINGS AUTO ON OFF)
  set(have OFF)
  if(E4R_${name} STREQUAL OFF)
  elseif(${ARGN})
    set(have ON)
  elseif(E4R_${name} STREQUAL ON)
    message(FATAL_ERROR "E4R_${name} (${what}) needs packages (Debian: ${packages})")
  elseif(NOT E4R_${name}_MISSED)
    message(STATUS "Leaving out ${what}: it needs ${packages} (-DE4R_${name}=OFF: not wanted)")
    set(E4R_${name}_MISSED ON CACHE INTERNAL "the build has said so")
  endif()
  if(NOT have)
    set_property(GLOBAL APPEND PROPERTY E4R_LEFT_OUT "${what}")
  endif()
  set(E4R_HAVE_${name} ${have} PARENT_SCOPE)
endfunction()
