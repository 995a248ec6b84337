#pragma once
// Reading the fields of an API object one by one; the first of a wrong shape is kept.
//
// Errors: no accessor fails. What is of a wrong shape reads as if it were absent, and goes to the error that
//         all views of one object share; whoever began looks at that once, when everything is read.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "kube/objects/json.h"
#include "reactor/base/result.h"

namespace sliced::allocation {

/// A view of a value with the path that leads to it; the value and the error outlive it.
/// null counts as absent.
/// path: "" for the object itself; then "spec.devices.requests[0].name", and in maps with free keys "requests[key]".
class Fields {
 public:
  Fields(const kube::Json* value, std::string path, Error& error)
      : value_(value != nullptr && value->is_null() ? nullptr : value),
        path_(std::move(path)),
        error_(error) {}

  bool is_there() const { return value_ != nullptr; }
  const kube::Json* value() const { return value_; }
  const std::string& path() const { return path_; }
  /// A member; absent where this is absent. Of what is no map it is an error.
  Fields operator[](std::string_view key) const;

  std::string text() const;  // "" when absent
  bool flag() const;
  int64_t integer(int64_t when_absent) const;
  std::vector<std::string> texts() const;
  /// Both in the order of the text; nothing is visited where this is absent, or of another kind, which is an
  /// error. Keys are given as they stand there, and escaped in paths.
  void each(const std::function<void(const Fields& item)>& visit) const;  // of a list
  void each_member(const std::function<void(const std::string& key, const Fields& value)>& visit) const;

  /// kInvalid with the path in front; kept only where nothing was wrong before.
  void wrong(std::string what) const;

 private:
  const kube::Json* value_;
  std::string path_;
  Error& error_;
};

}  // namespace sliced::allocation
