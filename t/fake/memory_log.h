#pragma once
// Keeps log lines for tests that check the lines and their number.
#include <string>
#include <vector>

#include "reactor/base/log.h"

namespace sliced::fake {

class MemoryLog final : public Log {
 public:
  void line(Level level, std::string_view message, std::initializer_list<Field> fields) override {
    std::string text(message);
    for (const Field& field : fields) text += " " + std::string(field.key) + "=" + field.value;
    lines.push_back({level, std::move(text)});
  }
  /// Lines that contain the text.
  size_t count(std::string_view text) const {
    size_t found = 0;
    for (const auto& entry : lines) found += entry.text.find(text) != std::string::npos ? 1 : 0;
    return found;
  }
  std::string all() const {
    std::string text;
    for (const auto& entry : lines) text += entry.text + "\n";
    return text;
  }
  struct Entry {
    Level level;
    std::string text;
  };
  std::vector<Entry> lines;
};

}  // namespace sliced::fake
