// What one more part costs: a file of its own, one line of the build and one line of a registry. A
// part that is already there is named nowhere else, so a new one need not be either.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/base/file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = fs::path(TESSERA_SOURCE_DIR) / "src/tessera";

std::string Read(const fs::path& path) {
  const Result<std::string> text = ReadFile(path.string());
  EXPECT_TRUE(text) << text.error();
  return text ? *text : "";
}

std::string WithoutComments(const std::string& text) {
  std::string code;
  for (size_t at = 0; at < text.size();) {
    const size_t comment = std::min(text.find("//", at), text.size());
    code.append(text, at, comment - at);
    at = std::min(text.find('\n', comment), text.size());
  }
  return code;
}

// Every source and header by its path in src/tessera, without comments.
const std::map<std::string, std::string>& Sources() {
  static const std::map<std::string, std::string> kSources = [] {
    std::map<std::string, std::string> sources;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(kSource)) {
      const std::string path = fs::relative(entry.path(), kSource).string();
      const bool test = path.ends_with("_test.cc");
      if (test || !(path.ends_with(".cc") || path.ends_with(".h"))) continue;
      sources[path] = WithoutComments(Read(entry.path()));
    }
    return sources;
  }();
  return kSources;
}

int64_t Count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex),
                       std::sregex_iterator());
}

std::vector<std::string> PartsOf(const std::string& registry) {
  std::vector<std::string> parts;
  const std::string& text = Sources().at(registry);
  const std::regex part(R"(PART\(\w+, (\w+)\))");
  for (std::sregex_iterator at(text.begin(), text.end(), part), end; at != end; ++at) {
    parts.push_back((*at)[1]);
  }
  return parts;
}

std::vector<fs::path> FilesThatName(const std::string& part, const std::string& registry) {
  std::vector<fs::path> files;
  for (const auto& [path, text] : Sources()) {
    const bool names =
        text.find(part) != std::string::npos && Count(text, "\\b" + part + "\\b") > 0;
    if (path != registry && names) files.emplace_back(path);
  }
  return files;
}

// Files of a cost model in other folders carry the name of its own folder.
bool BelongsTo(const fs::path& file, const fs::path& own) {
  const std::string path = file.string();
  return path.find(own.stem().string()) != std::string::npos ||
         path.find(own.parent_path().filename().string()) != std::string::npos;
}

class Price : public testing::TestWithParam<const char*> {};

TEST_P(Price, OfAPartIsOneFileAndOneLine) {
  const std::string registry = GetParam();
  const std::vector<std::string> parts = PartsOf(registry);
  ASSERT_FALSE(parts.empty());
  const fs::path folder = *fs::path(registry).begin();
  const std::string build = Read(kSource / folder / "CMakeLists.txt");
  for (const std::string& part : parts) {
    EXPECT_EQ(Count(Sources().at(registry), "\\b" + part + "\\b"), 1) << part;
    const std::vector<fs::path> files = FilesThatName(part, registry);
    const auto own = std::ranges::find_if(files, [&](const fs::path& file) {
      return *file.begin() == folder && file.extension() == ".cc";
    });
    ASSERT_NE(own, files.end()) << part;
    for (const fs::path& file : files) EXPECT_TRUE(BelongsTo(file, *own)) << part << " in " << file;
    EXPECT_EQ(Count(build, "\\s" + fs::relative(*own, folder).string() + "\\s"), 1) << *own;
  }
}

INSTANTIATE_TEST_SUITE_P(Registries, Price,
                         testing::Values("arch/format.cc", "cli/commands.cc", "cli/evaluators.cc",
                                         "coopt/methods.cc", "coopt/targets.cc", "cost/models.cc",
                                         "env/registry.cc", "rl/learners.cc",
                                         "rl/replay/sampler.cc", "search/methods.cc",
                                         "workload/format.cc"));

}  // namespace
}  // namespace tessera
