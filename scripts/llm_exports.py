"""Language models of transformers against what Tessera makes of their configs; called by scripts/check-exports.

Small models of ten families, prefill and decode, exported by PyTorch's classic and dynamo exporters; models of the zoo
in full size on PyTorch's device `meta`, which has shapes and no data. MACs are those of PyTorch's FLOP counter / 2.
"""
import argparse
import json
import logging
import os
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

import onnx
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageClassification, AutoModelForMaskedLM
from transformers.models.deepseek_v2 import modeling_deepseek_v2 as deepseek

GOLDEN = "tests/golden/llm"
BATCH, SEQ, PAST = 2, 7, 9
SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
         "vocab_size": 11, "max_position_embeddings": 32}
FAMILIES = {
    "llama": {**SMALL, "num_key_value_heads": 2, "attention_bias": True, "mlp_bias": True},
    "mistral": {**SMALL, "num_key_value_heads": 2, "sliding_window": None, "head_dim": 6},
    "mixtral": {**SMALL, "num_key_value_heads": 2, "num_local_experts": 5, "num_experts_per_tok": 2,
                "sliding_window": None},
    "qwen2": {**SMALL, "num_key_value_heads": 1},
    "qwen3": {**SMALL, "num_key_value_heads": 2, "head_dim": 8},
    "gemma2": {**SMALL, "num_key_value_heads": 2, "head_dim": 6, "sliding_window": 64},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 4, "vocab_size": 11, "n_positions": 32},
    "bert": SMALL,
    "vit": {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
            "image_size": 32, "patch_size": 8, "num_labels": 7},
    "deepseek_v2": {**SMALL, "kv_lora_rank": 5, "q_lora_rank": None, "qk_nope_head_dim": 3, "qk_rope_head_dim": 2,
                    "v_head_dim": 4, "n_routed_experts": 6, "num_experts_per_tok": 2, "n_shared_experts": 1,
                    "moe_intermediate_size": 7, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1,
                    "num_key_value_heads": 4, "topk_method": "greedy"},
}
LARGE = {"hidden_size": 4096, "num_hidden_layers": 32, "intermediate_size": 14336, "num_attention_heads": 32,
         "num_key_value_heads": 8}
