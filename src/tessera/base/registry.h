// Lists of parts in which a new part is one line: a list macro names type and variable of each
// part,
//
//   #define TESSERA_ENVS(PART) PART(EnvInfo, kNavigationEnv) PART(EnvInfo, kMappingEnv)
//   TESSERA_ENVS(TESSERA_DECLARE_PART)
//   constexpr const EnvInfo* kEnvs[] = {TESSERA_ENVS(TESSERA_PART_ADDRESS)};
//
// declares the parts, which are defined in files of their own, and lists their addresses.
#ifndef TESSERA_BASE_REGISTRY_H_
#define TESSERA_BASE_REGISTRY_H_

#define TESSERA_DECLARE_PART(type, name) extern const type name;
#define TESSERA_PART_ADDRESS(type, name) &name,

// For parts that are made when they are first asked for: functions without arguments.
#define TESSERA_DECLARE_MAKER(type, name) type name();
#define TESSERA_MADE_PART(type, name) name(),

#endif  // TESSERA_BASE_REGISTRY_H_
