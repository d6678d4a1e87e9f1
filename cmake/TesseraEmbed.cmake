# tessera_embed(OUTPUT FUNCTION function FOLDER folder EXTENSION extension [BINARY])
#
# Makes the source OUTPUT, to be listed among a folder's SOURCES. It defines
#   std::span<const tessera::EmbeddedFile> tessera::function();
# over the text files, or with BINARY any files, folder/*.extension, sorted by name (tessera/part.h). A file that is added,
# removed or changed makes it anew.
function(tessera_embed output)
  cmake_parse_arguments(ARG "BINARY" "FUNCTION;FOLDER;EXTENSION" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${ARG_FOLDER}/*.${ARG_EXTENSION})
  set(names)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM LAST_ONLY name)
    list(APPEND names ${name})
  endforeach()
  list(SORT names)
  # The script's arguments are in a file of their own: a new file changes it, and so the output.
  set(arguments ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.embed.cmake)
  file(CONFIGURE OUTPUT ${arguments} @ONLY CONTENT [[
set(output "@output@")
set(function "@ARG_FUNCTION@")
set(folder "@ARG_FOLDER@")
set(extension "@ARG_EXTENSION@")
set(names "@names@")
set(binary "@ARG_BINARY@")
]])
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake)
  add_custom_command(OUTPUT ${output}
                     COMMAND ${CMAKE_COMMAND} -D ARGUMENTS=${arguments} -P ${script}
                     DEPENDS ${files} ${arguments} ${script}
                     COMMENT "Embedding the files of ${ARG_FUNCTION}()" VERBATIM)
endfunction()