ZOO = {
    "llama-3.1-8b": ("llama", {**LARGE, "vocab_size": 128256, "max_position_embeddings": 131072}),
    "qwen3-8b": ("qwen3", {**LARGE, "num_hidden_layers": 36, "intermediate_size": 12288, "head_dim": 128,
                           "vocab_size": 151936}),
    "mixtral-8x7b": ("mixtral", {**LARGE, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2,
                                 "sliding_window": None}),
    "deepseek-v2-lite": ("deepseek_v2", {
        "hidden_size": 2048, "num_hidden_layers": 27, "intermediate_size": 10944, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 102400, "q_lora_rank": None, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64,
        "num_experts_per_tok": 6, "n_shared_experts": 2, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
        "n_group": 1, "topk_group": 1, "topk_method": "greedy"}),
    "gemma-2-2b": ("gemma2", {"hidden_size": 2304, "num_hidden_layers": 26, "intermediate_size": 9216,
                              "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
                              "vocab_size": 256000, "sliding_window": 4096}),
    "gpt2": ("gpt2", {"n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}),
}


def config_of(kind, sizes):
    config = AutoConfig.for_model(kind, **sizes)
    config._attn_implementation = "eager"
    config._experts_implementation = "batched_mm"  # the experts that tokens use, as one product
    return config


def cache_of(config, batch, past):
    """Keys and values of so many tokens, by layer."""
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return torch.zeros(config.num_hidden_layers, 2, batch, heads, past, size, dtype=torch.get_default_dtype())


class Prefill(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=1).logits


class Decode(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, past):
        cache = transformers.DynamicCache(config=self.model.config)
        for i in range(past.shape[0]):
            cache.update(past[i, 0], past[i, 1], i)
        return self.model(input_ids=ids, past_key_values=cache, use_cache=True).logits


class Encode(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, values):
        return self.model(values).logits


def steps_of(kind, config):
    """Name, module, inputs and Tessera's setting of every step that a family has."""
    if kind == "vit":
        model = AutoModelForImageClassification.from_config(config).eval()
        return [("encode", Encode(model), (torch.zeros(BATCH, 3, 32, 32),), f"batch={BATCH}")]
    ids = torch.ones(BATCH, SEQ, dtype=torch.long)
    if kind == "bert":
        model = AutoModelForMaskedLM.from_config(config).eval()
        return [("encode", Encode(model), (ids,), f"batch={BATCH},seq={SEQ},head=1")]
    model = AutoModelForCausalLM.from_config(config).eval()
    steps = [("prefill", Prefill(model), (ids, torch.ones_like(ids)), f"batch={BATCH},seq={SEQ}")]
    if kind != "deepseek_v2":  # transformers expands the cache of latents, which Tessera's decode does not
        steps.append(("decode", Decode(model), (ids[:, :1], cache_of(config, BATCH, PAST)),
                      f"batch={BATCH},phase=decode,past={PAST}"))
    return steps


def without_rotation():
    """Exporters know no complex numbers; the rotation of DeepSeek's keys has no MACs."""
    deepseek.apply_rotary_emb = lambda q, k, *rest: (q, k)
    deepseek.DeepseekV2RotaryEmbedding.forward = lambda self, x, *rest, **named: x


def strip(path, to):
    """The graph without doc strings and metadata; large weights are external data in a file that does not exist."""
    model = onnx.load(path)
    del model.metadata_props[:]
    for graph in [model.graph, *model.functions]:
        graph.doc_string = ""
        del graph.metadata_props[:]
        for node in graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
        values = [] if graph is not model.graph else [*graph.value_info, *graph.input, *graph.output]
        for value in values:
            value.doc_string = ""
            del value.metadata_props[:]
    for weight in model.graph.initializer:
        elements = 1
        for size in weight.dims:
            elements *= size
        del weight.metadata_props[:]
        if elements <= 32:
            continue
        for field in ("raw_data", "float_data", "int64_data", "int32_data"):
            weight.ClearField(field)
        weight.data_location = onnx.TensorProto.EXTERNAL
        del weight.external_data[:]
        weight.external_data.add(key="location", value="weights.bin")
    with open(to, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))


def ask(tessera, network):
    done = subprocess.run([tessera, "check", network, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"macs": done.stderr.strip()}


def macs_of(module, inputs):
    with torch.no_grad(), FlopCounterMode(display=False) as flops:
        module(*inputs)
    return flops.get_total_flops() // 2


def export(module, inputs, path, dynamo):
    with torch.no_grad():
        if dynamo:
            torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, verbose=False)
        else:
            torch.onnx.export(module, inputs, path, dynamo=False, opset_version=17)


def exports(tessera, keep):
    """How many of how many are equal."""
    folder, equal, all_of_them = "build/exports", 0, 0
    facts = {}
    for kind, sizes in FAMILIES.items():
        torch.manual_seed(1)
        config = config_of(kind, sizes)
        os.makedirs(f"{folder}/{kind}", exist_ok=True)
        config.to_json_file(f"{folder}/{kind}/config.json")
        for phase, module, inputs, setting in steps_of(kind, config):
            counted = macs_of(module, inputs)
            built = ask(tessera, f"{folder}/{kind}/config.json:{setting}")["macs"]
            for exporter in ["classic", "dynamo"]:
                path = f"{folder}/{kind}/{phase}.{exporter}.onnx"
                export(module, inputs, path, exporter == "dynamo")
                read = ask(tessera, path)
                same = read["macs"] == built == counted and not read["unknown"]
                equal, all_of_them = equal + same, all_of_them + 1
                print(f"{kind} {phase} {exporter}: PyTorch {counted}, config {built}, ONNX {read['macs']}"
                      f"{'' if same else ': DIFFERENT'}", flush=True)
                if keep:
                    os.makedirs(GOLDEN, exist_ok=True)
                    name = f"{kind}.{phase}.{exporter}.onnx"
                    strip(path, f"{GOLDEN}/{name}")
                    facts[name] = {"config": sizes | {"model_type": kind}, "setting": setting, "macs": counted}
    if keep:
        with open(f"{GOLDEN}/expected.json", "w") as file:
            json.dump(facts, file, indent=1)
            file.write("\n")
    return equal, all_of_them


def parameters_of(model):
    """Weights and biases of what multiplies: no norms, no tables that are looked up."""
    return sum(parameter.numel() for module in model.modules()
               if "Norm" not in type(module).__name__ and not isinstance(module, torch.nn.Embedding)
               for parameter in module.parameters(recurse=False))


def full_size(tessera):
    equal, all_of_them = 0, 0
    torch.set_default_dtype(torch.bfloat16)
    for name, (kind, sizes) in ZOO.items():
        config = config_of(kind, sizes)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config).eval()
            weights = parameters_of(model)
            for phase, batch, seq, past in [("prefill", 2, 33, 0), ("prefill", 1, 128, 0), ("decode", 1, 1, 900),
                                            ("decode", 3, 1, 777)]:
                if kind == "deepseek_v2" and phase == "decode":
                    continue
                ids = torch.ones(batch, seq, dtype=torch.long)
                if phase == "prefill":
                    mask = torch.zeros(batch, 1, seq, seq)
                    if kind in ("gemma2", "qwen3"):
                        mask = {"full_attention": mask, "sliding_attention": mask}
                    counted = macs_of(Prefill(model), (ids, mask))
                else:
                    counted = macs_of(Decode(model), (ids, cache_of(config, batch, past)))
                got = ask(tessera, f"{name}:phase={phase},batch={batch},seq={seq},past={past},head=1")
                same = got["macs"] == counted and got["parameters"] == weights
                equal, all_of_them = equal + same, all_of_them + 1
                print(f"{name} {phase} batch {batch} seq {seq} past {past}: {counted} MACs, {weights} parameters"
                      f"{'' if same else f': DIFFERENT, {got}'}", flush=True)
    return equal, all_of_them


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tessera", nargs="?", default="build/release/tessera")
    parser.add_argument("--keep", action="store_true", help=f"writes {GOLDEN} anew")
    arguments = parser.parse_args()
    without_rotation()
    found = [exports(arguments.tessera, arguments.keep), full_size(arguments.tessera)]
    print(f"{found[0][0]} of {found[0][1]} exports and {found[1][0]} of {found[1][1]} full-size steps are equal")
    sys.exit(any(equal != all_of_them for equal, all_of_them in found))


main()
