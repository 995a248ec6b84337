#pragma once
// Reads the fields of an API object one by one; keeps the first type error.
//
// Errors: no accessor fails. A field of the wrong type reads as missing, and sets the error that all views of
// one object share; the caller checks it at the end.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::why {

/// A view of a value with its path; the value and the error outlive it. null counts as missing. path: "" for
/// the object itself; then "spec.devices.requests[0].name", and in maps with free keys "requests[key]".
class Fields {
 public:
  Fields(const kube::Json* value, std::string path, Error& error)
      : value_(value != nullptr && value->is_null() ? nullptr : value),
        path_(std::move(path)),
        error_(error) {}

  bool is_there() const { return value_ != nullptr; }
  const kube::Json* value() const { return value_; }
  const std::string& path() const { return path_; }
  /// Returns a member; missing if this is missing. A member of a value that is not a map is an error.
  Fields operator[](std::string_view key) const;

  std::string text() const;  // "" if missing
  bool flag() const;
  int64_t integer(int64_t when_absent) const;
  std::vector<std::string> texts() const;
  /// Both visit in the order of the text; nothing is visited if this is missing, or of another type, which is
  /// an error. Keys are unescaped, and escaped in paths.
  void each(const std::function<void(const Fields& item)>& visit) const;  // of a list
  void each_member(const std::function<void(const std::string& key, const Fields& value)>& visit) const;

  /// Sets kInvalid with the path as prefix, unless there is an earlier error.
  void wrong(std::string what) const;

 private:
  const kube::Json* value_;
  std::string path_;
  Error& error_;
};

}  // namespace sliced::why
