#include "core/moments/scatter.hpp"

#include <algorithm>
#include <memory>

#include "core/moments/centre_scatter.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSerialCells = 32768;       // cells: fewer are not worth a second thread
constexpr std::size_t kChunks = 32;               // pieces of the table, each with sums of its own
constexpr std::size_t kPrivateBytes = 48u << 20;  // all those sums together, if as many threads work

// Sums about the shifts; a thread's own, or those of the whole table.
struct Sums {
  double* s;     // matrices x d x d, lower triangle
  double* sums;  // (K, d): weighted sum of x - shift
  double* n;     // (K)
  double skipped = 0.0;
};

class Scatter {
 public:
  Scatter(const ClassTable& t, bool pooled, double* n, double* mean, double* low, double* s)
      : t_(t),
        pooled_(pooled),
        d_(t.x.d),
        matrices_(pooled ? 1 : t.classes),
        panel_(TB_CALL(panel_width)),
        panels_((d_ + panel_ - 1) / panel_),
        shift_(class_shifts(t, true)),
        total_{s, mean, n},
        low_(low) {
    std::fill_n(s, matrices_ * d_ * d_, 0.0);
    std::fill_n(mean, t.classes * d_, 0.0);
    std::fill_n(n, t.classes, 0.0);
  }

  double run() {
    const std::size_t bytes = matrices_ * d_ * d_ * sizeof(double);
    if (t_.x.n * d_ < kSerialCells)
      add_chunk_to_total();
    else if (bytes * kChunks <= kPrivateBytes)
      by_rows();
    else
      by_tiles(std::clamp<std::size_t>(bytes, 4u << 20, 32u << 20));
    const ScatterShape shape{t_.classes, d_, pooled_};
    const std::size_t overflow = centre_scatter(shape, shift_.data(), total_.n, total_.sums, low_, total_.s);
    if (overflow < d_) throw_overflow(t_, overflow);
    return total_.skipped;
  }

 private:
  struct Worker {
    Worker(const ClassTable& t, bool by_class) : rows(t, by_class) {}
    RowSpans rows;
    AlignedArray panels, scratch;
    std::vector<double> s, sums, n;  // private sums
    double skipped = 0.0;
    bool infinite = false;
  };

  std::size_t width() const { return panels_ * panel_; }
  double* matrix(double* s, std::size_t c) const { return s + (pooled_ ? 0 : c) * d_ * d_; }

  // Packs a span and strikes its incomplete rows off the list; gives back their weight.
  double pack(RowSpans& rows, Span& span, AlignedArray& scratch, double* panels, bool& infinite) const {
    std::uint32_t kept[kPackRows];
    const std::size_t room = span.count;
    const Packed done = TB_CALL(pack_centred, rows.pick(span, scratch), shift_.data(), room, panels, kept);
    infinite |= done.infinite;
    return rows.keep(span, kept, done.rows);
  }

  void add_weights(const RowSpans& rows, const Span& span, double* n) const {
    const std::uint32_t* cls = rows.cls(span);
    for (std::size_t k = 0; k < span.count; ++k) n[cls[k]] += rows.weight(span.from + k);
  }

  // Everything about rows [begin, end) into `to`, by one thread.
  void add_rows(Worker& w, std::size_t begin, std::size_t end, Sums to) const {
    w.rows.list(begin, end);
    w.panels.at_least(kPackRows * width());
    w.skipped = 0.0;
    w.infinite = false;
    const std::size_t count = w.rows.spans().size();
    for (std::size_t i = 0; i < count; ++i) {
      Span& span = w.rows.span(i);
      const std::size_t room = span.count;
      w.skipped += pack(w.rows, span, w.scratch, w.panels.data(), w.infinite);
      if (span.count == 0) continue;
      add_weights(w.rows, span, to.n);
      const Pack z{w.panels.data(), room, span.count, d_};
      for (std::size_t p = 0; p < panels_; ++p)
        TB_CALL(add_panel_sums, z, p, w.rows.cls(span), w.rows.root(span), to.sums);
      const RowPick next = i + 1 < count ? w.rows.preview(w.rows.span(i + 1)) : RowPick{};
      TB_CALL(add_products, z, 0, panels_, matrix(to.s, w.rows.cls(span)[0]), &next);
    }
  }

  void add_chunk_to_total() {
    Worker w(t_, !pooled_);
    add_rows(w, 0, t_.x.n, total_);
    if (w.infinite) throw_infinite(t_, 0, t_.x.n);
    total_.skipped = w.skipped;
  }

