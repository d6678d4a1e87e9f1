// The module tessera._core.
#include "support.h"

#include <array>

#include <nanobind/stl/string.h>

#include "tessera/version.h"

namespace tessera::python {
namespace {

// In the order of ErrorKind; tessera._errors has a class for each.
constexpr std::array<const char*, 11> kKinds = {
    "usage",       "io",         "syntax", "unknown_name", "bad_value", "overflow",
    "unsupported", "infeasible", "budget", "interrupted",  "internal"};

}  // namespace

void Raise(const Error& error) {
  const nb::object made =
      nb::module_::import_("tessera._errors")
          .attr("make")(kKinds[static_cast<size_t>(error.kind)], error.message, error.where.file,
                        error.where.line, error.where.column, error.hint);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

Error BadValue(std::string message, std::string hint) {
  return {.kind = ErrorKind::kBadValue, .message = std::move(message), .hint = std::move(hint)};
}

}  // namespace tessera::python

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  nb::set_leak_warnings(false);  // parts of users live as long as the process
  module.doc() = "The bindings of Tessera's C++ library; use the package tessera.";
  module.attr("__version__") = TESSERA_VERSION_STRING;
  tessera::python::BindCommands(module);
  tessera::python::BindNetworks(module);
  tessera::python::BindAccelerators(module);
  tessera::python::BindMappings(module);
  tessera::python::BindEnvs(module);
  tessera::python::BindParts(module);
}
