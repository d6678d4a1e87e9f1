// Language models against a count of their own, token by token, and against published totals.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tessera/network.h"

namespace tessera {
namespace {

struct Count {
  int64_t macs = 0, parameters = 0, kv_words = 0;

  friend bool operator==(const Count&, const Count&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Count& count) {
    return out << count.macs << " MACs, " << count.parameters << " parameters, " << count.kv_words
               << " words";
  }
};

struct Step {
  bool decode = false, triangle = false;
  int64_t batch = 1, seq = 1, past = 0;

  // Keys that the i-th token of a sequence meets.
  int64_t Keys(int64_t i, int64_t window) const {
    const int64_t seen = triangle ? past + i + 1 : past + seq;
    return window > 0 ? std::min(window, seen) : seen;
  }
  int64_t Cached(int64_t window) const {
    return window > 0 ? std::min(window, past + seq) : past + seq;
  }
};

// Grouped attention and a gated MLP, or `experts` of which `used` compute, token by token.
struct Plain {
  int64_t layers, hidden, heads, kv_heads, head, mlp, vocabulary;
  int64_t experts = 1, used = 1, router = 0, window = 0, every = 1;

  Count operator()(const Step& step) const {
    Count count;
    const int64_t projections = hidden * head * (2 * heads + 2 * kv_heads);
    for (int64_t layer = 0; layer < layers; ++layer) {
      const int64_t reach = layer % every == 0 ? window : 0;
      count.parameters += projections + experts * 3 * hidden * mlp + hidden * router;
      count.kv_words += step.batch * 2 * kv_heads * head * step.Cached(reach);
      for (int64_t i = 0; i < step.seq; ++i) {
        count.macs += step.batch * (projections + used * 3 * hidden * mlp + hidden * router +
                                    heads * 2 * head * step.Keys(i, reach));
      }
    }
    count.parameters += hidden * vocabulary;
    count.macs += step.batch * (step.decode ? step.seq : 1) * hidden * vocabulary;
    return count;
  }
};

Count Gpt2(const Step& step, bool head) {
  Count count;
  for (int64_t layer = 0; layer < 12; ++layer) {
    const int64_t weights = 768 * 3 * 768 + 768 * 768 + 2 * 768 * 3072;
    count.parameters += weights + 3 * 768 + 768 + 3072 + 768;
    count.kv_words += step.batch * 2 * 768 * step.Cached(0);
    for (int64_t i = 0; i < step.seq; ++i) {
      count.macs += step.batch * (weights + 2 * 768 * step.Keys(i, 0));
    }
  }
  if (head) {
    count.parameters += 768 * 50'257;
    count.macs += step.batch * (step.decode ? step.seq : 1) * 768 * 50'257;
  }
  return count;
}

Count DeepSeekV2Lite(const Step& step) {
  Count count;
  const int64_t q = 2048 * 16 * 192, kv_a = 2048 * 576, o = 16 * 128 * 2048;
  for (int64_t layer = 0; layer < 27; ++layer) {
    count.parameters += q + kv_a + 512 * 16 * 256 + o;
    count.kv_words += step.batch * 576 * step.Cached(0);
    const bool dense = layer == 0;
    const int64_t expert = 3 * 2048 * 1408;
    count.parameters += dense ? 3 * 2048 * 10'944 : 2048 * 64 + (64 + 2) * expert;
    for (int64_t i = 0; i < step.seq; ++i) {
      const int64_t keys = step.Keys(i, 0);
      int64_t macs = q + kv_a + o;
      if (step.decode) {
        macs += 16 * 128 * 512 + 16 * keys * (512 + 64) + 16 * keys * 512 + 16 * 512 * 128;
      } else {
        macs += 512 * 16 * 256 + 16 * keys * (192 + 128);
      }
      macs += dense ? 3 * 2048 * 10'944 : 2048 * 64 + (6 + 2) * expert;
      count.macs += step.batch * macs;
    }
  }
  count.parameters += 2048 * 102'400;
  count.macs += step.batch * (step.decode ? step.seq : 1) * 2048 * 102'400;
  return count;
}

Count CountOf(const std::string& name, const Step& step) {
  if (name == "llama-3.1-8b") {
    return Plain{32, 4096, 32, 8, 128, 14'336, 128'256}(step);
  }
  if (name == "qwen3-8b") return Plain{36, 4096, 32, 8, 128, 12'288, 151'936}(step);
  if (name == "mixtral-8x7b") {
    return Plain{32, 4096, 32, 8, 128, 14'336, 32'000, 8, 2, 8}(step);
  }
  if (name == "gemma-2-2b") {
    return Plain{26, 2304, 8, 4, 256, 9216, 256'000, 1, 1, 0, 4096, 2}(step);
  }
  if (name == "deepseek-v2-lite") return DeepSeekV2Lite(step);
  return Gpt2(step, false);
}

const char* const kModels[] = {"llama-3.1-8b", "qwen3-8b",         "mixtral-8x7b",
                               "gemma-2-2b",   "deepseek-v2-lite", "gpt2"};

TEST(LanguageModels, EqualACountTokenByToken) {
  const Step steps[] = {{.seq = 1},
                        {.seq = 17},
                        {.batch = 3, .seq = 64, .past = 5},
                        {.triangle = true, .seq = 64},
                        {.triangle = true, .batch = 2, .seq = 63, .past = 7},
                        {.triangle = true, .seq = 100, .past = 4050},
                        {.seq = 4200},
                        {.triangle = true, .seq = 4200},
                        {.decode = true, .seq = 1, .past = 4096},
                        {.decode = true, .batch = 5, .seq = 1, .past = 8191},
                        {.decode = true, .triangle = true, .batch = 40, .seq = 1, .past = 10},
                        {.decode = true, .batch = 2, .seq = 4, .past = 100}};
  for (const char* const name : kModels) {
    for (const Step& step : steps) {
      const Bindings bindings = {{"phase", step.decode ? "decode" : "prefill"},
                                 {"causal", step.triangle ? "triangle" : "full"},
                                 {"batch", step.batch},
                                 {"seq", step.seq},
                                 {"past", step.past},
                                 {"bits", 8}};
      const Result<Network> network = LoadZooNetwork(name, bindings);
      ASSERT_TRUE(network) << network.error();
      ASSERT_TRUE(network->step);
      const Count expected = CountOf(name, step);
      EXPECT_EQ((Count{TotalMacs(*network), TotalParameters(*network), network->step->kv_bytes}),
                expected)
          << name << " batch " << step.batch << " seq " << step.seq << " past " << step.past;
      EXPECT_EQ(network->step->phase, step.decode ? "decode" : "prefill");
      EXPECT_FALSE(network->graph.empty());
    }
  }
}

// Embeddings have no MACs; norms have parameters that count nowhere here.
TEST(LanguageModels, ParametersAreThePublishedOnes) {
  const auto billions = [](const char* name, int64_t embedding) {
    const Result<Network> network = LoadZooNetwork(name);
    return fmt::format("{:.2f}", static_cast<double>(TotalParameters(*network) + embedding) / 1e9);
  };
  EXPECT_EQ(billions("llama-3.1-8b", 128'256 * 4096), "8.03");
  EXPECT_EQ(billions("qwen3-8b", 151'936 * 4096), "8.19");
  EXPECT_EQ(billions("mixtral-8x7b", 32'000 * 4096), "46.70");
  EXPECT_EQ(billions("deepseek-v2-lite", 102'400 * 2048), "15.71");
  EXPECT_EQ(billions("gemma-2-2b", 0), "2.61");  // the head's weights are the embedding
}

TEST(LanguageModels, BitsScaleTheCacheAndAreThoseOfTheTensors) {
  const Result<Network> network =
      LoadZooNetwork("llama-3.1-8b", {{"phase", "decode"}, {"past", 4095}});
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->step->kv_bytes, int64_t{32} * 2 * 8 * 128 * 4096 * 2);
  for (const GraphTensor& tensor : network->graph.tensors) EXPECT_EQ(tensor.bits, 16);
}

TEST(LanguageModels, TheCacheIsReadWholeAndAppendedTo) {
  const Result<Network> network =
      LoadZooNetwork("llama-3.1-8b", {{"phase", "decode"}, {"past", 100}, {"batch", 2}});
  ASSERT_TRUE(network) << network.error();
  const Graph& graph = network->graph;
  int64_t read = 0, written = 0;
  const GraphLinks links = Links(graph);
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].kind != TensorKind::kCache) continue;
    for (const int32_t reader : links.consumers[i]) {
      if (graph.nodes[static_cast<size_t>(reader)].macs()) read += Words(graph.tensors[i]);
    }
    const int32_t producer = links.producer[i];
    if (producer >= 0 && !graph.nodes[static_cast<size_t>(producer)].view) {
      written += Words(graph.tensors[i]);
    }
  }
  EXPECT_EQ(read, 32 * 2 * 2 * 8 * 101 * 128);
  EXPECT_EQ(written, 32 * 2 * 2 * 8 * 1 * 128);
}

TEST(LanguageModels, Gpt2KeepsItsListUnlessItHasAHead) {
  const Result<Network> bare = LoadZooNetwork("gpt2");
  const Result<Network> whole = LoadZooNetwork("gpt2", {{"head", 1}, {"seq", 1}, {"past", 1023}});
  ASSERT_TRUE(bare && whole);
  std::string names;
  for (const NetworkLayer& entry : bare->layers) {
    names += entry.name + " ";
    EXPECT_EQ(entry.count, 12);
    EXPECT_TRUE(entry.also.empty());
  }
  EXPECT_EQ(names, "h.attn.c_attn h.attn.qk h.attn.pv h.attn.c_proj h.mlp.c_fc h.mlp.c_proj ");
  EXPECT_EQ(TotalMacs(*whole), 103'809'024 + 768 * 50'257);
}

// ---- config.json

std::string Config(const std::string& more) {
  return R"({"architectures": ["X"], "hidden_size": 64, "num_hidden_layers": 2,
 "intermediate_size": 96, "num_attention_heads": 4, "vocab_size": 100, "rope_theta": 1e6,
 "torch_dtype": "bfloat16", "sliding_window": null, )" +
         more + "}";
}

Result<Network> Read(const std::string& more, const Bindings& bindings = {}) {
  return ParseNetwork(Config(more), "models/tiny/config.json", bindings);
}

TEST(LanguageModelFiles, AreHuggingFaceConfigs) {
  const Result<Network> llama = Read(R"("model_type": "llama", "num_key_value_heads": 2)");
  ASSERT_TRUE(llama) << llama.error();
  EXPECT_EQ(llama->name, "tiny");
  EXPECT_EQ(TotalParameters(*llama), 2 * (64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 96) + 64 * 100);
  const Result<Network> qwen = Read(R"("model_type": "qwen2", "num_key_value_heads": 2)");
  ASSERT_TRUE(qwen) << qwen.error();
  EXPECT_EQ(TotalParameters(*qwen), TotalParameters(*llama) + 2 * (64 + 32 + 32));
  const Result<Network> bert = Read(R"("model_type": "bert")", {{"seq", 10}});
  ASSERT_TRUE(bert) << bert.error();
  EXPECT_EQ(bert->step->phase, "encode");
  EXPECT_EQ(bert->step->kv_bytes, 0);
  EXPECT_EQ(TotalMacs(*bert), 2 * (10 * (4 * 64 * 64 + 2 * 64 * 96) + 2 * 10 * 10 * 64));
  EXPECT_EQ(TotalParameters(*bert), 2 * (4 * 64 * 65 + 65 * 96 + 97 * 64));
  const Result<Network> vit = Read(
      R"("model_type": "vit", "image_size": 32, "patch_size": 16, "id2label": {"0": "a", "1": "b"})");
  ASSERT_TRUE(vit) << vit.error();
  EXPECT_EQ(TotalMacs(*vit),
            4 * 64 * 3 * 256 + 2 * (5 * (4 * 64 * 64 + 2 * 64 * 96) + 2 * 25 * 64) + 2 * 64);
}

TEST(LanguageModelFiles, WindowsCapKeys) {
  const Bindings decode = {{"phase", "decode"}, {"past", 99}};
  const auto macs = [&](const std::string& more) {
    const Result<Network> network =
        ParseNetwork(R"({"hidden_size": 64, "num_hidden_layers": 4, "intermediate_size": 96,
 "num_attention_heads": 4, "vocab_size": 100, )" +
                         more + "}",
                     "config.json", decode);
    return network ? TotalMacs(*network) : -1;
  };
  const int64_t all = macs(R"("model_type": "mistral", "sliding_window": null)");
  const int64_t saved = (100 - 10) * 2 * 64;  // by one layer
  EXPECT_EQ(macs(R"("model_type": "mistral", "sliding_window": 10)"), all - 4 * saved);
  EXPECT_EQ(macs(R"("model_type": "qwen3", "sliding_window": 10)"), all);
  EXPECT_EQ(macs(R"("model_type": "qwen3", "sliding_window": 10, "use_sliding_window": true,
                    "max_window_layers": 3)"),
            all - saved);
  EXPECT_EQ(macs(R"("model_type": "gemma2", "head_dim": 16, "sliding_window": 10)"),
            all - 2 * saved);
  EXPECT_EQ(macs(R"("model_type": "gemma2", "head_dim": 16, "sliding_window": 10, "layer_types":
                    ["full_attention", "sliding_attention", "full_attention", "full_attention"])"),
            all - saved);
}

TEST(LanguageModelFiles, MistakesAreErrorsWithAPlace) {
  const auto message = [](const std::string& more, const Bindings& bindings = {}) {
    const Result<Network> network = Read(more, bindings);
    return network ? "read" : ToString(network.error());
  };
  EXPECT_EQ(message(R"("model_type": "llama2")"),
            "models/tiny/config.json:3:67: models of type 'llama2' are not known; did you mean "
            "'llama'?");
  EXPECT_EQ(message(R"("model_type": "llama", "num_key_value_heads": 3)"),
            "models/tiny/config.json:3:99: 3 heads of keys do not divide 4 heads");
  EXPECT_EQ(message(R"("model_type": "mixtral")"),
            "models/tiny/config.json:1:1: config without 'num_local_experts'");
  EXPECT_EQ(
      message(R"("model_type": "llama")", {{"phase", "decoding"}}),
      "models/tiny/config.json: setting 'phase' is 'decoding', but must be prefill or decode");
  EXPECT_EQ(message(R"("model_type": "llama")", {{"pest", 1}}),
            "models/tiny/config.json: the model has no setting 'pest'; did you mean 'past'?");
  EXPECT_EQ(message(R"("model_type": "llama")", {{"seq", 0}}),
            "models/tiny/config.json: setting 'seq' is 0, but must be in 1..2147483647");
  EXPECT_EQ(message(R"("model_type": "llama")", {{"seq", 2'000'000'000}, {"batch", 10}}),
            "models/tiny/config.json: batch 10, seq 2000000000 and past 0 make sizes above "
            "2147483647");
  EXPECT_EQ(
      message(R"("model_type": "bert")", {{"phase", "decode"}}),
      "models/tiny/config.json: the model has no setting 'phase'; known: batch, bits, head, seq");
}

}  // namespace
}  // namespace tessera
