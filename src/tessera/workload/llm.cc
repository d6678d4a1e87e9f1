// Transformers from their configs: what one step of a model computes (docs/graphs.md has the rules
// of counting). Names are those of Hugging Face's modules.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tessera/workload/llm_builder.h"
#include "tessera/workload/llm_config.h"

namespace tessera {
namespace {

// Rows of queries that meet the same number of keys.
struct Part {
  int64_t rows, keys;
};

// Which keys the queries of a step meet. `full`: each meets all that are there or that its window
// shows. `triangle`: the i-th meets those up to itself; rows with different keys stand at their
// average, in two halves if that is no integer, so that the products are those of a causal kernel.
std::vector<Part> PartsOf(const LlmSettings& settings, int64_t window, bool causal) {
  const int64_t seq = settings.seq, past = settings.past;
  const int64_t all = past + seq;
  const int64_t most = window > 0 ? std::min(window, all) : all;
  if (!settings.triangle || !causal) return {{seq, most}};
  std::vector<Part> parts;
  const int64_t ramp = std::clamp<int64_t>(most - past, 0, seq);  // rows that see all before them
  if (ramp % 2 == 1) {
    parts.push_back({ramp, past + (ramp + 1) / 2});
  } else if (ramp > 0) {
    parts.push_back({ramp / 2, past + ramp / 2});
    parts.push_back({ramp / 2, past + ramp / 2 + 1});
  }
  if (seq > ramp) parts.push_back({seq - ramp, most});
  return parts;
}

class Transformer {
 public:
  Transformer(const LlmConfig& config, const LlmSettings& settings)
      : c_(config), s_(settings), build_(settings.batch, settings.bits) {}

  Result<Network> Build() {
    if (Result<void> ok = CheckSizes(); !ok) return ok.error();
    int32_t x = Embed();
    for (int64_t i = 0; i < c_.layers; ++i) x = Block(i, x);
    Finish(x);
    LanguageStep step{.phase = c_.encoder() ? "encode"
                               : s_.decode  ? "decode"
                                            : "prefill",
                      .causal = c_.encoder() || !s_.triangle ? "full" : "triangle",
                      .batch = s_.batch,
                      .seq = s_.seq,
                      .past = s_.past,
                      .bits = s_.bits};
    const Checked bits = cache_words_ * s_.bits;
    if (!bits.ok()) {
      return Error{.kind = ErrorKind::kOverflow, .message = "the cache does not fit in 64 bits"};
    }
    step.kv_bytes = CeilDiv(bits.value(), 8);
    return build_.Take(std::move(step));
  }

 private:
  // Products of settings that become sizes.
  Result<void> CheckSizes() const {
    const int64_t groups = std::max<int64_t>(1, c_.heads);
    const Checked rows = Checked(s_.batch) * s_.seq * std::max<int64_t>(1, c_.experts_per_token);
    const Checked queries = Checked(s_.batch) * groups * s_.seq;
    const Checked keys = Checked(s_.past) + s_.seq;
    for (const Checked& size : {rows, queries, keys}) {
      if (size.ok() && size.value() <= kMaxSize) continue;
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("batch {}, seq {} and past {} make sizes above {}",
                                          s_.batch, s_.seq, s_.past, kMaxSize)};
    }
    return {};
  }

  Shape Tokens(int64_t width) const { return {s_.batch, s_.seq, width}; }
  int64_t rows() const { return s_.batch * s_.seq; }
  bool gpt2() const { return c_.family == LlmFamily::kGpt2; }
  bool gemma() const { return c_.family == LlmFamily::kGemma2; }

  // The place of the i-th block: layers.3, or as the family calls it.
  LlmName BlockName(int64_t i) const {
    const char* const name = gpt2() ? "h" : c_.encoder() ? "encoder.layer" : "layers";
    return {fmt::format("{}.{}", name, i), name};
  }

  int32_t Norm(const std::string& name, int32_t x) {
    return build_.Vector(name, "norm", {x}, build_.ShapeOf(x));
  }

  int32_t Add(const std::string& name, int32_t a, int32_t b) {
    return build_.Vector(name, "add", {a, b}, build_.ShapeOf(a));
  }

