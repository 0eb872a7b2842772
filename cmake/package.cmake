# What `cmake --install` puts beside the programs: the rooms as libraries with their headers, and the package that
# find_package(hone) reads. hone::hone is all rooms; hone::model, hone::measure, ... are one each.
include(CMakePackageConfigHelpers)
add_library(hone_all INTERFACE)
set_target_properties(hone_all PROPERTIES EXPORT_NAME hone)
get_property(rooms GLOBAL PROPERTY HONE_ROOMS)
target_link_libraries(hone_all INTERFACE ${rooms})
install(TARGETS hone_all EXPORT hone)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/ DESTINATION include/hone FILES_MATCHING PATTERN "*.h" PATTERN "*.def"
  PATTERN cli EXCLUDE PATTERN report/page EXCLUDE PATTERN report/snippet EXCLUDE)
install(EXPORT hone NAMESPACE hone:: DESTINATION lib/cmake/hone FILE hone-targets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hone-config.cmake.in ${CMAKE_BINARY_DIR}/hone-config.cmake
  INSTALL_DESTINATION lib/cmake/hone)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/hone-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/hone-config.cmake ${CMAKE_BINARY_DIR}/hone-config-version.cmake
  ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake ${PROJECT_SOURCE_DIR}/cmake/FindOnnxRuntime.cmake
  DESTINATION lib/cmake/hone)
