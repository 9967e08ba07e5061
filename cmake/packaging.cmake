# SPDX-License-Identifier: GPL-2.0-or-later
# README.md refers to other documents and to a picture by paths below docs/, so they must be
# installed there.
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.ipynb" PATTERN "*.svg" PATTERN "*.png"
  PATTERN man EXCLUDE PATTERN schema EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.cc" PATTERN "*.py")
foreach(section 1 5 8)
  file(GLOB pages CONFIGURE_DEPENDS docs/man/*.${section})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/e4replay FILES_MATCHING PATTERN "*.json")
install(DIRECTORY traces/corpus DESTINATION ${CMAKE_INSTALL_DATADIR}/e4replay
  FILES_MATCHING PATTERN "*.e4c" PATTERN MANIFEST)
file(GLOB captures CONFIGURE_DEPENDS traces/*.e4c)
install(FILES ${captures} traces/MANIFEST DESTINATION ${CMAKE_INSTALL_DATADIR}/e4replay/captures)
install(FILES packaging/magic/e4replay DESTINATION ${CMAKE_INSTALL_DATADIR}/e4replay/magic)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME e4replay)
set(CPACK_PACKAGE_CONTACT "e4replay developers")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "e2fsprogs")
set(CPACK_STRIP_FILES ON)
include(CPack)