  int32_t Embed() {
    if (c_.family == LlmFamily::kVit) return EmbedPatches();
    const int32_t ids = build_.Tensor("input_ids", {s_.batch, s_.seq}, TensorKind::kInput);
    // Of the table only the rows that are looked up move.
    const std::string name = gpt2() ? "wte" : c_.encoder() ? "embeddings" : "embed_tokens";
    const int32_t table = build_.Tensor(name + ".rows", Tokens(c_.hidden), TensorKind::kWeight);
    int32_t x = build_.Vector(name, "embedding", {ids, table}, Tokens(c_.hidden));
    if (gpt2()) x = build_.View("wpe", "bias", {x}, Tokens(c_.hidden));
    if (gemma()) x = build_.View("embed_tokens.scale", "scale", {x}, Tokens(c_.hidden));
    if (c_.encoder()) x = Norm("embeddings.LayerNorm", x);
    return x;
  }

  int32_t EmbedPatches() {
    const Layer layer{.bias = true,
                      .n = s_.batch,
                      .k = c_.hidden,
                      .c = c_.channels,
                      .y = c_.image_y,
                      .x = c_.image_x,
                      .r = c_.patch,
                      .s = c_.patch,
                      .stride = {c_.patch, c_.patch}};
    const Pair grid = OutputSize(layer);
    s_.seq = grid.y * grid.x + 1;
    const int32_t image = build_.Tensor(
        "pixel_values", {s_.batch, c_.channels, c_.image_y, c_.image_x}, TensorKind::kInput);
    const std::string name = "embeddings.patch_embeddings.projection";
    const int32_t patches = build_.Convolution({name, name}, image, layer);
    const int32_t tokens = build_.View("embeddings.patch_embeddings", "reshape", {patches},
                                       {s_.batch, s_.seq - 1, c_.hidden});
    const int32_t first =
        build_.Tensor("embeddings.cls_token", {s_.batch, 1, c_.hidden}, TensorKind::kWeight);
    const int32_t x =
        build_.Vector("embeddings.tokens", "concat", {first, tokens}, Tokens(c_.hidden));
    return build_.View("embeddings.position_embeddings", "bias", {x}, Tokens(c_.hidden));
  }

  int32_t Block(int64_t i, int32_t x) {
    const LlmName at = BlockName(i);
    const int64_t window = c_.sliding[static_cast<size_t>(i)] ? c_.window : 0;
    if (c_.family == LlmFamily::kBert) {
      const int32_t o = Attention(at, x, window);
      x = Norm(at.node + ".attention.output.LayerNorm",
               Add(at.node + ".attention.output.add", o, x));
      const int32_t m = Mlp(at, x, i);
      return Norm(at.node + ".output.LayerNorm", Add(at.node + ".output.add", m, x));
    }
    const bool plain = gpt2() || c_.encoder();
    const std::string first = gpt2() ? ".ln_1" : plain ? ".layernorm_before" : ".input_layernorm";
    const std::string second = gpt2()    ? ".ln_2"
                               : plain   ? ".layernorm_after"
                               : gemma() ? ".pre_feedforward_layernorm"
                                         : ".post_attention_layernorm";
    const int32_t normed = Norm(at.node + first, x);
    int32_t o = c_.family == LlmFamily::kDeepSeek ? LatentAttention(at, normed)
                                                  : Attention(at, normed, window);
    if (gemma()) o = Norm(at.node + ".post_attention_layernorm", o);
    x = Add(at.node + ".attn.add", x, o);
    int32_t m = Mlp(at, Norm(at.node + second, x), i);
    if (gemma()) m = Norm(at.node + ".post_feedforward_layernorm", m);
    return Add(at.node + ".mlp.add", x, m);
  }

  // ---- attention

  struct Projected {
    int32_t q, k, v;  // q by heads, k and v by heads of keys, those of this step
  };

  // Keys and values of this step belong to the cache as soon as they are there.
  int32_t KeysOf(const LlmName& name, int32_t x, int64_t width, const Shape& heads, bool rope) {
    const TensorKind kind = c_.encoder() ? TensorKind::kActivation : TensorKind::kCache;
    const bool normed = rope && c_.query_norm;
    int32_t k = build_.FullyConnected(name, x, rows(), c_.hidden, width, c_.qkv_bias, Tokens(width),
                                      normed ? TensorKind::kActivation : kind);
    if (normed) {
      k = build_.Vector(name.node + ".norm", "norm", {k}, Tokens(width), kind);
    }
    return build_.View(name.node + ".heads", rope && !c_.encoder() ? "rope" : "transpose", {k},
                       heads, kind);
  }

