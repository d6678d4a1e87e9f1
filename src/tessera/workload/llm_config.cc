// Hugging Face's names for sizes, family by family.
#include "tessera/workload/llm_config.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 10> kModelTypes = {"llama", "mistral",    "mixtral", "qwen2",
                                                          "qwen3", "gemma2",     "gpt2",    "bert",
                                                          "vit",   "deepseek_v2"};

// Reads keys of a config; the first error is kept.
class Keys {
 public:
  explicit Keys(const Node& node) : node_(node) {}

  // The value of a key; null stands for a key that is not there.
  const Node* Find(std::string_view key) const {
    const Node* const found = node_.Find(key);
    const bool null =
        found != nullptr &&
        (found->kind == Node::Kind::kNull ||
         (found->kind == Node::Kind::kScalar && !found->quoted &&
          (found->scalar == "null" || found->scalar == "~" || found->scalar.empty())));
    return null ? nullptr : found;
  }

  // A size that must be there, in 1..kMaxSize.
  int64_t Size(std::string_view key) {
    const Node* const found = Find(key);
    if (found != nullptr) return Read(*found, key, 1);
    if (!error_)
      error_ = node_.ErrorHere(ErrorKind::kBadValue, fmt::format("config without '{}'", key));
    return 1;
  }

  int64_t Size(std::string_view key, int64_t absent, int64_t least = 1) {
    const Node* const found = Find(key);
    return found == nullptr ? absent : Read(*found, key, least);
  }

  bool Flag(std::string_view key, bool absent) {
    const Node* const found = Find(key);
    if (found == nullptr) return absent;
    const Result<bool> value = found->AsBool();
    if (!value && !error_) error_ = value.error();
    return value ? *value : absent;
  }

