// The Python class _core.LevelList: the first so many labels of a store that only ever grows by appending. Lists of
// one column share the store, so that to learn and to ask cost what the rows cost, however many labels there are.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "bind/bind.hpp"
#include "core/encode/known_levels.hpp"
#include "core/runtime/fork_mutex.hpp"

namespace tb::bind {

// Changed only with the GIL held and the mutex locked; so it may be read with either.
struct LevelStore {
  Dictionary words;                // texts and numbers by their codes; any other label holds its code here
  std::vector<nb::object> labels;  // by code; null: a text of `words` that nobody has asked for yet
  nb::dict others;                 // labels that are neither texts nor numbers -> code
  ForkMutex mutex;
};

struct LevelList {
  std::shared_ptr<LevelStore> store;
  std::size_t size = 0;  // later labels of the store belong to other lists

  Known known() const { return {store->words, size}; }
};

const LevelList& level_list(nb::handle x);  // throws nb::type_error if it is none

// Keeps the stores of some lists as they are while the GIL is released; made after it is.
class Reading {
 public:
  explicit Reading(std::vector<const LevelList*> lists);

 private:
  std::vector<std::shared_lock<ForkMutex>> locks_;
};

// A label on its way to its code. NaN and None are no labels; the caller takes them out.
class Label {
 public:
  explicit Label(nb::handle x);
  std::int32_t find(const Known& known) const;  // not for others
  std::int32_t add(Known& known) const;
  bool other() const { return kind_ == Kind::other; }

 private:
  enum class Kind { text, word, other };
  bool as_integer(nb::handle x);
  bool as_real(nb::handle x);

  Kind kind_ = Kind::other;
  std::string_view text_;  // of the object, which must stay alive
  Word word_;
};

// Labels of any type to codes; needs the GIL throughout. What is new is gathered until grown() takes it over.
class LabelReader {
 public:
  explicit LabelReader(const LevelList& list) : list_(list), known_(list.known()) {}
  std::int32_t find(nb::handle x) const;
  std::int32_t add(nb::handle x);  // of one that find did not find
  std::size_t size() const { return known_.size(); }
  nb::object grown(nb::handle list);
  void fill(LevelStore& empty);  // the same for a store that nobody has yet

 private:
  std::int32_t find_other(nb::handle x) const;

  const LevelList list_;
  Known known_;
  nb::dict strangers_;  // new ones that are neither texts nor numbers -> code
  std::vector<nb::object> added_;
};

// The list with what was gathered while it was read, its labels as Python has them: itself if that is nothing, else
// a longer one. The last list of a store appends to it; an earlier one makes a store of its own, unless it goes on as
// the store does.
nb::object grown(nb::handle list, Known& known, std::vector<nb::object> labels);

// What a number is to Python, as a label: that depends on the column it came from. plain: an int if it is whole.
enum class NumberKind { boolean, integer, real, plain };

// The same for texts and numbers alone.
nb::object grown(nb::handle list, Known& known, NumberKind kind);

}  // namespace tb::bind