  Projected Project(const LlmName& at, int32_t x) {
    const int64_t q_width = c_.heads * c_.head_size, kv_width = c_.kv_heads * c_.head_size;
    const Shape q_heads = {s_.batch, c_.heads, s_.seq, c_.head_size};
    const Shape kv_heads = {s_.batch, c_.kv_heads, s_.seq, c_.head_size};
    if (gpt2()) {
      const int32_t all = build_.FullyConnected(at + ".attn.c_attn", x, rows(), c_.hidden,
                                                3 * q_width, true, Tokens(3 * q_width));
      const auto part = [&](const char* name) {
        return build_.View(at.node + name, "slice", {all}, kv_heads);
      };
      const int32_t q = part(".attn.q"), k = part(".attn.k.new"), v = part(".attn.v.new");
      return {q, build_.Vector(at.node + ".attn.k", "copy", {k}, kv_heads, TensorKind::kCache),
              build_.Vector(at.node + ".attn.v", "copy", {v}, kv_heads, TensorKind::kCache)};
    }
    const std::string self = c_.family == LlmFamily::kBert ? ".attention.self"
                             : c_.encoder()                ? ".attention.attention"
                                                           : ".self_attn";
    const std::string q_name = self + (c_.encoder() ? ".query" : ".q_proj");
    const std::string k_name = self + (c_.encoder() ? ".key" : ".k_proj");
    const std::string v_name = self + (c_.encoder() ? ".value" : ".v_proj");
    int32_t q = build_.FullyConnected(at + q_name, x, rows(), c_.hidden, q_width, c_.qkv_bias,
                                      Tokens(q_width));
    if (c_.query_norm) q = Norm(at.node + q_name + ".norm", q);
    q = build_.View(at.node + q_name + ".heads", c_.encoder() ? "transpose" : "rope", {q}, q_heads);
    const int32_t k = KeysOf(at + k_name, x, kv_width, kv_heads, /*rope=*/true);
    const int32_t v = KeysOf(at + v_name, x, kv_width, kv_heads, /*rope=*/false);
    return {q, k, v};
  }

  // What the cache holds before the step and what the step adds, as one tensor.
  int32_t WithPast(const std::string& name, int32_t fresh, int64_t keys) {
    const int64_t past = std::max<int64_t>(keys - s_.seq, 0);
    if (past == 0) return fresh;
    Shape shape = build_.ShapeOf(fresh);
    shape[shape.size() - 2] = past;
    const int32_t before = build_.Tensor(name + ".past", shape, TensorKind::kCache);
    shape[shape.size() - 2] = past + s_.seq;
    return build_.View(name + ".cache", "concat", {before, fresh}, std::move(shape),
                       TensorKind::kCache);
  }

  // Softmax(q k) v for `h` groups of `per_key` queries that share their keys and values; the result
  // has all rows of all groups.
  int32_t Attend(const LlmName& at, const std::vector<Part>& parts, int32_t q, int32_t k, int32_t v,
                 int64_t h, int64_t per_key, int64_t key_size, int64_t value_size, Shape shape) {
    std::vector<int32_t> results;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string part = i == 0 ? "" : fmt::format(".{}", i + 1);
      const int64_t m = per_key * parts[i].rows, keys = parts[i].keys;
      const int32_t scores = build_.Product(at + (".qk" + part), q, k, h, m, keys, key_size);
      const int32_t weights =
          build_.Vector(at.node + ".softmax" + part, "softmax", {scores}, {h, m, keys});
      results.push_back(build_.Product(at + (".pv" + part), weights, v, h, m, value_size, keys));
    }
    if (results.size() == 1) {
      return build_.View(at.node + ".context", "transpose", std::move(results), std::move(shape));
    }
    const int32_t joined = build_.Vector(at.node + ".rows", "concat", std::move(results),
                                         {h, per_key * s_.seq, value_size});
    return build_.View(at.node + ".context", "transpose", {joined}, std::move(shape));
  }

