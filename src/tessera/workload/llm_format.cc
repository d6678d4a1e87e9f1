// Language models as files: Hugging Face's config.json, and the zoo's entries, which hold one.
#include <optional>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/workload/llm_config.h"

namespace tessera {
namespace {

constexpr std::string_view kFormatName = "tessera-language-model-1";

// A file taken apart: the config, and what a zoo entry says beside it.
struct Source {
  LlmConfig config = {};
  std::string name = {}, source = {};
  Bindings defaults = {};
};

// "llama" of "models/llama/config.json", "own" of "own.json".
std::string NameOf(const std::string& file) {
  const size_t slash = file.find_last_of('/');
  std::string name = file.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name == "config.json" && slash != std::string::npos && slash > 0) {
    const size_t before = file.find_last_of('/', slash - 1);
    const size_t from = before == std::string::npos ? 0 : before + 1;
    const std::string folder = file.substr(from, slash - from);
    if (!folder.empty() && folder != "." && folder != "..") return folder;
  }
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  return name.empty() || name == "-" ? "model" : name;
}

Result<Bindings> ReadDefaults(const Node& node) {
  Bindings defaults;
  if (node.kind != Node::Kind::kMap) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a map of settings and their defaults");
  }
  for (const Node::Entry& entry : node.entries) {
    const Result<int64_t> number = entry.value.AsInt();
    const Result<std::string> word = entry.value.AsString();
    if (!number && !word) return word.error();
    defaults[entry.key] = number ? Binding(*number) : Binding(*word);
  }
  return defaults;
}

Result<Source> ReadSource(std::string_view bytes, const std::string& file) {
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  const Result<Node> root = ParseDocument(*text, file);
  if (!root) return root.error();
  Source source;
  const Node* config = &*root;
  if (root->Find("format") != nullptr) {
    MapReader top(*root, "language model");
    if (Result<void> ok = top.Check(); !ok) return ok.error();
    if (Result<void> ok = top.RequireFormat(kFormatName); !ok) return ok.error();
    const Result<const Node*> name = top.Require("name"), model = top.Require("config");
    const Node* const origin = top.Find("source");
    const Node* const settings = top.Find("settings");
    if (Result<void> ok = top.Finish(); !ok) return ok.error();
    if (!name) return name.error();
    if (!model) return model.error();
    Result<std::string> words = (*name)->AsString();
    if (!words) return words.error();
    source.name = *std::move(words);
    if (origin != nullptr) {
      Result<std::string> from = origin->AsString();
      if (!from) return from.error();
      source.source = *std::move(from);
    }
    if (settings != nullptr) {
      Result<Bindings> defaults = ReadDefaults(*settings);
      if (!defaults) return defaults.error();
      source.defaults = *std::move(defaults);
    }
    config = *model;
  } else {
    source.name = NameOf(file);
    const Node* const type = root->Find("model_type");
    const Node* const origin = root->Find("_name_or_path");
    source.source = fmt::format(
        "Hugging Face config{}{}",
        type != nullptr && !type->scalar.empty() ? " of type " + Printable(type->scalar) : "",
        origin != nullptr && !origin->scalar.empty() ? ", " + Printable(origin->scalar) : "");
  }
  Result<LlmConfig> read = ReadLlmConfig(*config);
  if (!read) return read.error();
  source.config = *std::move(read);
  return source;
}

}  // namespace

bool IsLanguageModel(std::string_view bytes) {
  return bytes.find(kFormatName) != std::string_view::npos ||
         (bytes.find("\"model_type\"") != std::string_view::npos &&
          bytes.find("tessera-network-") == std::string_view::npos);
}

Result<Network> ReadLanguageModel(std::string_view bytes, const std::string& file,
                                  const Bindings& bindings) {
  const Result<Source> source = ReadSource(bytes, file);
  if (!source) return source.error();
  const Result<LlmSettings> settings =
      ReadLlmSettings(source->config, source->defaults, bindings, file);
  if (!settings) return settings.error();
  Result<Network> network = BuildLlm(source->config, *settings);
  if (!network) {
    Error error = network.error();
    error.where.file = file;
    return error;
  }
  network->name = source->name;
  network->source = source->source;
  return network;
}

Result<Bindings> LanguageModelParameters(std::string_view bytes, const std::string& file) {
  const Result<Source> source = ReadSource(bytes, file);
  if (!source) return source.error();
  return LlmParameters(source->config, source->defaults);
}

extern const NetworkFormat kLanguageModelFormat = {
    .name = "huggingface",
    .summary = "config.json of language models: Llama, Mistral, Mixtral, Qwen, Gemma-2, GPT-2, ...",
    .extensions = {".json", ".yaml", ".yml"},
    .recognises = IsLanguageModel,
    .read = ReadLanguageModel,
    .write = nullptr,
};

}  // namespace tessera
