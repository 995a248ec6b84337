#include "cel/lexer.h"

#include <algorithm>

#include "cel/lib/ascii.h"
#include "reactor/base/text.h"

namespace sliced::cel {
namespace {

constexpr std::string_view kReserved[] = {"as",       "break",  "const",  "continue", "else", "for",
                                          "function", "if",     "import", "let",      "loop", "namespace",
                                          "package",  "return", "var",    "void",     "while"};
constexpr std::string_view kSigns[] = {"==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "-", "+", "*",
                                       "/",  "%",  "?",  ":",  ",",  ".",  "(", ")", "[", "]", "{", "}"};

bool starts_name(char c) { return is_letter(c) || c == '_'; }
int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace

void Lexer::wrong(std::string what) {
  token_ = Token::kWrong;
  content_ = std::move(what);
  at_ = text_.size();
}

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f')
      ++at_;
    else if (starts("//"))
      at_ = std::min(text_.find('\n', at_), text_.size());
    else
      return;
  }
}

void Lexer::next() {
  if (token_ == Token::kWrong) return;
  skip_space();
  start_ = at_;
  spelled_ = {};
  if (at_ == text_.size()) {
    token_ = Token::kEnd;
    return;
  }
  const char c = text_[at_];
  const bool is_fraction = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
  if (is_digit(c) || is_fraction) return number();
  if (quoted()) return;
  if (starts_name(c)) return lex_word();
  for (const std::string_view sign : kSigns) {
    if (!starts(sign)) continue;
    token_ = Token::kSign;
    spelled_ = text_.substr(at_, sign.size());
    at_ += sign.size();
    return;
  }
  size_t length = 1;
  while (at_ + length < text_.size() && (text_[at_ + length] & 0xC0) == 0x80) ++length;
  const bool is_assignment = text_[at_] == '=';  // a single one: == is an operator of its own
  wrong("unexpected " + in_quotes(text_.substr(at_, length), 16) +
        (is_assignment ? "; did you mean ==?" : ""));
}

void Lexer::lex_word() {
  while (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_]))) ++at_;
  spelled_ = text_.substr(start_, at_ - start_);
  token_ = Token::kName;
  if (spelled_ == "in" || spelled_ == "true" || spelled_ == "false" || spelled_ == "null")
    token_ = Token::kSign;
  else if (std::find(std::begin(kReserved), std::end(kReserved), spelled_) != std::end(kReserved))
    token_ = Token::kReserved;
}

void Lexer::number() {
  const auto digits_while = [&](auto is_part) {
    const size_t from = at_;
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return at_ > from;
  };
  token_ = Token::kInt;
  if (starts("0x")) {
    at_ += 2;
    if (!digits_while([](char c) { return digit_of(c) < 16; }))
      return wrong("0x requires hexadecimal digits");
  } else {
    digits_while(is_digit);
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
      ++at_;
      digits_while(is_digit);
      token_ = Token::kDouble;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      const size_t back = at_++;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (digits_while(is_digit))
        token_ = Token::kDouble;
      else
        at_ = back;
    }
  }
  spelled_ = text_.substr(start_, at_ - start_);
  if (token_ == Token::kInt && at_ < text_.size() && (text_[at_] == 'u' || text_[at_] == 'U')) {
    token_ = Token::kUint;
    ++at_;
  }
  if (at_ < text_.size() && (starts_name(text_[at_]) || is_digit(text_[at_])))
    wrong("unexpected " + in_quotes(text_.substr(at_, 1)) + " in a number");
}

// Reads a string or bytes literal with its prefixes; returns false if none begins here.
bool Lexer::quoted() {
  size_t at = at_;
  const auto accept_prefix = [&](char lower, char upper) {
    const bool is_there = at < text_.size() && (text_[at] == lower || text_[at] == upper);
    at += is_there ? 1 : 0;
    return is_there;
  };
  const bool is_bytes = accept_prefix('b', 'B');  // before the r, as in cel-go's grammar
  const bool is_raw = accept_prefix('r', 'R');
  if (at == text_.size() || (text_[at] != '"' && text_[at] != '\'')) return false;
  const std::string three(3, text_[at]);
  at_ = at;
  const std::string_view end = starts(three) ? std::string_view(three) : std::string_view(three).substr(0, 1);
  at_ += end.size();
  content_.clear();
  while (!starts(end)) {
    if (at_ == text_.size() || (end.size() == 1 && (text_[at_] == '\n' || text_[at_] == '\r'))) {
      wrong("a string without its closing quote");
      return true;
    }
    if (text_[at_] != '\\' || is_raw) {
      content_ += text_[at_++];
    } else if (!escape(is_bytes)) {
      if (token_ != Token::kWrong) wrong("an escape that strings do not have");
      return true;
    }
  }
  at_ += end.size();
  token_ = is_bytes ? Token::kBytes : Token::kString;
  return true;
}

bool Lexer::digits(int count, int base, uint32_t& value) {
  value = 0;
  for (int i = 0; i < count; ++i, ++at_) {
    if (at_ == text_.size() || digit_of(text_[at_]) >= base) return false;
    value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit_of(text_[at_]));
  }
  return true;
}

bool Lexer::escape(bool is_bytes) {
  if (++at_ == text_.size()) return false;
  const char c = text_[at_];
  static constexpr std::string_view kFrom = "abfnrtv\\?\"'`", kTo = "\a\b\f\n\r\t\v\\?\"'`";
  if (const size_t simple = kFrom.find(c); simple != std::string_view::npos) {
    content_ += kTo[simple];
    ++at_;
    return true;
  }
  uint32_t value = 0;
  bool is_octet = true;
  if (c >= '0' && c <= '3') {
    if (!digits(3, 8, value)) return false;
  } else if (c == 'x' || c == 'X') {
    ++at_;
    if (!digits(2, 16, value)) return false;
  } else if (c == 'u' || c == 'U') {
    ++at_;
    is_octet = false;
    if (is_bytes || !digits(c == 'u' ? 4 : 8, 16, value)) return false;
  } else {
    return false;
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return false;
  if (is_octet && is_bytes)
    content_ += static_cast<char>(value);
  else
    append_utf8(content_, value);
  return true;
}

}  // namespace sliced::cel
