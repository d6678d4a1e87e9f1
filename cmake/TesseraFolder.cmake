# tessera_folder(NAME [COLD] SOURCES ... [PUBLIC header ...] [TESTS ...] [DEPENDS folder ...]
#                [LIBRARIES target ...] [PRIVATE_LIBRARIES target ...])
#
# Declares the library tessera::NAME of src/tessera/NAME, and one test binary for its *_test.cc.
#   COLD               no loop of NAME is hot: it is optimised less and compiles faster
#   PUBLIC             headers of include/tessera that NAME implements; they are what is installed
#   DEPENDS            folders of TESSERA_FOLDERS that come before NAME
#   LIBRARIES          third-party targets that NAME's headers include
#   PRIVATE_LIBRARIES  third-party targets that only NAME's sources include
#
# Each folder's headers are reached through an include directory of its own, a link in the build
# tree, so that a source can include "tessera/x/y.h" only if its folder depends on x.
function(tessera_folder name)
  cmake_parse_arguments(ARG "COLD" "" "SOURCES;PUBLIC;TESTS;DEPENDS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  list(FIND TESSERA_FOLDERS ${name} own_rank)
  if(own_rank LESS 0)
    message(FATAL_ERROR "folder '${name}' is not in TESSERA_FOLDERS")
  endif()

  set(view ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view}/tessera)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/tessera/${name} ${view}/tessera/${name} SYMBOLIC)
  foreach(header IN LISTS ARG_PUBLIC)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/tessera/${header} ${view}/tessera/${header} SYMBOLIC)
  endforeach()

  add_library(tessera_${name} STATIC ${ARG_SOURCES})
  add_library(tessera::${name} ALIAS tessera_${name})
  set_target_properties(tessera_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(tessera_${name} PUBLIC $<BUILD_INTERFACE:${view}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(tessera_${name} PUBLIC cxx_std_20)
  target_compile_options(tessera_${name} PRIVATE ${TESSERA_WARNINGS})
  if(ARG_COLD)
    target_compile_options(tessera_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    target_precompile_headers(tessera_${name} REUSE_FROM tessera_precompiled_cold)
  else()
    target_precompile_headers(tessera_${name} REUSE_FROM tessera_precompiled)
  endif()
  foreach(dependency IN LISTS ARG_DEPENDS)
    list(FIND TESSERA_FOLDERS ${dependency} rank)
    if(rank LESS 0 OR NOT rank LESS own_rank)
      message(FATAL_ERROR "folder '${name}' may not depend on '${dependency}': "
                          "TESSERA_FOLDERS lists it later, or not at all")
    endif()
    target_link_libraries(tessera_${name} PUBLIC tessera::${dependency})
  endforeach()
  target_link_libraries(tessera_${name} PUBLIC ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY TESSERA_LIBRARIES tessera_${name})

  if(TESSERA_TESTS AND ARG_TESTS)
    tessera_test(tessera_${name}_test SOURCES ${ARG_TESTS} LIBRARIES tessera::${name}
                 ${ARG_PRIVATE_LIBRARIES})
  endif()
endfunction()

# tessera_test(NAME SOURCES ... LIBRARIES ...): a GoogleTest binary whose cases ctest runs one by one.
function(tessera_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${TESSERA_WARNINGS})
  # Oracles need some optimisation; more of it costs a third of the whole build's time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  # Beside the code, only sources that mention a path get it: with a path on its command line, an
  # object in ccache serves no other checkout. Those of tests/ all read golden data.
  foreach(source IN LISTS ARG_SOURCES)
    file(STRINGS ${source} paths REGEX "TESSERA_(SOURCE_DIR|BINARY)")
    if(paths OR CMAKE_CURRENT_SOURCE_DIR STREQUAL "${PROJECT_SOURCE_DIR}/tests")
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
                   TESSERA_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                   TESSERA_BINARY="${PROJECT_BINARY_DIR}/tessera")
    endif()
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} fmt::fmt GTest::gtest GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM tessera_precompiled_test)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 600)
endfunction()

set(TESSERA_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 at -O2 and above: std::variant's destructor (GCC bug 105562), and
  # concatenation of std::string (GCC bugs 105651, 105329). clang checks the same code without them.
  list(APPEND TESSERA_WARNINGS -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
       -Wno-array-bounds)
endif()

# Half of a source's compilation would be reading the same headers again. They are compiled once for
# every set of options, because g++ takes a precompiled header only under the options it was made with.
function(tessera_precompile name)
  cmake_parse_arguments(ARG "PROGRAM" "" "HEADERS;OPTIONS;LIBRARIES" ${ARGN})
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "int main() {}\n")
  if(ARG_PROGRAM)  # -fPIE instead of -fPIC
    add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  else()
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cc)
  endif()
  target_compile_options(${name} PRIVATE ${TESSERA_WARNINGS} ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

set(standard_headers <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <limits> <map> <memory>
    <optional> <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
tessera_precompile(tessera_precompiled HEADERS ${standard_headers} LIBRARIES fmt::fmt)
tessera_precompile(tessera_precompiled_cold HEADERS ${standard_headers} <nlohmann/json.hpp>
                   OPTIONS $<$<CONFIG:Release>:-O1> LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)
if(TESSERA_TESTS)
  tessera_precompile(tessera_precompiled_test PROGRAM HEADERS ${standard_headers} <gtest/gtest.h>
                     OPTIONS $<$<CONFIG:Release>:-O1> LIBRARIES fmt::fmt GTest::gtest)
endif()
