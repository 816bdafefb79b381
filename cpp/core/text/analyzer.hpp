// A text to words, or to runs of characters: what scikit-learn's CountVectorizer finds, by its default pattern
// (?u)\b\w\w+\b, in texts that are made small first; and characters one and two at a time where a script has no spaces.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/text/characters.hpp"
#include "core/text/texts.hpp"

namespace tb {

struct Analysis {
  enum Unit : std::uint8_t { words, characters, by_script };
  Unit unit = by_script;
  std::size_t low = 1, high = 1;  // how many units a piece has
  bool lowercase = true;
};

class Analyzer {
 public:
  explicit Analyzer(const Analysis& how) : how_(how), all_(Characters::all()) {
    for (std::uint32_t c = 0; c < 128; ++c) {
      if (all_.is(c, Characters::word)) plain_[c] = static_cast<char>(how.lowercase ? all_.lower(c) : c);
    }
  }

  // emit(p, len) for each piece; 16 bytes may be read at p. Throws NotUtf8.
  template <class Emit>
  void pieces(const TextRef& text, Emit&& emit) {
    make_room(text);
    with_reader(text, [&](const auto& t) {
      if (how_.unit == Analysis::characters) {
        spread(t);
        grams(how_.low, how_.high, emit);
      } else {
        split(t, emit);
      }
    });
  }

 private:
  // Small letters take at most twice as many bytes as the capitals had in UTF-8; a unit becomes at most 4.
  void make_room(const TextRef& text) {
    const std::size_t least = 4 * text.units() + 64;
    if (least <= room_) return;
    room_ = least + least / 2;
    buffer_.reset(new char[room_]);
  }

  // put(c) for the character at i, made small if that is asked; i moves behind it.
  template <class Text, class Put>
  void read(const Text& t, std::size_t& i, Put&& put) const {
    const std::size_t at = i;
    const std::uint32_t c = t.next(i);
    if (!how_.lowercase) return put(c);
    if (c == kSigma) return put(ends_word(t, at, i) ? kFinalSigma : kSmallSigma);
    put(all_.lower(c));
    if (c == kDotted) put(kDotAbove);
  }

  // Does the sigma at `at` end a word? A letter comes before it and none after it, those that are ignored apart.
  template <class Text>
  bool ends_word(const Text& t, std::size_t at, std::size_t after) const {
    bool letter = false;
    for (std::size_t i = at; i > 0;) {
      const std::uint8_t flags = all_.flags(t.before(i));
      if ((flags & Characters::ignored) != 0) continue;
      letter = (flags & Characters::cased) != 0;
      break;
    }
    for (std::size_t i = after; letter && i < t.n;) {
      const std::uint8_t flags = all_.flags(t.next(i));
      if ((flags & Characters::ignored) == 0) return (flags & Characters::cased) == 0;
    }
    return letter;
  }

  void put(std::uint32_t c) { end_ = put_utf8(c, end_); }

  // Words. One after the other lie in the buffer with a space between, so that several of them are one piece of it.
  template <class Text, class Emit>
  void split(const Text& t, Emit&& emit) {
    restart();
    for (std::size_t i = 0; i < t.n;) {
      const std::uint32_t unit = t.unit(i);
      if (unit < 128) [[likely]] {
        ++i;
        const char c = plain_[unit];
        if (c == 0) {
          end_word(emit);
        } else {
          if (!stretch_.empty()) [[unlikely]]
            end_stretch(emit);
          *end_++ = c;
          ++length_;
        }
        continue;
      }
      read(t, i, [&](std::uint32_t c) { take(c, emit); });
    }
    end_word(emit);
    end_stretch(emit);
  }

  template <class Emit>
  void take(std::uint32_t c, Emit&& emit) {
    const std::uint8_t flags = all_.flags(c);
    if (how_.unit == Analysis::by_script && (flags & Characters::unspaced) != 0) {
      if (stretch_.empty()) {
        end_word(emit);
        restart();
      }
      stretch_.push_back(static_cast<std::size_t>(end_ - buffer_.get()));
      put(c);
    } else if ((flags & Characters::word) != 0) {
      if (!stretch_.empty()) end_stretch(emit);
      put(c);
      ++length_;
    } else {
      end_word(emit);
    }
  }

  void restart() {
    end_ = word_ = buffer_.get();
    length_ = 0;
    starts_.clear();
    stretch_.clear();
  }

  template <class Emit>
  void end_word(Emit&& emit) {
    if (!stretch_.empty()) return end_stretch(emit);
    if (length_ < 2) {  // a word of one letter is none
      end_ = word_;
      length_ = 0;
      return;
    }
    if (how_.high == 1) {
      emit(word_, static_cast<std::size_t>(end_ - word_));
      end_ = word_;
    } else {
      starts_.push_back(static_cast<std::size_t>(word_ - buffer_.get()));
      for (std::size_t n = how_.low; n <= how_.high && n <= starts_.size(); ++n) {
        const char* from = buffer_.get() + starts_[starts_.size() - n];
        emit(from, static_cast<std::size_t>(end_ - from));
      }
      *end_++ = ' ';
      word_ = end_;
    }
    length_ = 0;
  }

  // Characters one and two at a time.
  template <class Emit>
  void end_stretch(Emit&& emit) {
    if (stretch_.empty()) return;
    starts_.swap(stretch_);
    grams(1, 2, emit);
    restart();
  }

  // The whole text into the buffer, several white characters as one space.
  template <class Text>
  void spread(const Text& t) {
    restart();
    std::size_t white = 0;
    std::uint32_t last = 0;
    const auto flush = [&] {
      if (white > 0) {
        starts_.push_back(static_cast<std::size_t>(end_ - buffer_.get()));
        put(white == 1 ? last : ' ');
      }
      white = 0;
    };
    for (std::size_t i = 0; i < t.n;) {
      read(t, i, [&](std::uint32_t c) {
        if (all_.is(c, Characters::white)) {
          last = c;
          ++white;
          return;
        }
        flush();
        starts_.push_back(static_cast<std::size_t>(end_ - buffer_.get()));
        put(c);
      });
    }
    flush();
  }

  // Runs of low .. high of the characters that start at starts_.
  template <class Emit>
  void grams(std::size_t low, std::size_t high, Emit&& emit) {
    const std::size_t count = starts_.size();
    const char* const base = buffer_.get();
    for (std::size_t n = low; n <= high && n <= count; ++n) {
      for (std::size_t i = 0; i + n <= count; ++i) {
        const char* last = i + n < count ? base + starts_[i + n] : end_;
        emit(base + starts_[i], static_cast<std::size_t>(last - base) - starts_[i]);
      }
    }
  }

  Analysis how_;
  const Characters& all_;
  char plain_[128] = {};  // of an ASCII letter or digit what it becomes; else 0
  std::unique_ptr<char[]> buffer_;
  std::size_t room_ = 0;
  char* end_ = nullptr;
  char* word_ = nullptr;    // where the word at hand starts
  std::size_t length_ = 0;  // how many characters it has
  std::vector<std::size_t> starts_, stretch_;
};

}  // namespace tb