  int32_t Attention(const LlmName& at, int32_t x, int64_t window) {
    const std::vector<Part> parts = PartsOf(s_, window, !c_.encoder());
    const int64_t all = s_.past + s_.seq;
    const int64_t keys = window > 0 ? std::min(window, all) : all;
    const int64_t width = c_.heads * c_.head_size;
    Projected p = Project(at, x);
    const std::string self = gpt2()                          ? ".attn"
                             : c_.family == LlmFamily::kBert ? ".attention.self"
                             : c_.encoder()                  ? ".attention.attention"
                                                             : ".self_attn";
    if (!c_.encoder()) {
      cache_words_ = cache_words_ + Checked(2) * s_.batch * c_.kv_heads * keys * c_.head_size;
      p.k = WithPast(at.node + self + ".k", p.k, keys);
      p.v = WithPast(at.node + self + ".v", p.v, keys);
    }
    // Layers with a window have products of their own.
    LlmName products = at + self;
    if (window > 0) products.layer += ".sliding";
    const int32_t context =
        Attend(products, parts, p.q, p.k, p.v, s_.batch * c_.kv_heads, c_.heads / c_.kv_heads,
               c_.head_size, c_.head_size, Tokens(width));
    const std::string output = gpt2()         ? ".attn.c_proj"
                               : c_.encoder() ? ".attention.output.dense"
                                              : ".self_attn.o_proj";
    return build_.FullyConnected(at + output, context, rows(), width, c_.hidden, c_.output_bias,
                                 Tokens(c_.hidden));
  }

  // ---- latent attention: expanded in prefill, absorbed in decode

  int32_t LatentAttention(const LlmName& block, int32_t x) {
    const LlmName at = block + ".self_attn";
    const int64_t q_size = c_.nope_size + c_.rope_size, q_width = c_.heads * q_size;
    int32_t q = x;
    int64_t q_inputs = c_.hidden;
    if (c_.query_rank > 0) {
      q = build_.FullyConnected(at + ".q_a_proj", x, rows(), c_.hidden, c_.query_rank, c_.qkv_bias,
                                Tokens(c_.query_rank));
      q = Norm(at.node + ".q_a_layernorm", q);
      q_inputs = c_.query_rank;
    }
    q = build_.FullyConnected(at + (c_.query_rank > 0 ? ".q_b_proj" : ".q_proj"), q, rows(),
                              q_inputs, q_width, false, Tokens(q_width));
    const int64_t latent_width = c_.kv_rank + c_.rope_size;
    const int32_t packed = build_.FullyConnected(at + ".kv_a_proj_with_mqa", x, rows(), c_.hidden,
                                                 latent_width, c_.qkv_bias, Tokens(latent_width));
    const int32_t compressed =
        build_.View(at.node + ".kv_a.latent", "slice", {packed}, Tokens(c_.kv_rank));
    const int32_t rotary =
        build_.View(at.node + ".kv_a.rope", "slice", {packed}, Tokens(c_.rope_size));
    const int32_t latent = build_.Vector(at.node + ".kv_a_layernorm", "norm", {compressed},
                                         Tokens(c_.kv_rank), TensorKind::kCache);
    const int32_t k_rope = build_.Vector(at.node + ".k_rope", "copy", {rotary},
                                         Tokens(c_.rope_size), TensorKind::kCache);
    cache_words_ = cache_words_ + Checked(s_.batch) * (s_.past + s_.seq) * latent_width;
    const int32_t context =
        s_.decode ? Absorbed(at, q, latent, k_rope) : Expanded(at, q, latent, k_rope);
    return build_.FullyConnected(at + ".o_proj", context, rows(), c_.heads * c_.value_size,
                                 c_.hidden, c_.output_bias, Tokens(c_.hidden));
  }

  // Keys and values of every head from the latents; those of the past have been expanded before.
  int32_t Expanded(const LlmName& at, int32_t q, int32_t latent, int32_t k_rope) {
    const int64_t q_size = c_.nope_size + c_.rope_size;
    const int64_t kv_width = c_.heads * (c_.nope_size + c_.value_size);
    const Shape by_head = {s_.batch, c_.heads, s_.seq, q_size};
    const int32_t kv = build_.FullyConnected(at + ".kv_b_proj", latent, rows(), c_.kv_rank,
                                             kv_width, false, Tokens(kv_width));
    const auto heads = [&](int64_t size) { return Shape{s_.batch, c_.heads, s_.seq, size}; };
    const int32_t k_nope = build_.View(at.node + ".k_nope", "slice", {kv}, heads(c_.nope_size));
    int32_t v = build_.View(at.node + ".v", "slice", {kv}, heads(c_.value_size));
    const int32_t repeated =
        build_.View(at.node + ".k_rope.heads", "expand", {k_rope}, heads(c_.rope_size));
    int32_t k = build_.Vector(at.node + ".k", "concat", {k_nope, repeated}, by_head);
    const int32_t q_heads = build_.View(at.node + ".q.heads", "rope", {q}, by_head);
    k = WithPast(at.node + ".k.expanded", k, s_.past + s_.seq);
    v = WithPast(at.node + ".v.expanded", v, s_.past + s_.seq);
    return Attend(at, PartsOf(s_, 0, true), q_heads, k, v, s_.batch * c_.heads, 1, q_size,
                  c_.value_size, Tokens(c_.heads * c_.value_size));
  }

