// Embedded files as policies.
#include "tessera/policy/shipped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/sha256.h"
#include "tessera/part.h"

namespace tessera {

// Made by the build from data/policies.
std::span<const EmbeddedFile> PolicyFiles();
std::span<const EmbeddedFile> PolicyNotes();

namespace policy {
namespace {

std::string TextAt(const Node& node, std::string_view key) {
  const Node* found = node.Find(key);
  return found == nullptr ? "" : found->scalar;
}

std::vector<ShippedPolicy> ReadShipped() {
  std::vector<ShippedPolicy> policies;
  for (const EmbeddedFile& file : PolicyFiles()) {
    ShippedPolicy made{.name = std::string(file.name), .bytes = file.contents};
    for (const EmbeddedFile& notes : PolicyNotes()) {
      if (notes.name != file.name) continue;
      const Result<Node> node = ParseDocument(notes.contents, made.name + ".json");
      if (!node) continue;  // a test reads all of them
      made.model = TextAt(*node, "model");
      made.summary = TextAt(*node, "summary");
      made.command = TextAt(*node, "command");
      made.data_hash = TextAt(*node, "data_hash");
      const Node* seed = node->Find("seed");
      const Result<int64_t> number = seed != nullptr ? seed->AsInt() : int64_t{1};
      if (number) made.seed = *number;
    }
    policies.push_back(std::move(made));
  }
  return policies;
}

// Without their hashes, which take longer than everything else about them: most commands only look
// for one.
const std::vector<ShippedPolicy>& Embedded() {
  static const std::vector<ShippedPolicy> kPolicies = ReadShipped();
  return kPolicies;
}

// Readers of arrays map files; these bytes become one that has no name.
Result<Networks> FromBytes(std::string_view bytes) {
  const int fd = ::memfd_create("policy", MFD_CLOEXEC);
  const bool written =
      fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  Result<TensorReader> reader =
      written ? TensorReader::Open(fmt::format("/proc/self/fd/{}", fd))
              : Error{.kind = ErrorKind::kIo, .message = "no memory for a shipped policy"};
  Result<Networks> made = reader ? Networks::Load(*reader) : reader.error();
  if (fd >= 0) ::close(fd);
  return made;
}

Result<std::shared_ptr<const Networks>> LoadShipped(const ShippedPolicy& policy) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Networks>> loaded;
  const std::lock_guard<std::mutex> guard(mutex);
  std::shared_ptr<const Networks>& known = loaded[policy.name];
  if (known != nullptr) return known;
  Result<Networks> made = FromBytes(policy.bytes);
  if (!made) return made.error();
  known = std::make_shared<const Networks>(*std::move(made));
  return known;
}

}  // namespace

const std::vector<ShippedPolicy>& ShippedPolicies() {
  static const std::vector<ShippedPolicy> kPolicies = [] {
    std::vector<ShippedPolicy> policies = Embedded();
    for (ShippedPolicy& policy : policies) policy.sha256 = Sha256Hex(policy.bytes);
    return policies;
  }();
  return kPolicies;
}

const ShippedPolicy* FindShipped(std::string_view name) {
  for (const ShippedPolicy& policy : Embedded()) {
    if (policy.name == name) return &policy;
  }
  return nullptr;
}

const ShippedPolicy* DefaultPolicy(std::string_view model) {
  for (const ShippedPolicy& policy : Embedded()) {
    if (policy.model == model) return &policy;
  }
  return nullptr;
}

Result<std::shared_ptr<const Networks>> LoadPolicy(const std::string& name_or_path,
                                                   std::string_view model) {
  if (name_or_path == "default") {
    const ShippedPolicy* shipped = DefaultPolicy(model);
    if (shipped != nullptr) return LoadShipped(*shipped);
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("no policy for model {} ships with the program", model),
                 .hint = "train one (docs/policies.md), or take another method"};
  }
  if (const ShippedPolicy* shipped = FindShipped(name_or_path)) return LoadShipped(*shipped);
  const Result<TensorReader> reader = TensorReader::Open(name_or_path);
  if (!reader) {
    Error error = reader.error();
    if (error.hint.empty()) error.hint = "'tessera list policies' names those that ship";
    return error;
  }
  Result<Networks> made = Networks::Load(*reader);
  if (!made) {
    Error error = made.error();
    error.where = {.file = name_or_path};
    return error;
  }
  return std::make_shared<const Networks>(*std::move(made));
}

}  // namespace policy
}  // namespace tessera
