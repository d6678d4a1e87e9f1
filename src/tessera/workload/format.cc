// The list of network formats, and how a NETWORK argument finds its format.
#include "tessera/network.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/part.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/expression.h"

namespace tessera {

#define TESSERA_NETWORK_FORMATS(PART)  \
  PART(NetworkFormat, kNativeFormat)   \
  PART(NetworkFormat, kOnnxFormat)     \
  PART(NetworkFormat, kMaestroFormat)  \
  PART(NetworkFormat, kGammaFormat)    \
  PART(NetworkFormat, kTimeloopFormat) \
  PART(NetworkFormat, kLanguageModelFormat)

TESSERA_NETWORK_FORMATS(TESSERA_DECLARE_PART)

namespace {

constexpr std::array kFormats = {TESSERA_NETWORK_FORMATS(TESSERA_PART_ADDRESS)};

bool Exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

// ".yaml" of "net.yaml", "NET.YAML" and "net.yaml.gz".
std::string Extension(const std::string& path) {
  std::filesystem::path file(path);
  if (file.extension() == ".gz") file = file.stem();
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

bool HasExtension(const NetworkFormat& format, std::string_view extension) {
  return std::find(format.extensions.begin(), format.extensions.end(), extension) !=
         format.extensions.end();
}

// The format of a file. Where no format with its extension recognises the contents, the first one
// reads it all the same, because its message says what is missing.
Result<const NetworkFormat*> FormatOf(const std::string& path, std::string_view bytes) {
  const std::string extension = Extension(path);
  const NetworkFormat* first = nullptr;
  const NetworkFormat* recognised = nullptr;
  bool known_extension = false;
  for (const NetworkFormat* format : kFormats) {
    if (format->read == nullptr || !HasExtension(*format, extension)) continue;
    known_extension = true;
    if (first == nullptr) first = format;
    const bool matches = format->recognises == nullptr || format->recognises(bytes);
    if (matches && recognised == nullptr) recognised = format;
  }
  if (known_extension) return recognised != nullptr ? recognised : first;
  std::vector<std::string_view> extensions;
  for (const NetworkFormat* format : kFormats) {
    if (format->read == nullptr) continue;
    if (format->recognises != nullptr && format->recognises(bytes)) return format;
    extensions.insert(extensions.end(), format->extensions.begin(), format->extensions.end());
  }
  return Error{.kind = ErrorKind::kUnsupported,
               .message = "cannot tell the network's format from the file's extension or contents",
               .where = {.file = path},
               .hint = fmt::format("name it with one of {}", fmt::join(extensions, " "))};
}

bool IsZooName(std::string_view name) {
  const auto zoo = Zoo();
  return std::any_of(zoo.begin(), zoo.end(),
                     [&](const ZooFile& file) { return file.name == name; });
}

// "bert-base:seq=384" taken apart: a zoo name or an existing file, and bindings.
struct Argument {
  std::string name;
  std::string_view bindings;
};

std::optional<Argument> FindNetwork(const std::string& argument) {
  if (IsZooName(argument) || Exists(argument)) return Argument{argument, {}};
  for (size_t colon = argument.find(':'); colon != std::string::npos;
       colon = argument.find(':', colon + 1)) {
    Argument parts{argument.substr(0, colon), std::string_view(argument).substr(colon + 1)};
    if (IsZooName(parts.name) || Exists(parts.name)) return parts;
  }
  return std::nullopt;
}

// A word begins with a letter; everything else has to be a number.
Result<Binding> ParseBinding(std::string_view text) {
  if (IsParameterName(text)) return Binding(std::string(text));
  const Result<int64_t> number = ParseInt(text);
  if (!number) return number.error();
  return Binding(*number);
}

// Whether a name that exists nowhere was meant as a file.
bool LooksLikePath(const std::string& name) {
  if (name == "-" || name.find('/') != std::string::npos) return true;
  const std::string extension = Extension(name);
  return std::any_of(kFormats.begin(), kFormats.end(),
                     [&](const NetworkFormat* format) { return HasExtension(*format, extension); });
}

}  // namespace

std::span<const NetworkFormat* const> NetworkFormats() { return kFormats; }

Result<const NetworkFormat*> FindNetworkFormat(std::string_view name) {
  std::vector<std::string_view> names;
  for (const NetworkFormat* format : kFormats) {
    if (format->name == name) return format;
    names.push_back(format->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown format {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

Result<Network> ReadNetwork(const std::string& path, const Bindings& bindings) {
  const Result<std::string> bytes = ReadFile(path);
  if (!bytes) return bytes.error();
  return ParseNetwork(*bytes, path, bindings);
}

Result<Network> ParseNetwork(std::string_view bytes, const std::string& path,
                             const Bindings& bindings) {
  const Result<const NetworkFormat*> format = FormatOf(path, bytes);
  if (!format) return format.error();
  return (*format)->read(bytes, path, bindings);
}

std::string ToString(const Binding& binding) {
  return binding.word.empty() ? fmt::format("{}", binding.number) : Printable(binding.word);
}

Result<Bindings> ParseBindings(std::string_view text) {
  Bindings bindings;
  for (const std::string_view part : Split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string name(Trim(part.substr(0, equals)));
    if (equals == std::string_view::npos || name.empty()) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("expected NAME=VALUE, found {}", Quoted(part)),
                   .hint = "for example seq=384,past=0"};
    }
    const Result<Binding> value = ParseBinding(Trim(part.substr(equals + 1)));
    if (!value) {
      Error error = value.error();
      error.message = fmt::format("value of {}: {}", Quoted(name), error.message);
      return error;
    }
    if (!bindings.emplace(name, *value).second) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{} has two values", Quoted(name))};
    }
  }
  return bindings;
}

Result<void> RefuseBindings(const Bindings& bindings, const std::string& file) {
  if (bindings.empty()) return {};
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("the file has no parameter {}: its format knows numbers only",
                                      Quoted(bindings.begin()->first)),
               .where = {.file = file}};
}

Result<Network> LoadNetwork(const std::string& name_or_path, const Bindings& bindings) {
  const std::optional<Argument> found = FindNetwork(name_or_path);
  if (!found) {
    if (LooksLikePath(name_or_path)) return ReadNetwork(name_or_path, bindings);
    const std::string name = name_or_path.substr(0, name_or_path.find(':'));
    Error error = LoadZooNetwork(name).error();
    error.message = fmt::format("{} is neither a file nor a zoo network", Quoted(name));
    return error;
  }
  Bindings all = bindings;
  if (!found->bindings.empty()) {
    const Result<Bindings> own = ParseBindings(found->bindings);
    if (!own) return own.error();
    for (const auto& [name, value] : *own) {
      const auto [known, fresh] = all.emplace(name, value);
      if (fresh || known->second == value) continue;
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{} is bound to {} and to {}", Quoted(name),
                                          ToString(known->second), ToString(value))};
    }
  }
  if (IsZooName(found->name)) return LoadZooNetwork(found->name, all);
  return ReadNetwork(found->name, all);
}

}  // namespace tessera
