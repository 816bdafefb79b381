#include "core/counts/sparse_sums.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/runtime/buffer.hpp"
#include "core/runtime/ordered_merge.hpp"
#include "core/encode/labels.hpp"
#include "kernels/sparse_sums.hpp"

namespace tb {
namespace {

constexpr std::size_t kPieces = 32;             // about so many pieces of work at least, if the matrix is large
constexpr std::size_t kSerialValues = 1 << 15;  // stored values that are not worth a piece of their own

std::size_t start_of(const Csr& x, std::size_t i) {
  if (x.index_type == Dtype::i32) return static_cast<std::size_t>(static_cast<const std::int32_t*>(x.start)[i]);
  return static_cast<std::size_t>(static_cast<const std::int64_t*>(x.start)[i]);
}

std::size_t index_of(const Csr& x, std::size_t p) {
  if (x.index_type == Dtype::i32) return static_cast<std::size_t>(static_cast<const std::int32_t*>(x.index)[p]);
  return static_cast<std::size_t>(static_cast<const std::int64_t*>(x.index)[p]);
}

double value_of(const Csr& x, std::size_t p) {
  switch (x.value_type) {
    case Dtype::f64:
      return static_cast<const double*>(x.value)[p];
    case Dtype::f32:
      return static_cast<double>(static_cast<const float*>(x.value)[p]);
    case Dtype::i64:
      return static_cast<double>(static_cast<const std::int64_t*>(x.value)[p]);
    case Dtype::u8:
      return static_cast<double>(static_cast<const std::uint8_t*>(x.value)[p]);
    default:
      return static_cast<double>(static_cast<const std::int32_t*>(x.value)[p]);
  }
}

// Consecutive entries of the list of rows that all belong to one class.
struct Piece {
  std::size_t c, begin, end;
  bool first;  // of its class: writes, does not add
};

// Cut so that neither one large class nor a few leave threads idle, yet a piece is long beside the d sums
// that it must add up at the end. Depends on the data only.
std::vector<Piece> pieces(const Csr& x, const ClassList& rows, std::size_t classes) {
  const std::size_t nnz = start_of(x, x.n);
  const std::size_t most = std::max({nnz / kPieces, 8 * x.d, kSerialValues});
  std::vector<Piece> out;
  for (std::size_t c = 0; c < classes; ++c) {
    std::size_t begin = rows.start[c], load = 0;
    bool first = true;
    for (std::size_t k = begin; k < rows.start[c + 1]; ++k) {
      load += start_of(x, rows.row[k] + 1) - start_of(x, rows.row[k]) + 1;
      if (load < most && k + 1 < rows.start[c + 1]) continue;
      out.push_back({c, begin, k + 1, first});
      first = false;
      begin = k + 1;
      load = 0;
    }
    if (first) out.push_back({c, begin, begin, true});
  }
  return out;
}

struct Task {
  const Csr& x;
  const double* w;
  const double* threshold;
  double* out;
  const ClassList& rows;
  const std::vector<Piece>& piece;
  std::atomic<bool> dirty{false};

  void sum(const Piece& p, double* to) {
    std::fill_n(to, x.d, 0.0);
    const SparseRows s{&x, rows.row.data() + p.begin, p.end - p.begin, w, threshold};
    if (!TB_CALL(add_sparse, s, to)) dirty = true;
  }
};

// The first piece of a class is summed where the answer belongs; later ones aside, and then added in order.
class PieceWorker {
 public:
  explicit PieceWorker(Task& t) : t_(t) {}
  std::optional<BadValue> add(std::size_t b) {
    p_ = t_.piece[b];
    if (p_.first) {
      t_.sum(p_, t_.out + p_.c * t_.x.d);
    } else {
      if (!aside_) aside_ = std::make_unique<Buffer<double>>(t_.x.d);
      t_.sum(p_, aside_->data());
    }
    return std::nullopt;
  }
  void merge() {
    if (p_.first) return;
    double* total = t_.out + p_.c * t_.x.d;
    for (std::size_t j = 0; j < t_.x.d; ++j) total[j] += aside_->data()[j];
  }

