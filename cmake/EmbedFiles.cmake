# The build step of tessera_embed(): writes a source with the files' contents as raw strings.
include(${ARGUMENTS})

set(entries "")
list(LENGTH names count)
foreach(name IN LISTS names)
  if(binary)
    file(READ "${folder}/${name}.${extension}" contents HEX)
    file(SIZE "${folder}/${name}.${extension}" size)
    string(REGEX REPLACE "(..)" "\\\\x\\1" contents "${contents}")
    string(APPEND entries "    EmbeddedFile{\"${name}\", {\"${contents}\", ${size}}},\n")
  else()
    file(READ "${folder}/${name}.${extension}" contents)
    # A literal that knows its length: clang counts no more than a million characters of constants.
    string(APPEND entries "    EmbeddedFile{\"${name}\", R\"embedded(${contents})embedded\"sv},\n")
  endif()
endforeach()
file(WRITE "${output}" "// Made by cmake/EmbedFiles.cmake.
#include <array>
#include <span>
#include <string_view>

#include \"tessera/part.h\"

namespace tessera {

using namespace std::string_view_literals;

std::span<const EmbeddedFile> ${function}() {
  static constexpr std::array<EmbeddedFile, ${count}> kFiles = {
${entries}  };
  return kFiles;
}

}  // namespace tessera
")