  // The expansion is folded into queries and results: all heads share the latents as keys and
  // values.
  int32_t Absorbed(const LlmName& at, int32_t q, int32_t latent, int32_t k_rope) {
    const int64_t rank = c_.kv_rank, size = rank + c_.rope_size;
    build_.CountParameters(Checked(c_.heads) * rank * (c_.nope_size + c_.value_size));
    const int32_t q_nope =
        build_.View(at.node + ".q_nope", "slice", {q}, {c_.heads, rows(), c_.nope_size});
    const int32_t q_rope =
        build_.View(at.node + ".q_rope", "slice", {q}, {c_.heads, rows(), c_.rope_size});
    const int32_t w_k = build_.Tensor(at.node + ".kv_b_proj.k.weight",
                                      {c_.heads, c_.nope_size, rank}, TensorKind::kWeight);
    const int32_t w_v = build_.Tensor(at.node + ".kv_b_proj.v.weight",
                                      {c_.heads, rank, c_.value_size}, TensorKind::kWeight);
    const int32_t q_latent =
        build_.Product(at + ".q_absorbed", q_nope, w_k, c_.heads, rows(), rank, c_.nope_size);
    const Shape queries = {s_.batch, c_.heads * s_.seq, size};
    const int32_t q_all = build_.Vector(at.node + ".q", "concat", {q_latent, q_rope}, queries);
    int32_t kv =
        build_.View(at.node + ".kv", "concat", {latent, k_rope}, Tokens(size), TensorKind::kCache);
    kv = WithPast(at.node + ".kv", kv, s_.past + s_.seq);
    Shape values = build_.ShapeOf(kv);
    values.back() = rank;
    const int32_t v =
        build_.View(at.node + ".kv.latent", "slice", {kv}, values, TensorKind::kCache);
    const int32_t context = Attend(at, PartsOf(s_, 0, true), q_all, kv, v, s_.batch, c_.heads, size,
                                   rank, {c_.heads, rows(), rank});
    const int32_t out =
        build_.Product(at + ".v_absorbed", context, w_v, c_.heads, rows(), c_.value_size, rank);
    return build_.View(at.node + ".out", "transpose", {out}, Tokens(c_.heads * c_.value_size));
  }

  // ---- the second half of a block

  int32_t Mlp(const LlmName& at, int32_t x, int64_t layer) {
    const bool experts = c_.experts > 0 && layer >= c_.dense_layers;
    if (c_.family == LlmFamily::kMixtral)
      return Experts(at + ".block_sparse_moe", x, {"w1", "w3", "w2"});
    if (experts) {
      const LlmName mlp = at + ".mlp";
      int32_t y = Experts(mlp, x, {"gate_proj", "up_proj", "down_proj"});
      if (c_.shared_experts == 0) return y;
      const int32_t shared =
          GatedMlp(mlp + ".shared_experts", x, c_.shared_experts * c_.expert_size);
      return Add(mlp.node + ".shared.add", y, shared);
    }
    if (!gpt2() && !c_.encoder()) return GatedMlp(at + ".mlp", x, c_.intermediate);
    const std::string up = gpt2() ? ".mlp.c_fc" : ".intermediate.dense";
    const std::string down = gpt2() ? ".mlp.c_proj" : ".output.dense";
    const int32_t wide = build_.FullyConnected(at + up, x, rows(), c_.hidden, c_.intermediate, true,
                                               Tokens(c_.intermediate));
    const int32_t active =
        build_.View(at.node + up + ".gelu", "gelu", {wide}, Tokens(c_.intermediate));
    return build_.FullyConnected(at + down, active, rows(), c_.intermediate, c_.hidden, true,
                                 Tokens(c_.hidden));
  }

