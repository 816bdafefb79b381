#include "bind/bind.hpp"
#include "bind/streams.hpp"

#include "core/runtime/dispatch.hpp"
#include "core/runtime/isa_choice.hpp"
#include "core/runtime/threads.hpp"

namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "Clang " __clang_version__;
#else
constexpr const char* kCompiler = "GCC " __VERSION__;
#endif

// compiled, supported, used, why; used is that of the choice, whatever tests have lowered it to.
nb::tuple isa_choice() {
  nb::list compiled, supported;
  for (const tb::Isa isa : tb::compiled_isas()) {
    compiled.append(tb::name_of(isa));
    if (isa <= tb::supported_isa()) supported.append(tb::name_of(isa));
  }
  const tb::IsaChoice& choice = tb::isa_choice();
  return nb::make_tuple(compiled, supported, tb::name_of(choice.isa), choice.why.c_str());
}

void warn_about_isa() {
  const std::string complaint = tb::complaint_about(tb::wanted_isa(), tb::supported_isa());
  if (!complaint.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, complaint.c_str(), 1) < 0) nb::raise_python_error();
}

}  // namespace

// By this symbol threadpoolctl tells this library from others whose file is called _core too:
// src/tallybayes/utils/blas.py.
extern "C" NB_EXPORT int tallybayes_threads() { return tb::threads(); }

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // a model that is alive when the interpreter ends is no mistake
  m.doc() = "The compiled core of tallybayes.";
  warn_about_isa();
  m.attr("COMPILER") = kCompiler;
  m.def("threads", &tb::threads, "How many threads a call may use.");
  m.def("limit_threads", &tb::limit_threads, nb::arg("most"),
        "Let calls of this thread use no more threads than this; below 1 lifts the limit.");
  m.def("isa_choice", &isa_choice, "Instruction sets: compiled, supported by the processor, the one used, and why.");
  m.def("isa", [] { return static_cast<int>(tb::isa()); }, "The instruction set in use: 0 base, 1 AVX2, 2 AVX-512.");
  m.def(
      "limit_isa",
      [](int most) {
        tb::limit_isa(static_cast<tb::Isa>(most < 0 ? 0 : most > 2 ? 2 : most));
      },
      nb::arg("most"), "Use no more than this instruction set (for tests); 2 lifts the limit.");

  // BadValue(kind, row, col, value): the table holds a value the model cannot take.
  static PyObject* bad_value = tb::bind::new_error(m, "BadValue");
  m.attr("BadValue") = nb::borrow(bad_value);
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const tb::BadValue& e) {
          static const char* kinds[] = {"infinite", "negative", "code", "overflow", "utf8"};
          const nb::tuple args = nb::make_tuple(kinds[e.kind], e.row, e.col, e.value);
          PyErr_SetObject(bad_value, args.ptr());
        }
      },
      nullptr);

  // Memory that is not to be had is an error of this library too (errors.py, which needs no other module of it).
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const std::bad_alloc&) {
          const nb::object error = nb::module_::import_("tallybayes.errors").attr("OutOfMemoryError");
          PyErr_SetString(error.ptr(),
                          "There is not enough memory for this model and table. Give fewer rows at a time, fewer "
                          "classes, columns or levels, or a simpler model.");
        }
      },
      nullptr);

  tb::bind::bind_columns(m);
  tb::bind::bind_statistics(m);
  tb::bind::bind_tables(m);
  tb::bind::bind_scores(m);
  tb::bind::bind_cuts(m);
  tb::bind::bind_levels(m);
  tb::bind::bind_words(m);
  tb::bind::bind_estimates(m);
  tb::bind::bind_row(m);
  tb::bind::bind_kernel(m);
  tb::bind::bind_discriminant(m);
  tb::bind::bind_discriminant_parts(m);
  tb::bind::bind_fast_matrix(m);
  tb::bind::bind_joint_counts(m);
  tb::bind::bind_families(m);
  tb::bind::bind_averaged(m);
  tb::bind::bind_leave_one_out(m);
  tb::bind::bind_chains(m);
  tb::bind::bind_ensemble_choices(m);
  tb::bind::bind_boosting(m);
  tb::bind::bind_neighbors(m);
  tb::bind::bind_level_scores(m);
  tb::bind::bind_streams(m);
}
