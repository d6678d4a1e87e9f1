// What all bindings share: errors of the library as Python exceptions, and what a running call and
// the parts written in Python tell each other.
//
// The Python package (python/tessera) is a thin layer over these bindings; they bind the headers of
// include/tessera and the commands, and decide nothing themselves.
#ifndef TESSERA_PYTHON_SUPPORT_H_
#define TESSERA_PYTHON_SUPPORT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "tessera/result.h"

namespace tessera::python {

namespace nb = nanobind;

// Throws the exception of tessera._errors that has the error's kind, with its place and hint.
[[noreturn]] void Raise(const Error& error);

// The value, or the exception of the error.
template <typename T>
T Value(Result<T> result) {
  if (!result) Raise(result.error());
  return std::move(*result);
}
inline void Value(const Result<void>& result) {
  if (!result) Raise(result.error());
}

Error BadValue(std::string message, std::string hint = "");

// A class of the user's that stands for a part of the library: a searcher, a cost model or an
// environment. Parts live as long as the module. Only threads that hold the GIL touch `made_by`.
struct Part {
  std::string name = {};
  nb::object made_by = {};              // the class, or a function that makes one
  std::atomic<int64_t> exceptions = 0;  // raised so far: runs that use the part stop at the next
};

// A Python object that C++ code holds which may be destroyed without the GIL.
class Held {
 public:
  Held() = default;
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { reset(); }

  nb::object& operator*() { return object_; }
  const nb::object& operator*() const { return object_; }
  void reset() {
    if (!object_.is_valid()) return;
    nb::gil_scoped_acquire gil;
    object_.reset();
  }

 private:
  nb::object object_;
};

// The part of a kind ("method", "model", "env") by name; null if there is none.
Part* FindPart(const std::string& kind, const std::string& name);

// Runs `call` with the GIL; a Python exception is counted, so that the run stops, and passed on.
template <typename Call>
auto InPython(Part& part, Call&& call) {
  nb::gil_scoped_acquire gil;
  try {
    return call();
  } catch (...) {
    ++part.exceptions;
    throw;
  }
}

void BindCommands(nb::module_& module);
void BindNetworks(nb::module_& module);
void BindAccelerators(nb::module_& module);
void BindMappings(nb::module_& module);
void BindEnvs(nb::module_& module);
void BindParts(nb::module_& module);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_SUPPORT_H_
