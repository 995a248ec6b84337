#pragma once
// Converts text to tokens.
#include <cstdint>
#include <string>
#include <string_view>

namespace sliced::cel {

/// kSign: operators, brackets, and words that are operators. kWrong: an invalid token; none follows it.
enum class Token : uint8_t { kEnd, kName, kReserved, kInt, kUint, kDouble, kString, kBytes, kSign, kWrong };

/// Returns one token after the other. `in`, `true`, `false` and `null` are kSign; other words that cannot be
/// names are kReserved. The text outlives it. Skips comments and white space; only content() allocates.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }

  Token token() const { return token_; }
  /// The source text: a name, a number without its suffix, a sign.
  std::string_view spelled() const { return spelled_; }
  /// The value of a string or bytes literal; the error of kWrong. Valid until next().
  const std::string& content() const { return content_; }
  /// Offset of its first byte in the text.
  int32_t offset() const { return static_cast<int32_t>(start_); }
  /// Offset after its last byte.
  int32_t end() const { return static_cast<int32_t>(at_); }
  bool is(std::string_view sign) const { return token_ == Token::kSign && spelled_ == sign; }
  /// Reads the next token; kEnd repeatedly at the end.
  void next();

 private:
  void skip_space();
  void number();
  void lex_word();
  bool quoted();
  bool escape(bool is_bytes);
  bool digits(int count, int base, uint32_t& value);
  void wrong(std::string what);
  bool starts(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  std::string_view text_;
  size_t at_ = 0, start_ = 0;
  Token token_ = Token::kEnd;
  std::string_view spelled_;
  std::string content_;
};

}  // namespace sliced::cel
