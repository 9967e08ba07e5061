# SPDX-License-Identifier: GPL-2.0-or-later
# Writes the page's style and script into a C++ source, as strings.
#   cmake -DCSS=page.css -DJS=page.js -DOUT=page_assets.cc -P embed.cmake
set(text "// Made by src/report/html/embed.cmake.\n#include \"report/page_assets.h\"\n\nnamespace e4r::report {\n\n")
foreach(asset CSS JS)
  file(READ "${${asset}}" content)
  string(FIND "${content}" ")e4r\"" ends)
  if(NOT ends EQUAL -1)
    message(FATAL_ERROR "${${asset}}: has what ends a C++ string")
  endif()
  # Behind the licence's line, which the page has no use for.
  string(FIND "${content}" "\n" first)
  string(SUBSTRING "${content}" ${first} -1 content)
  string(APPEND text "const std::string_view kPage${asset} = R\"e4r(${content})e4r\";\n\n")
endforeach()
file(WRITE "${OUT}" "${text}}  // namespace e4r::report\n")
