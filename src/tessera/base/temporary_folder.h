// A folder for one test, removed with everything in it. Tests run side by side, so a file of a
// fixed name in the common temporary folder would be another test's too.
#ifndef TESSERA_BASE_TEMPORARY_FOLDER_H_
#define TESSERA_BASE_TEMPORARY_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tessera/result.h"

namespace tessera {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera_XXXXXX").string();
    TESSERA_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_TEMPORARY_FOLDER_H_
