// What a transformer is built from: the numbers of a Hugging Face config.json, by one name each for
// all families, and the settings of a step.
#ifndef TESSERA_WORKLOAD_LLM_CONFIG_H_
#define TESSERA_WORKLOAD_LLM_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

enum class LlmFamily : uint8_t {
  kLlama,     // also Mistral and Qwen-2, Qwen-3: norm, grouped attention, norm, gated MLP
  kMixtral,   // experts in place of the MLP
  kGemma2,    // norms around both halves, every other layer with a window
  kDeepSeek,  // latent attention (MLA), shared and routed experts
  kGpt2,      // packed projection, plain MLP
  kBert,      // encoder: every token sees every token, norms behind the additions
  kVit,       // encoder of image patches and a class token
};

struct LlmConfig {
  LlmFamily family = LlmFamily::kLlama;
  int64_t hidden = 0, layers = 0, intermediate = 0, vocabulary = 0;
  int64_t heads = 0, kv_heads = 0, head_size = 0;
  bool qkv_bias = false, output_bias = false, mlp_bias = false;
  bool query_norm = false;         // Qwen-3: norms of queries and keys
  int64_t window = 0;              // keys that a query of a sliding layer sees; 0: all
  std::vector<bool> sliding = {};  // by layer

  // Mixtral, DeepSeek.
  int64_t experts = 0, experts_per_token = 0, expert_size = 0;
  int64_t shared_experts = 0;  // DeepSeek: always used, as one MLP
  int64_t dense_layers = 0;    // DeepSeek: the first layers, without experts

  // DeepSeek: ranks of the latents (query_rank 0: one matrix), sizes per head.
  int64_t query_rank = 0, kv_rank = 0, nope_size = 0, rope_size = 0, value_size = 0;

  // ViT.
  int64_t image_y = 0, image_x = 0, patch = 0, channels = 0, labels = 0;

  bool encoder() const { return family == LlmFamily::kBert || family == LlmFamily::kVit; }
};

// What is computed: a step of the model.
struct LlmSettings {
  bool decode = false;
  bool triangle = false;  // of the causal mask
  int64_t batch = 1, seq = 512, past = 0, bits = 16;
  bool head = true;
};

// Reads a config.json, or the map `config` of a zoo file. Keys that say nothing about sizes are
// passed over; what is missing or does not fit is an error at its place.
Result<LlmConfig> ReadLlmConfig(const Node& node);

// The settings that a model has, with their defaults: what `defaults` (a zoo file's settings) does
// not give is prefill of 512 tokens at 16 bits with the head.
Bindings LlmParameters(const LlmConfig& config, const Bindings& defaults);

// The same with values; a name or a value that the model does not have is an error.
Result<LlmSettings> ReadLlmSettings(const LlmConfig& config, const Bindings& defaults,
                                    const Bindings& bindings, const std::string& file);

// The network of a step, without name and source.
Result<Network> BuildLlm(const LlmConfig& config, const LlmSettings& settings);

// Reads a Hugging Face config.json or a zoo file of format tessera-language-model-1.
Result<Network> ReadLanguageModel(std::string_view bytes, const std::string& file,
                                  const Bindings& bindings);
bool IsLanguageModel(std::string_view bytes);

// The settings of a file with their defaults.
Result<Bindings> LanguageModelParameters(std::string_view bytes, const std::string& file);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_LLM_CONFIG_H_
