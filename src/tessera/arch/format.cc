// The list of accelerator formats, and how an ACCELERATOR argument finds its format.
#include "tessera/accelerator.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/part.h"

namespace tessera {

#define TESSERA_ACCELERATOR_FORMATS(PART)               \
  PART(AcceleratorFormat, kNativeAcceleratorFormat)     \
  PART(AcceleratorFormat, kMaestroAcceleratorFormat)    \
  PART(AcceleratorFormat, kTimeloop04AcceleratorFormat) \
  PART(AcceleratorFormat, kTimeloopAcceleratorFormat)

TESSERA_ACCELERATOR_FORMATS(TESSERA_DECLARE_PART)

namespace {

constexpr std::array kFormats = {TESSERA_ACCELERATOR_FORMATS(TESSERA_PART_ADDRESS)};

// A name that exists nowhere was meant as a file if it looks like a path.
bool LooksLikePath(const std::string& name) {
  if (name == "-" || name.find('/') != std::string::npos) return true;
  const std::string extension = std::filesystem::path(name).extension().string();
  return std::any_of(kFormats.begin(), kFormats.end(), [&](const AcceleratorFormat* format) {
    return std::count(format->extensions.begin(), format->extensions.end(), extension) > 0;
  });
}

Error NoSuchPreset(const std::string& name) {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& preset : AcceleratorPresets()) names.push_back(preset.name);
  const std::string hint = DidYouMean(name, names);
  return Error{
      .kind = ErrorKind::kUnknownName,
      .message = fmt::format("{} is neither a file nor an accelerator preset", Quoted(name)),
      .hint = hint.empty() ? "'tessera list accelerators' lists the presets" : hint};
}

}  // namespace

std::span<const AcceleratorFormat* const> AcceleratorFormats() { return kFormats; }

Result<const AcceleratorFormat*> FindAcceleratorFormat(std::string_view name) {
  std::vector<std::string_view> names;
  const AcceleratorFormat* of_tool = nullptr;
  for (const AcceleratorFormat* format : kFormats) {
    if (format->name == name) return format;
    names.push_back(format->name);
    // Versions have longer names than what they are versions of.
    const bool same_tool = format->name.starts_with(fmt::format("{}-", name));
    if (same_tool && (of_tool == nullptr || format->name.size() < of_tool->name.size())) {
      of_tool = format;
    }
  }
  if (of_tool != nullptr) return of_tool;
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown format {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

const AcceleratorFormat* RecogniseAccelerator(std::string_view bytes) {
  const auto found =
      std::find_if(kFormats.begin(), kFormats.end(),
                   [&](const AcceleratorFormat* format) { return format->recognises(bytes); });
  return found == kFormats.end() ? nullptr : *found;
}

Result<Accelerator> ParseAccelerator(std::string_view bytes, const std::string& path) {
  if (const AcceleratorFormat* format = RecogniseAccelerator(bytes)) {
    return format->read(bytes, path);
  }
  // Text that no format knows; what is not even text is said first.
  const Result<std::string> text = ToText(std::string(bytes), path);
  if (!text) return text.error();
  return Error{.kind = ErrorKind::kUnsupported,
               .message = "this is no accelerator in a known format",
               .where = {.file = path},
               .hint = "start it with 'format: tessera-accelerator-1' (docs/accelerators.md)"};
}

Result<Accelerator> ReadAccelerator(const std::string& path) {
  const Result<std::string> bytes = ReadFile(path, {.max_bytes = kMaxTextBytes});
  if (!bytes) return bytes.error();
  return ParseAccelerator(*bytes, path);
}

Result<Accelerator> LoadAccelerator(const std::string& name_or_path) {
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    if (preset.name == name_or_path) return ParseAccelerator(preset.contents, name_or_path);
  }
  std::error_code ignored;
  if (LooksLikePath(name_or_path) || std::filesystem::exists(name_or_path, ignored)) {
    return ReadAccelerator(name_or_path);
  }
  return NoSuchPreset(name_or_path);
}

}  // namespace tessera
