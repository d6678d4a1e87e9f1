// The checks of workload/conformance.h.
#include "tessera/workload/conformance.h"

#include <set>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/part.h"
#include "tessera/workload/builder.h"

namespace tessera {
namespace {

Error Violation(const NetworkFormat& format, std::string_view rule, std::string_view detail) {
  return Error{.kind = ErrorKind::kInternal,
               .message = fmt::format("format '{}' violates '{}': {}", format.name, rule, detail)};
}

// Reads twice: an error names the file and says something, and both reads agree.
Result<void> CheckRead(const NetworkFormat& format, std::string_view bytes, std::string_view what) {
  const std::string file = "conformance.input";
  const Result<Network> network = format.read(bytes, file, {});
  const Result<Network> again = format.read(bytes, file, {});
  if (network.ok() != again.ok()) return Violation(format, "pure", what);
  if (network) {
    if (*network != *again) return Violation(format, "pure", what);
    for (const NetworkLayer& entry : network->layers) {
      if (!Validate(entry.layer)) return Violation(format, "layers are valid", what);
    }
    return {};
  }
  const Error& error = network.error();
  if (ToString(error) != ToString(again.error())) return Violation(format, "pure", what);
  if (error.where.file != file) return Violation(format, "errors name the file", ToString(error));
  if (error.message.empty()) return Violation(format, "errors say what is wrong", what);
  if (error.kind == ErrorKind::kInternal) {
    return Violation(format, "bad input is no defect", ToString(error));
  }
  return {};
}

bool SameLayers(const Network& a, const Network& b) {
  if (a.layers.size() != b.layers.size()) return false;
  for (size_t i = 0; i < a.layers.size(); ++i) {
    if (a.layers[i].layer != b.layers[i].layer || a.layers[i].count != b.layers[i].count) {
      return false;
    }
  }
  return true;
}

}  // namespace

Network ConformanceNetwork() {
  NetworkBuilder builder(Network{.name = "conformance", .source = "nowhere", .batch = 2});
  Layer conv{.bias = true, .n = 2, .k = 8, .c = 4, .y = 9, .x = 8, .r = 3, .s = 2};
  conv.stride = {2, 1};
  conv.pad = {1, 0, 2, 1};
  Layer dilated = conv;
  dilated.dilation = {2, 3};
  Layer grouped = conv;
  grouped.groups = 2;
  Layer depthwise = conv;
  depthwise.groups = depthwise.k = 4;
  Layer multiplied = conv;
  multiplied.groups = 4;
  Layer transposed = conv;
  transposed.type = LayerType::kTransposedConv;
  transposed.output_pad = {1, 0};
  Layer grouped_transposed = transposed;
  grouped_transposed.groups = 2;
  const Layer fc{.type = LayerType::kFullyConnected, .bias = true, .n = 2, .k = 5, .c = 7};
  const Layer matmul{.type = LayerType::kMatmul, .m = 3, .n = 4, .k = 5};
  const Layer batched{.type = LayerType::kMatmul, .h = 6, .m = 3, .n = 4, .k = 5};
  const std::pair<const char*, Layer> layers[] = {{"conv", conv},
                                                  {"dilated", dilated},
                                                  {"grouped", grouped},
                                                  {"depthwise", depthwise},
                                                  {"multiplied", multiplied},
                                                  {"up", transposed},
                                                  {"grouped up", grouped_transposed},
                                                  {"fc", fc},
                                                  {"gemm", matmul},
                                                  {"heads", batched},
                                                  {"conv-again", conv}};
  for (const auto& [name, layer] : layers) {
    // These layers are valid by construction; conformance_test.cc counts them.
    if (!builder.Add(name, layer, name[0] == 'f' ? 3 : 1)) break;
  }
  return builder.Take();
}

Result<void> CheckGarbage(const NetworkFormat& format) {
  const std::string inputs[] = {
      "",
      " \n\t\n",
      "x",
      std::string(1, '\0'),
      std::string("\x7f"
                  "ELF\x02\x01\x01\x00",
                  8),
      "\xff\xfe{\0}\0",
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
      "\xef\xbb\xbf",
      std::string(10'000, '['),
      std::string(10'000, '{'),
      std::string(10'000, '('),
      std::string(100'000, ','),
      std::string(100'000, '-'),
      "a: &a [*a]\n",
      "<html><body>404</body></html>",
  };
  for (const std::string& input : inputs) {
    if (Result<void> ok = CheckRead(format, input, Quoted(input)); !ok) return ok;
    if (format.read(input, "f", {})) return Violation(format, "garbage is refused", Quoted(input));
  }
  return {};
}

Result<void> CheckDamage(const NetworkFormat& format, const Network& network) {
  const Result<Export> exported = format.write(network);
  if (!exported) return exported.error();
  const std::string& text = exported->files[0].contents;
  for (size_t length = 0; length < text.size(); ++length) {
    const std::string what = fmt::format("truncated after {} bytes", length);
    if (Result<void> ok = CheckRead(format, text.substr(0, length), what); !ok) return ok;
  }
  CounterRng rng(1, StreamId("conformance"));
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(rng.UniformInt(256));
    if (Result<void> ok = CheckRead(format, damaged, fmt::format("byte {} changed", at)); !ok) {
      return ok;
    }
  }
  return {};
}

Result<void> CheckBindings(const NetworkFormat& format, const Network& network) {
  const Result<Export> exported = format.write(network);
  if (!exported) return exported.error();
  const Result<Network> bound =
      format.read(exported->files[0].contents, "conformance.input", {{"no_such_name", 1}});
  if (bound) return Violation(format, "unknown bindings are refused", "no_such_name");
  if (bound.error().where.file.empty()) {
    return Violation(format, "errors name the file", ToString(bound.error()));
  }
  return {};
}

Result<Network> ReadExport(const NetworkFormat& format, const Export& exported) {
  std::optional<Network> header;
  std::vector<NetworkLayer> layers;
  for (const ExportedFile& file : exported.files) {
    Result<Network> network = format.read(file.contents, file.name, {});
    if (!network) return network.error();
    layers.insert(layers.end(), network->layers.begin(), network->layers.end());
    network->layers.clear();
    if (!header) header = std::move(*network);
  }
  NetworkBuilder builder(*header);
  for (const NetworkLayer& entry : layers) {
    const int64_t unnamed = entry.count - std::ssize(entry.also);
    if (Result<void> ok = builder.Add(entry.name, entry.layer, unnamed); !ok) return ok.error();
    for (const std::string& name : entry.also) {
      if (Result<void> ok = builder.Add(name, entry.layer); !ok) return ok.error();
    }
  }
  return builder.Take();
}

Result<void> CheckRoundTrip(const NetworkFormat& format, const Network& network) {
  const Result<Export> exported = format.write(network);
  if (!exported) return exported.error();
  if (exported->files.empty()) return Violation(format, "exports something", network.name);
  std::set<std::string> names;
  for (const ExportedFile& file : exported->files) {
    if (SafeFileName(file.name) != file.name || !names.insert(file.name).second) {
      return Violation(format, "file names are safe and distinct", file.name);
    }
  }
  const Result<Network> once = ReadExport(format, *exported);
  if (!once) return once.error();
  const Result<Export> exported_again = format.write(*once);
  if (!exported_again) return exported_again.error();
  const Result<Network> twice = ReadExport(format, *exported_again);
  if (!twice) return twice.error();
  if (!SameLayers(*once, *twice)) {
    return Violation(format, "a second export changes nothing", network.name);
  }
  return {};
}

}  // namespace tessera
