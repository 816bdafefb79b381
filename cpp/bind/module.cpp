#include "bind/bind.hpp"

#include "core/dispatch.hpp"
#include "core/threads.hpp"

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of tallybayes.";
  m.def("threads", &tb::threads, "How many threads a call may use.");
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
          static const char* kinds[] = {"infinite", "negative", "code", "overflow"};
          const nb::tuple args = nb::make_tuple(kinds[e.kind], e.row, e.col, e.value);
          PyErr_SetObject(bad_value, args.ptr());
        }
      },
      nullptr);

  tb::bind::bind_columns(m);
  tb::bind::bind_tallies(m);
  tb::bind::bind_tables(m);
  tb::bind::bind_scores(m);
  tb::bind::bind_cuts(m);
  tb::bind::bind_kernel(m);
  tb::bind::bind_levels(m);
  tb::bind::bind_estimates(m);
  tb::bind::bind_row(m);
  tb::bind::bind_discriminant(m);
  tb::bind::bind_discriminant_parts(m);
  tb::bind::bind_joint_counts(m);
  tb::bind::bind_families(m);
  tb::bind::bind_averaged(m);
  tb::bind::bind_left_out(m);
  tb::bind::bind_chains(m);
  tb::bind::bind_ensemble_choices(m);
}