  int32_t GatedMlp(const LlmName& at, int32_t x, int64_t width) {
    const char* const function = gemma() ? "gelu" : "silu";
    const int32_t gate = build_.FullyConnected(at + ".gate_proj", x, rows(), c_.hidden, width,
                                               c_.mlp_bias, Tokens(width));
    const int32_t active = build_.View(at.node + ".act", function, {gate}, Tokens(width));
    const int32_t up = build_.FullyConnected(at + ".up_proj", x, rows(), c_.hidden, width,
                                             c_.mlp_bias, Tokens(width));
    const int32_t product = build_.Vector(at.node + ".mul", "mul", {active, up}, Tokens(width));
    return build_.FullyConnected(at + ".down_proj", product, rows(), width, c_.hidden, c_.mlp_bias,
                                 Tokens(c_.hidden));
  }

  // Router and experts. The rows of the batch spread over the experts as evenly as they can: with
  // fewer rows than experts, some are idle.
  int32_t Experts(const LlmName& at, int32_t x, const std::array<const char*, 3>& names) {
    const int64_t width = c_.expert_size, hidden = c_.hidden;
    build_.CountParameters(Checked(3) * c_.experts * hidden * width);
    const int32_t logits = build_.FullyConnected(at + ".gate", x, rows(), hidden, c_.experts, false,
                                                 Tokens(c_.experts));
    std::vector<int32_t> results = {
        build_.Vector(at.node + ".gate.softmax", "softmax", {logits}, Tokens(c_.experts))};
    const int64_t uses = rows() * c_.experts_per_token;
    for (int64_t e = 0; e < c_.experts; ++e) {
      const int64_t n = uses / c_.experts + (e < uses % c_.experts ? 1 : 0);
      if (n == 0) break;
      const LlmName expert{fmt::format("{}.experts.{}.", at.node, e), at.layer + ".experts."};
      const int32_t in = build_.View(expert.node + "rows", "slice", {x}, {n, hidden});
      const int32_t gate = build_.Expert(expert + names[0], in, n, hidden, width);
      const int32_t active = build_.View(expert.node + "act", "silu", {gate}, {n, width});
      const int32_t up = build_.Expert(expert + names[1], in, n, hidden, width);
      const int32_t product = build_.Vector(expert.node + "mul", "mul", {active, up}, {n, width});
      results.push_back(build_.Expert(expert + names[2], product, n, width, hidden));
    }
    return build_.Vector(at.node + ".combine", "combine", std::move(results), Tokens(hidden));
  }

  // ---- the end

  void Finish(int32_t x) {
    if (c_.family == LlmFamily::kVit) return FinishVit(x);
    if (c_.family == LlmFamily::kBert) return FinishBert(x);
    x = Norm(gpt2() ? "ln_f" : "norm", x);
    if (!s_.head) return build_.SetOutput(x);
    // Prefill asks for the next token only.
    const int64_t tokens = s_.decode ? s_.seq : 1;
    if (tokens != s_.seq)
      x = build_.View("last_token", "slice", {x}, {s_.batch, tokens, c_.hidden});
    x = build_.FullyConnected({"lm_head", "lm_head"}, x, s_.batch * tokens, c_.hidden,
                              c_.vocabulary, false, {s_.batch, tokens, c_.vocabulary});
    build_.SetOutput(x);
  }

  void FinishBert(int32_t x) {
    if (!s_.head) return build_.SetOutput(x);
    const std::string transform = "cls.predictions.transform.dense",
                      decoder = "cls.predictions.decoder";
    x = build_.FullyConnected({transform, transform}, x, rows(), c_.hidden, c_.hidden, true,
                              Tokens(c_.hidden));
    x = build_.View("cls.predictions.transform.gelu", "gelu", {x}, Tokens(c_.hidden));
    x = Norm("cls.predictions.transform.LayerNorm", x);
    x = build_.FullyConnected({decoder, decoder}, x, rows(), c_.hidden, c_.vocabulary, true,
                              Tokens(c_.vocabulary));
    build_.SetOutput(x);
  }

  void FinishVit(int32_t x) {
    x = Norm("layernorm", x);
    if (!s_.head || c_.labels == 0) return build_.SetOutput(x);
    x = build_.View("class_token", "slice", {x}, {s_.batch, c_.hidden});
    x = build_.FullyConnected({"classifier", "classifier"}, x, s_.batch, c_.hidden, c_.labels, true,
                              {s_.batch, c_.labels});
    build_.SetOutput(x);
  }

  const LlmConfig& c_;
  LlmSettings s_;
  LlmBuilder build_;
  Checked cache_words_ = 0;
};

}  // namespace

Result<Network> BuildLlm(const LlmConfig& config, const LlmSettings& settings) {
  return Transformer(config, settings).Build();
}

}  // namespace tessera
