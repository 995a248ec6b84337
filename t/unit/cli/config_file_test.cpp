#include "cli/config_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.h"
#include "config/option_table.h"
#include "reactor/base/text.h"

namespace sliced::cli {
namespace {

config::Loaded load(const std::string& text) {
  config::ProcessInputs ports;
  ports.env = [](const char*) { return std::nullopt; };
  ports.read_file = [&](const std::string&) -> Result<std::string> { return text; };
  ports.host_name = "worker-1";
  return config::load(config::Program::kNode, {"run", "--config", "/etc/sliced/config.yaml"}, ports);
}

// Each line that shows a setting, without its '#'.
std::vector<std::string> settings(const std::string& file) {
  std::vector<std::string> out;
  for (const std::string_view line : split(file, '\n'))
    if (line.size() > 1 && line[0] == '#' && line[1] != ' ') out.emplace_back(line.substr(1));
  return out;
}

TEST(ConfigFile, TheWrittenFileChangesNothing) {
  const config::Loaded with = load(config_file(config::Program::kNode, "1.2.3")), without = load("");
  EXPECT_EQ(with.problems, std::vector<std::string>{});
  EXPECT_EQ(with.options, without.options);
}

TEST(ConfigFile, ShowsEverySettingOnceAndEachDefaultIsOne) {
  const std::vector<std::string> shown = settings(config_file(config::Program::kNode, "1.2.3"));
  size_t keys = 0;
  std::string all;
  for (const config::OptionInfo& option : config::option_table()) {
    if (option.file_key.empty() || !config::takes(config::Program::kNode, option)) continue;
    ASSERT_LT(keys, shown.size());
    const std::string line = shown[keys++] + "\n";
    EXPECT_TRUE(line.starts_with(std::string(option.file_key) + ": ")) << line;
    if (!option.print(config::Options{}).empty()) all += line;
  }
  EXPECT_EQ(keys, shown.size());
  const config::Loaded loaded = load(all), standard = load("");
  EXPECT_EQ(loaded.problems, std::vector<std::string>{}) << all;
  EXPECT_EQ(loaded.options, standard.options) << "with every comment taken away it says the defaults";
}

TEST(ConfigFile, FitsAScreen) {
  for (const std::string_view line : split(config_file(config::Program::kNode, "1.2.3"), '\n'))
    EXPECT_LE(line.size(), 100u) << line;
}

}  // namespace
}  // namespace sliced::cli
