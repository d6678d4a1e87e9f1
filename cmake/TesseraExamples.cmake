# tessera_examples(PAGE...): compiles the C++ examples of pages of docs/ (scripts/extract-examples), with
# every folder on the include path. They are compiled with the tests and never run.
function(tessera_examples)
  get_property(libraries GLOBAL PROPERTY TESSERA_LIBRARIES)
  set(script ${PROJECT_SOURCE_DIR}/scripts/extract-examples)
  foreach(page IN LISTS ARGN)
    set(document ${PROJECT_SOURCE_DIR}/docs/${page}.md)
    # The number of examples is the number of sources, so CMake has to look again when a page changes.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${document})
    file(STRINGS ${document} blocks REGEX "^```cpp$")
    list(LENGTH blocks count)
    set(sources)
    foreach(number RANGE 1 ${count})
      list(APPEND sources ${CMAKE_CURRENT_BINARY_DIR}/${page}_${number}.cc)
    endforeach()
    add_custom_command(OUTPUT ${sources}
                       COMMAND ${script} ${document} ${CMAKE_CURRENT_BINARY_DIR}/${page}_
                       DEPENDS ${document} ${script} VERBATIM)
    add_library(tessera_examples_${page} OBJECT ${sources})
    target_link_libraries(tessera_examples_${page} PRIVATE ${libraries} fmt::fmt)
    # Only headers of the standard library are precompiled: an example includes what it names.
    target_compile_options(tessera_examples_${page} PRIVATE -Wall -Wextra -Werror ${TESSERA_COLD})
    target_precompile_headers(tessera_examples_${page} REUSE_FROM tessera_precompiled_cold)
  endforeach()
endfunction()