  void Check(bool fine, std::string_view key, std::string message) {
    const Node* const found = Find(key);
    if (!fine && !error_) {
      error_ =
          (found != nullptr ? *found : node_).ErrorHere(ErrorKind::kBadValue, std::move(message));
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  int64_t Read(const Node& node, std::string_view key, int64_t least) {
    const Result<int64_t> value = node.AsInt(least, kMaxSize);
    if (value) return *value;
    if (!error_) {
      error_ = value.error();
      error_->message = fmt::format("'{}': {}", key, error_->message);
    }
    return 1;
  }

  const Node& node_;
  std::optional<Error> error_;
};

void ReadDecoder(Keys& keys, LlmConfig& config) {
  config.hidden = keys.Size("hidden_size");
  config.layers = keys.Size("num_hidden_layers");
  config.intermediate = keys.Size("intermediate_size");
  config.vocabulary = keys.Size("vocab_size");
  config.heads = keys.Size("num_attention_heads");
  config.kv_heads = keys.Size("num_key_value_heads", config.heads);
  config.head_size = keys.Size("head_dim", std::max<int64_t>(1, config.hidden / config.heads));
  keys.Check(config.heads % config.kv_heads == 0, "num_key_value_heads",
             fmt::format("{} heads of keys do not divide {} heads", config.kv_heads, config.heads));
}

void ReadBiases(Keys& keys, LlmConfig& config) {
  config.qkv_bias = config.output_bias = keys.Flag("attention_bias", false);
  config.mlp_bias = keys.Flag("mlp_bias", false);
}

// Which layers have a window: `layer_types` where it is there, otherwise the family's rule.
template <typename Rule>
void ReadWindow(Keys& keys, LlmConfig& config, const Rule& rule) {
  config.window = keys.Size("sliding_window", 0);
  config.sliding.assign(static_cast<size_t>(config.layers), false);
  if (config.window == 0) return;
  const Node* const types = keys.Find("layer_types");
  const bool listed = types != nullptr && types->kind == Node::Kind::kSequence;
  if (listed) {
    keys.Check(std::ssize(types->items) == config.layers, "layer_types",
               fmt::format("'layer_types' has {} entries for {} layers", types->items.size(),
                           config.layers));
  }
  for (size_t i = 0; i < config.sliding.size(); ++i) {
    config.sliding[i] = listed && i < types->items.size()
                            ? types->items[i].scalar == "sliding_attention"
                            : rule(static_cast<int64_t>(i));
  }
}

void ReadLlamaLike(std::string_view type, Keys& keys, LlmConfig& config) {
  ReadDecoder(keys, config);
  if (type == "llama" || type == "qwen3") ReadBiases(keys, config);
  if (type == "qwen2") config.qkv_bias = true;
  config.query_norm = type == "qwen3";
  if (type == "mistral") ReadWindow(keys, config, [](int64_t) { return true; });
  if (type == "qwen2" || type == "qwen3") {
    const bool used = keys.Flag("use_sliding_window", false);
    const int64_t from = keys.Size("max_window_layers", 28, /*least=*/0);
    ReadWindow(keys, config, [&](int64_t layer) { return used && layer >= from; });
    if (!used) config.window = 0;
  }
}

void ReadMixtral(Keys& keys, LlmConfig& config) {
  config.family = LlmFamily::kMixtral;
  ReadDecoder(keys, config);
  config.experts = keys.Size("num_local_experts");
  config.experts_per_token = keys.Size("num_experts_per_tok");
  config.expert_size = config.intermediate;
  ReadWindow(keys, config, [](int64_t) { return true; });
}

void ReadGemma2(Keys& keys, LlmConfig& config) {
  config.family = LlmFamily::kGemma2;
  ReadDecoder(keys, config);
  config.head_size = keys.Size("head_dim", 256);
  config.qkv_bias = config.output_bias = keys.Flag("attention_bias", false);
  ReadWindow(keys, config, [](int64_t layer) { return layer % 2 == 0; });
}

void ReadDeepSeek(Keys& keys, LlmConfig& config) {
  config.family = LlmFamily::kDeepSeek;
  ReadDecoder(keys, config);
  config.output_bias = config.qkv_bias = keys.Flag("attention_bias", false);
  config.query_rank = keys.Size("q_lora_rank", 0);
  config.kv_rank = keys.Size("kv_lora_rank");
  config.nope_size = keys.Size("qk_nope_head_dim");
  config.rope_size = keys.Size("qk_rope_head_dim");
  config.value_size = keys.Size("v_head_dim");
  config.experts = keys.Size("n_routed_experts", 0);
  if (config.experts > 0) {
    config.experts_per_token = keys.Size("num_experts_per_tok");
    config.expert_size = keys.Size("moe_intermediate_size");
    config.shared_experts = keys.Size("n_shared_experts", 0);
  }
  config.dense_layers =
      config.experts == 0 ? config.layers : keys.Size("first_k_dense_replace", 0, 0);
  keys.Check(keys.Size("moe_layer_freq", 1) == 1, "moe_layer_freq",
             "only 'moe_layer_freq' 1 is known: experts in every layer behind the dense ones");
}

void ReadGpt2(Keys& keys, LlmConfig& config) {
  config.family = LlmFamily::kGpt2;
  config.hidden = keys.Size("n_embd");
  config.layers = keys.Size("n_layer");
  config.heads = config.kv_heads = keys.Size("n_head");
  config.vocabulary = keys.Size("vocab_size");
  config.intermediate = keys.Size("n_inner", 4 * config.hidden);
  config.head_size = std::max<int64_t>(1, config.hidden / config.heads);
  keys.Check(config.hidden % config.heads == 0, "n_head",
             fmt::format("{} heads do not divide the width {}", config.heads, config.hidden));
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
}

void ReadEncoder(Keys& keys, LlmConfig& config) {
  config.hidden = keys.Size("hidden_size");
  config.layers = keys.Size("num_hidden_layers");
  config.intermediate = keys.Size("intermediate_size");
  config.heads = config.kv_heads = keys.Size("num_attention_heads");
  config.head_size = std::max<int64_t>(1, config.hidden / config.heads);
  keys.Check(config.hidden % config.heads == 0, "num_attention_heads",
             fmt::format("{} heads do not divide the width {}", config.heads, config.hidden));
  config.qkv_bias = config.output_bias = config.mlp_bias = true;
}

void ReadVit(Keys& keys, LlmConfig& config) {
  config.family = LlmFamily::kVit;
  ReadEncoder(keys, config);
  config.qkv_bias = keys.Flag("qkv_bias", true);
  config.image_y = config.image_x = keys.Size("image_size");
  config.patch = keys.Size("patch_size");
  config.channels = keys.Size("num_channels", 3);
  config.labels = keys.Size("num_labels", 0);
  const Node* const names = keys.Find("id2label");
  if (config.labels == 0 && names != nullptr) config.labels = std::ssize(names->entries);
  keys.Check(config.image_y >= config.patch, "patch_size", "a patch is larger than the image");
}

// A word out of a few, as a number.
Result<size_t> ReadChoice(const std::string& file, const std::string& name, const Binding& value,
                          std::array<std::string_view, 2> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (value.word == words[i]) return i;
  }
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("setting {} is {}, but must be {} or {}", Quoted(name),
                                      Quoted(ToString(value)), words[0], words[1]),
               .where = {.file = file}};
}

}  // namespace

