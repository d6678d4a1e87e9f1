// What a flag may be, from the lists that the library keeps.
#ifndef TESSERA_CLI_CHOICES_H_
#define TESSERA_CLI_CHOICES_H_

#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

// The names of a registry's entries, or of what it points to.
template <typename Entries>
std::vector<std::string> NamesOf(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(entry)>>) {
      names.emplace_back(entry->name);
    } else {
      names.emplace_back(entry.name);
    }
  }
  return names;
}

// A constant list of names as Flag::choices.
template <const auto& kNames>
std::vector<std::string> AsChoices() {
  return {kNames.begin(), kNames.end()};
}

}  // namespace tessera

#endif  // TESSERA_CLI_CHOICES_H_