  // Few classes and columns: every thread has sums of its own, and adds them to the total chunk by chunk, in order.
  void by_rows() {
    const std::size_t least = std::max({std::size_t{512}, kSerialCells / d_, 128 * matrices_});
    const std::size_t rows = std::max(least, (t_.x.n + kChunks - 1) / kChunks);
    const std::size_t chunks = (t_.x.n + rows - 1) / rows;
    if (chunks == 1) return add_chunk_to_total();
    std::vector<std::unique_ptr<Worker>> own(static_cast<std::size_t>(threads()));
    parallel_ordered(
        chunks,
        [&](std::size_t chunk, int thread) {
          auto& w = own[static_cast<std::size_t>(thread)];
          if (!w) {
            w = std::make_unique<Worker>(t_, !pooled_);
            w->s.assign(matrices_ * d_ * d_, 0.0);
            w->sums.assign(t_.classes * d_, 0.0);
            w->n.assign(t_.classes, 0.0);
          }
          add_rows(*w, chunk * rows, std::min(t_.x.n, (chunk + 1) * rows), {w->s.data(), w->sums.data(), w->n.data()});
        },
        [&](std::size_t chunk, int thread) {
          if (!own[static_cast<std::size_t>(thread)]) return;  // there was no memory for it: that error is on its way
          Worker& w = *own[static_cast<std::size_t>(thread)];
          if (w.infinite) throw_infinite(t_, chunk * rows, std::min(t_.x.n, (chunk + 1) * rows));
          merge(w);
        });
  }

  void merge(Worker& w) {
    total_.skipped += w.skipped;
    for (std::size_t c = 0; c < t_.classes; ++c) {
      if (w.n[c] == 0.0) continue;
      total_.n[c] += w.n[c];
      w.n[c] = 0.0;
      for (std::size_t at = c * d_; at < (c + 1) * d_; ++at) {
        total_.sums[at] += w.sums[at];
        w.sums[at] = 0.0;
      }
      if (!pooled_) TB_CALL(move_lower, matrix(w.s.data(), c), d_, matrix(total_.s, c));
    }
    if (pooled_) TB_CALL(move_lower, w.s.data(), d_, total_.s);
  }

  // Large matrices: all threads pack a batch of rows, then each works on some rows of the total's matrices.
  void by_tiles(std::size_t bytes) {
    const std::size_t most = std::max<std::size_t>(2 * kPackRows, bytes / (width() * sizeof(double)));
    RowSpans rows(t_, !pooled_);
    AlignedArray panels(std::min(most, t_.x.n) * width());
    for (std::size_t begin = 0; begin < t_.x.n; begin += most) {
      const std::size_t end = std::min(t_.x.n, begin + most);
      rows.list(begin, end);
      add_batch(rows, panels.data(), begin, end);
    }
  }

  void add_batch(RowSpans& rows, double* panels, std::size_t begin, std::size_t end) {
    const std::vector<Span> before = rows.spans();
    const std::size_t count = before.size();
    std::vector<double> lost(count);
    std::vector<std::uint8_t> infinite(count);
    std::vector<AlignedArray> scratch(static_cast<std::size_t>(threads()));
    parallel_for(count, [&](std::size_t i, int thread) {
      bool met = false;
      lost[i] =
          pack(rows, rows.span(i), scratch[static_cast<std::size_t>(thread)], panels + before[i].from * width(), met);
      infinite[i] = met;
    });
    if (std::find(infinite.begin(), infinite.end(), 1) != infinite.end()) throw_infinite(t_, begin, end);
    std::vector<Pack> packs(count);
    for (std::size_t i = 0; i < count; ++i) {
      total_.skipped += lost[i];
      add_weights(rows, rows.spans()[i], total_.n);
      packs[i] = {panels + before[i].from * width(), before[i].count, rows.spans()[i].count, d_};
    }
    multiply_batch(rows, packs);
  }

  // One task: a few rows of panels of one matrix, over all the packs that belong to it.
  struct Task {
    std::size_t first, last;  // packs
    std::size_t from, to;     // panels
  };

  void multiply_batch(const RowSpans& rows, const std::vector<Pack>& packs) {
    // Panels that share what they are multiplied with while it is in cache; fewer if there would be too few tasks.
    const std::size_t together = std::clamp<std::size_t>(panels_ * matrices_ / 8, 6, 18);
    std::vector<Task> tasks;
    for (std::size_t first = 0, last; first < packs.size(); first = last) {
      last = pooled_ ? packs.size() : first + 1;
      const auto class_of = [&](std::size_t i) { return rows.cls(rows.spans()[i])[0]; };
      while (last < packs.size() && class_of(last) == class_of(first)) ++last;
      for (std::size_t to = panels_; to > 0; to -= std::min(to, together)) {  // the longest first
        tasks.push_back({first, last, to - std::min(to, together), to});
      }
    }
    parallel_for(tasks.size(), [&](std::size_t k, int) {
      const Task& task = tasks[k];
      for (std::size_t i = task.first; i < task.last; ++i) {
        const Span& span = rows.spans()[i];
        if (span.count == 0) continue;
        for (std::size_t p = task.from; p < task.to; ++p) {
          TB_CALL(add_panel_sums, packs[i], p, rows.cls(span), rows.root(span), total_.sums);
        }
        TB_CALL(add_products, packs[i], task.from, task.to, matrix(total_.s, rows.cls(span)[0]), nullptr);
      }
    });
  }

  ClassTable t_;
  bool pooled_;
  std::size_t d_, matrices_, panel_, panels_;
  std::vector<double> shift_;
  Sums total_;
  double* low_;
};

}  // namespace

double scatter(const ClassTable& t, bool pooled, double* n, double* mean, double* low, double* s) {
  return Scatter(t, pooled, n, mean, low, s).run();
}

}  // namespace tb
