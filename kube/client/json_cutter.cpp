#include "kube/client/json_cutter.h"

#include <algorithm>
#include <utility>

#include "kube/objects/json.h"
#include "reactor/base/text.h"

namespace sliced::kube {
namespace {

constexpr size_t kPieceCapacityKept = 256u << 10;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_scalar_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == 'E';
}

}  // namespace

JsonCutter::JsonCutter(std::string list_key, size_t piece_bytes_max, Handlers handlers)
    : list_key_(std::move(list_key)), piece_bytes_max_(piece_bytes_max), handlers_(std::move(handlers)) {}

Result<Unit> JsonCutter::feed(std::string_view bytes) {
  while (!bytes.empty() && !error_) {
    const size_t consumed = step(bytes);
    offset_ += consumed;
    bytes.remove_prefix(consumed);
  }
  if (error_) return *error_;
  return Unit{};
}

Result<Unit> JsonCutter::finish() {
  if (!error_ && at_ != At::kDone) fail(Errc::kInvalid, "the text ends too early");
  if (error_) return *error_;
  return Unit{};
}

void JsonCutter::fail(Errc code, std::string what) {
  error_ = Error{code, std::move(what) + " (byte " + std::to_string(offset_) + ")"};
}

// Compares the decoded key.
void JsonCutter::unescape_key() {
  const auto name = decode_json("\"" + key_ + "\"");
  if (name && name->string() != nullptr)
    key_ = *name->string();
  else
    fail(Errc::kInvalid, "a member's name cannot be read");
}

size_t JsonCutter::step(std::string_view rest) {
  if (in_ != In::kNone) return inside(rest);
  if (!is_space(rest[0])) between(rest[0]);
  // A value's first character belongs to the piece, except the quote that opens a key.
  return in_ == In::kNone || in_ == In::kKey ? 1 : 0;
}

void JsonCutter::between(char c) {
  switch (at_) {
    case At::kStart:
      if (c == '{') {
        at_ = At::kKeyOrEnd;
        return;
      }
      break;
    case At::kKeyOrEnd:
      if (c == '}') {
        at_ = At::kDone;
        return;
      }
      [[fallthrough]];
    case At::kKey:
      if (c == '"') {
        in_ = In::kKey;
        return;
      }
      break;
    case At::kColon:
      if (c == ':') {
        at_ = At::kValue;
        return;
      }
      break;
    case At::kValue:
      if (key_ != list_key_ || list_key_.empty()) return begin_value(c);
      if (std::exchange(has_list_, true)) return fail(Errc::kInvalid, "\"" + key_ + "\" is there twice");
      if (c == 'n') return begin_value(c);
      if (c != '[') return fail(Errc::kInvalid, "\"" + key_ + "\" is not a list");
      in_list_ = true;
      at_ = At::kItemOrEnd;
      return;
    case At::kCommaOrEnd:
      if (c == ',') {
        at_ = At::kKey;
        return;
      }
      if (c == '}') {
        at_ = At::kDone;
        return;
      }
      break;
    case At::kItemOrEnd:
    case At::kItemCommaOrEnd:
      if (c == ']') {
        in_list_ = false;
        at_ = At::kCommaOrEnd;
        return;
      }
      if (at_ == At::kItemOrEnd) return begin_value(c);
      if (c == ',') {
        at_ = At::kItem;
        return;
      }
      break;
    case At::kItem:
      return begin_value(c);
    case At::kDone:
      return fail(Errc::kInvalid, "there is text behind the object");
  }
  fail(Errc::kInvalid, "unexpected " + in_quotes(std::string_view(&c, 1)));
}

void JsonCutter::begin_value(char c) {
  if (c == '{' || c == '[') {
    in_ = In::kBrackets;
  } else if (c == '"') {
    in_ = In::kString;
  } else if (is_scalar_char(c)) {
    in_ = In::kScalar;
  } else {
    return fail(Errc::kInvalid,
                "unexpected " + in_quotes(std::string_view(&c, 1)) + " where a value should be");
  }
  depth_ = 0;
  in_string_ = escaped_ = false;
}

// Consumes the bytes of `rest` that belong to the piece; at least one byte unless the piece ends before it.
size_t JsonCutter::inside(std::string_view rest) {
  size_t consumed = 0;
  bool ended = false;
  while (consumed < rest.size() && !ended) {
    const char c = rest[consumed];
    if (in_ == In::kScalar) {
      if (!is_scalar_char(c)) break;
      ++consumed;
      continue;
    }
    ++consumed;
    if (escaped_) {
      escaped_ = false;
    } else if (in_string_ || in_ == In::kKey) {
      if (c == '\\') escaped_ = true;
      if (c == '"') in_string_ = false, ended = in_ != In::kBrackets;
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      ended = --depth_ == 0;
    }
  }
  const size_t room = piece_bytes_max_ - std::min(piece_.size(), piece_bytes_max_);
  piece_.append(rest.substr(0, in_list_ ? std::min(consumed, room) : consumed));
  const bool is_key = in_ == In::kKey;
  if (piece_.size() > (is_key ? kKeyBytesMax + 1 : piece_bytes_max_)) {  // a key's closing quote is with it
    const std::string key = escaped(is_key ? piece_ : key_, 64);
    fail(Errc::kTooLarge,
         is_key ? "a key is longer than " + std::to_string(kKeyBytesMax) + " bytes: \"" + key + "\""
                : "\"" + key + "\" has a value larger than " + std::to_string(piece_bytes_max_) + " bytes");
  } else if (ended || (in_ == In::kScalar && consumed < rest.size())) {
    end_piece();
  }
  return consumed;
}

void JsonCutter::end_piece() {
  if (std::exchange(in_, In::kNone) == In::kKey) {
    piece_.pop_back();  // the closing quote
    key_ = std::exchange(piece_, {});
    at_ = At::kColon;
    return key_.find('\\') == std::string::npos ? void() : unescape_key();
  }
  const bool is_list = key_ == list_key_ && !list_key_.empty();
  if (is_list && !in_list_ && piece_ != "null") return fail(Errc::kInvalid, "\"" + key_ + "\" is not a list");
  at_ = in_list_ ? At::kItemCommaOrEnd : At::kCommaOrEnd;
  const bool should_continue =
      in_list_ ? handlers_.on_item(piece_) : is_list || handlers_.on_member(key_, piece_);
  if (!should_continue) return fail(Errc::kCanceled, "canceled");
  piece_.clear();
  if (piece_.capacity() > kPieceCapacityKept) piece_.shrink_to_fit();
}

}  // namespace sliced::kube
