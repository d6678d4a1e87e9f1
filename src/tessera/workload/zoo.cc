// Look-up of zoo networks; the files themselves are in a generated source.
#include "tessera/network.h"

#include <vector>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/text.h"
#include "tessera/workload/llm_config.h"
#include "tessera/workload/native.h"

namespace tessera {

namespace {

Result<const ZooFile*> FindZooFile(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ZooFile& file : Zoo()) {
    if (file.name == name) return &file;
    names.push_back(file.name);
  }
  std::string hint = DidYouMean(name, names);
  if (hint.empty()) hint = "'tessera zoo' lists the names";
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("the zoo has no network {}", Quoted(name)),
               .hint = std::move(hint)};
}

}  // namespace

Result<Network> LoadZooNetwork(std::string_view name, const Bindings& bindings) {
  const Result<const ZooFile*> file = FindZooFile(name);
  if (!file) return file.error();
  // Messages about a zoo network name it as the user does.
  if (IsLanguageModel((*file)->contents)) {
    return ReadLanguageModel((*file)->contents, std::string(name), bindings);
  }
  return ReadNativeNetwork((*file)->contents, std::string(name), bindings);
}

Result<Bindings> ZooParameters(std::string_view name) {
  const Result<const ZooFile*> file = FindZooFile(name);
  if (!file) return file.error();
  if (IsLanguageModel((*file)->contents)) {
    return LanguageModelParameters((*file)->contents, std::string(name));
  }
  const Result<Node> root = ParseDocument((*file)->contents, std::string(name));
  if (!root) return root.error();
  Bindings parameters;
  if (const Node* node = root->Find("parameters")) {
    for (const Node::Entry& entry : node->entries) {
      const Result<int64_t> value = entry.value.AsInt();
      if (!value) return value.error();
      parameters[entry.key] = *value;
    }
  }
  return parameters;
}

}  // namespace tessera
