// The configurations of rows under the parents of chains. The chains of a network begin with the same parents: what
// they share is read once. Only for the files of back_off_chains.hpp.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "core/ensemble/chain_readers.hpp"

namespace tb {

// Some chains, one after another; a node for each list of parents that one of them begins with.
class ParentTrie {
 public:
  ParentTrie(const Chains& chains, std::size_t first) : chains_(chains), first_(first), node_{{0, 0}}, start_{0} {}

  // The next chain.
  void add() {
    const std::size_t i = end();
    std::size_t at = 0;
    of_.push_back(at);
    for (std::int64_t e = chains_.parent_start[i]; e < chains_.parent_start[i + 1]; ++e) {
      const auto [found, fresh] = next_.try_emplace({at, chains_.parent[e]}, node_.size());
      if (fresh) node_.push_back({at, static_cast<std::size_t>(chains_.parent[e])});
      of_.push_back(at = found->second);
    }
    start_.push_back(of_.size());
  }

  std::size_t first() const { return first_; }
  std::size_t end() const { return first_ + start_.size() - 1; }
  std::size_t nodes() const { return node_.size(); }

  // That of chain i with its first l parents.
  std::size_t node(std::size_t i, std::size_t l) const { return of_[start_[i - first_] + l]; }
  std::size_t last(std::size_t i) const { return of_[start_[i - first_ + 1] - 1]; }

  // configuration (nodes, count): of the rows from `from` on; kNoCell without a class, or where a parent is missing.
  // Returns for each node whether a row has none.
  template <class T>
  std::vector<bool> read(const Rows<T>& rows, std::size_t from, std::size_t count, std::uint32_t* configuration) const {
    std::vector<bool> none(node_.size(), false);
    for (std::size_t r = 0; r < count; ++r) configuration[r] = rows.y[from + r] < 0 ? kNoCell : 0;
    none[0] = std::find(configuration, configuration + count, kNoCell) != configuration + count;
    for (std::size_t k = 1; k < node_.size(); ++k) none[k] = read_node(rows, k, from, count, configuration);
    return none;
  }
  // The same of one node, once that which it continues has been read.
  template <class T>
  bool read_node(const Rows<T>& rows, std::size_t k, std::size_t from, std::size_t count,
                 std::uint32_t* configuration) const {
    const auto [parent, view] = node_[k];
    std::uint32_t* here = configuration + k * count;
    std::copy_n(configuration + parent * count, count, here);
    const auto column = static_cast<std::size_t>(chains_.views.column[view]);
    return step_cells(chains_.views, view, rows.codes + column * rows.n + from, here, count);
  }

 private:
  struct Node {
    std::size_t parent, view;
  };
  const Chains& chains_;
  std::size_t first_;
  std::vector<Node> node_;
  std::vector<std::size_t> of_, start_;  // the nodes of each chain, one after another
  std::map<std::pair<std::size_t, std::int32_t>, std::size_t> next_;
};

// All chains in their order, in groups of at most so many nodes (one chain may have more) and chains.
inline std::vector<ParentTrie> parent_tries(const Chains& chains, std::size_t nodes, std::size_t most) {
  std::vector<ParentTrie> out;
  for (std::size_t i = 0; i < chains.count; ++i) {
    if (out.empty() || out.back().nodes() + chains.parents(i) > nodes || i - out.back().first() >= most)
      out.emplace_back(chains, i);
    out.back().add();
  }
  return out;
}

}  // namespace tb