Result<LlmConfig> ReadLlmConfig(const Node& node) {
  if (node.kind != Node::Kind::kMap) {
    return node.ErrorHere(ErrorKind::kSyntax, "expected the map of a model's config");
  }
  const Node* const type = node.Find("model_type");
  if (type == nullptr) return node.ErrorHere(ErrorKind::kBadValue, "config without 'model_type'");
  const Result<std::string> name = type->AsString();
  if (!name) return name.error();
  Keys keys(node);
  LlmConfig config;
  if (*name == "llama" || *name == "mistral" || *name == "qwen2" || *name == "qwen3") {
    ReadLlamaLike(*name, keys, config);
  } else if (*name == "mixtral") {
    ReadMixtral(keys, config);
  } else if (*name == "gemma2") {
    ReadGemma2(keys, config);
  } else if (*name == "deepseek_v2") {
    ReadDeepSeek(keys, config);
  } else if (*name == "gpt2") {
    ReadGpt2(keys, config);
  } else if (*name == "bert") {
    config.family = LlmFamily::kBert;
    ReadEncoder(keys, config);
    config.vocabulary = keys.Size("vocab_size");
  } else if (*name == "vit") {
    ReadVit(keys, config);
  } else {
    std::string hint = DidYouMean(*name, kModelTypes);
    if (hint.empty()) {
      hint =
          "known are llama, mistral, mixtral, qwen2, qwen3, gemma2, gpt2, bert, vit, deepseek_v2";
    }
    return type->ErrorHere(ErrorKind::kUnsupported,
                           fmt::format("models of type {} are not known", Quoted(*name)),
                           std::move(hint));
  }
  constexpr int64_t kMostLayers = 10'000;
  keys.Check(config.layers <= kMostLayers, "num_hidden_layers",
             fmt::format("{} layers are more than {}", config.layers, kMostLayers));
  keys.Check(config.experts_per_token <= config.experts, "num_experts_per_tok",
             fmt::format("{} experts per token are more than there are", config.experts_per_token));
  if (keys.error()) return *keys.error();
  config.sliding.resize(static_cast<size_t>(config.layers), false);
  return config;
}

Bindings LlmParameters(const LlmConfig& config, const Bindings& defaults) {
  const bool vit = config.family == LlmFamily::kVit;
  Bindings parameters = {{"batch", 1}, {"bits", 16}};
  parameters["head"] = config.encoder() ? (vit && config.labels > 0 ? 1 : 0) : 1;
  if (!vit) parameters["seq"] = config.encoder() ? 128 : 512;
  if (!config.encoder()) {
    parameters["past"] = 0;
    parameters["phase"] = "prefill";
    parameters["causal"] = "full";
  }
  for (const auto& [name, value] : defaults) {
    if (parameters.contains(name)) parameters[name] = value;
  }
  return parameters;
}

Result<LlmSettings> ReadLlmSettings(const LlmConfig& config, const Bindings& defaults,
                                    const Bindings& bindings, const std::string& file) {
  Bindings all = LlmParameters(config, defaults);
  for (const auto& [name, value] : bindings) {
    if (all.contains(name)) {
      all[name] = value;
      continue;
    }
    std::vector<std::string_view> names;
    for (const auto& [known, unused] : all) names.push_back(known);
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("the model has no setting {}", Quoted(name)),
                 .where = {.file = file},
                 .hint = DidYouMean(name, names)};
  }
  LlmSettings settings;
  if (all.contains("phase")) {
    const Result<size_t> phase = ReadChoice(file, "phase", all["phase"], {"prefill", "decode"});
    if (!phase) return phase.error();
    settings.decode = *phase == 1;
    const Result<size_t> causal = ReadChoice(file, "causal", all["causal"], {"full", "triangle"});
    if (!causal) return causal.error();
    settings.triangle = *causal == 1;
  }
  // A step of decoding is one token unless the user wants more.
  if (settings.decode && !bindings.contains("seq")) all["seq"] = 1;
  int64_t head = 1;
  struct Number {
    const char* name;
    int64_t* value;
    int64_t least, most;
  };
  const Number numbers[] = {{"batch", &settings.batch, 1, kMaxSize},
                            {"seq", &settings.seq, 1, kMaxSize},
                            {"past", &settings.past, 0, kMaxSize},
                            {"bits", &settings.bits, 1, 64},
                            {"head", &head, 0, 1}};
  for (const Number& number : numbers) {
    const auto found = all.find(number.name);
    if (found == all.end()) continue;
    *number.value = found->second.number;
    if (found->second.word.empty() && *number.value >= number.least &&
        *number.value <= number.most) {
      continue;
    }
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("setting '{}' is {}, but must be in {}..{}", number.name,
                                        ToString(found->second), number.least, number.most),
                 .where = {.file = file}};
  }
  settings.head = head == 1;
  return settings;
}

}  // namespace tessera