 private:
  Task& t_;
  Piece p_{};
  std::unique_ptr<Buffer<double>> aside_;
};

// The first row with a bad value, and the smallest column in it.
[[noreturn]] void throw_bad(const Task& t, const std::int32_t* y) {
  for (std::size_t i = 0; i < t.x.n; ++i) {
    if (y[i] < 0 || (t.w && t.w[i] == 0.0)) continue;
    std::optional<BadValue> worst;
    for (std::size_t p = start_of(t.x, i); p < start_of(t.x, i + 1); ++p) {
      const double v = value_of(t.x, p);
      const bool infinite = !std::isfinite(v);
      if (!infinite && (t.threshold || v >= 0.0)) continue;
      const std::size_t j = index_of(t.x, p);
      if (!worst || j < worst->col) worst = BadValue{infinite ? BadValue::infinite : BadValue::negative, i, j, v};
    }
    if (worst) throw *worst;
  }
  throw std::logic_error("a bad value was seen in a sparse matrix and not found again");
}

// BadValue overflow with the largest value of column j.
[[noreturn]] void throw_overflow(const Task& t, const std::int32_t* y, std::size_t j) {
  BadValue worst{BadValue::overflow, 0, j, 0.0};
  for (std::size_t i = 0; i < t.x.n; ++i) {
    if (y[i] < 0 || (t.w && t.w[i] == 0.0)) continue;
    for (std::size_t p = start_of(t.x, i); p < start_of(t.x, i + 1); ++p) {
      if (index_of(t.x, p) == j && value_of(t.x, p) > worst.value) worst = {BadValue::overflow, i, j, value_of(t.x, p)};
    }
  }
  throw worst;
}

// The first column with a sum that is not finite, or d.
std::size_t first_infinite(const double* out, std::size_t classes, std::size_t d) {
  std::vector<std::size_t> first(classes, d);
  const std::size_t block = std::max<std::size_t>(1, kSerialValues / std::max<std::size_t>(d, 1));
  parallel_for((classes + block - 1) / block, [&](std::size_t b, int) {
    for (std::size_t c = b * block; c < std::min(classes, (b + 1) * block); ++c) {
      double trouble = 0.0;  // 0 * x is 0 for finite x, else NaN
      for (std::size_t j = 0; j < d; ++j) trouble += 0.0 * out[c * d + j];
      for (std::size_t j = 0; trouble != 0.0 && j < d && first[c] == d; ++j) {
        if (!std::isfinite(out[c * d + j])) first[c] = j;
      }
    }
  });
  return classes ? *std::min_element(first.begin(), first.end()) : d;
}

}  // namespace

void csr_sums(const Csr& x, const std::int32_t* y, const double* w, std::size_t classes, const double* threshold,
              double* out) {
  const ClassList rows = rows_by_class(y, w, x.n, classes);
  const std::vector<Piece> all = pieces(x, rows, classes);
  Task t{x, w, threshold, out, rows, all};
  if (start_of(x, x.n) + classes * x.d < kSerialValues) {  // too little for a team of threads
    PieceWorker one(t);
    for (std::size_t b = 0; b < all.size(); ++b) {
      one.add(b);
      one.merge();
    }
  } else {
    InOrder<PieceWorker>().run(all.size(), [&] { return std::make_unique<PieceWorker>(t); });
  }
  if (t.dirty) throw_bad(t, y);
  if (const std::size_t j = first_infinite(out, classes, x.d); j < x.d) throw_overflow(t, y, j);
}

bool check_csr(const Csr& x, std::size_t nnz) {
  if (start_of(x, 0) != 0 || start_of(x, x.n) != nnz)
    throw std::invalid_argument("CSR indptr must run from 0 to the number of stored values");
  for (std::size_t i = 0; i < x.n; ++i) {
    if (start_of(x, i) > start_of(x, i + 1))
      throw std::invalid_argument("CSR indptr falls at row " + std::to_string(i));
  }
  const std::size_t block = std::max<std::size_t>(1, (x.n + 63) / 64);
  std::atomic<bool> outside{false}, falls{false};
  const auto check = [&](std::size_t b, int) {
    bool rising = true;
    const bool inside = TB_CALL(check_sparse, x, b * block, std::min(x.n, (b + 1) * block), rising);
    if (!inside) outside = true;
    if (!rising) falls = true;
  };
  const std::size_t blocks = (x.n + block - 1) / block;
  if (nnz < kSerialValues) {
    for (std::size_t b = 0; b < blocks; ++b) check(b, 0);
  } else {
    parallel_for(blocks, check);
  }
  if (outside) throw std::invalid_argument("a CSR index lies outside 0 .. " + std::to_string(x.d) + " - 1");
  return !falls;
}

}  // namespace tb
