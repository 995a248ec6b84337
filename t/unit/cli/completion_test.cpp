#include "cli/completion.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "config/option_table.h"

namespace sliced::cli {
namespace {

// What bash itself completes: the words of a line, the last of them unfinished.
std::string completed_by_bash(const std::string& words, int unfinished) {
  const bool is_kubectl = words.starts_with("kubectl-sliced ");
  const config::Program program = is_kubectl ? config::Program::kKubectl : config::Program::kNode;
  const auto script =
      std::filesystem::temp_directory_path() / ("sliced-completion-" + std::to_string(getpid()));
  std::ofstream(script) << completion_script(program, "bash") << "COMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=" << unfinished << (is_kubectl ? "\n_kubectl_sliced" : "\n_sliced")
                        << "\nprintf '%s ' \"${COMPREPLY[@]}\"\n";
  std::string out;
  FILE* bash = popen(("bash --norc -u " + script.string() + " 2>&1").c_str(), "r");
  std::array<char, 4096> part{};
  while (bash != nullptr && fgets(part.data(), part.size(), bash) != nullptr) out += part.data();
  if (bash == nullptr || pclose(bash) != 0) out += "<failed>";
  std::filesystem::remove(script);
  return out;
}

TEST(CompletionScript, BashCompletes) {
  const struct {
    const char* words;
    int unfinished;
    const char* wanted;
  } rows[] = {
      {"sliced ex", 1, "explain "},
      {"sliced run --sync", 2, "--sync-interval "},
      {"sliced plan --sync", 2, " "},
      {"sliced plan -o j", 3, "json "},
      {"sliced plan --log-format journald -", 4,
       "--cluster --node-name --node-labels --namespace -n --node-state-namespace --ignore-node-state --host --config -c --sriov-driver-name "
       "--exposure-driver-name --runtime-directory --scheduler-version --kubelet-plugins-directory-path --until-configured --pod-name --pod-namespace --kinds-off --readiness --log-format --log-level --output -o --help -h "},
      {"sliced completion b", 2, "bash "},
      {"sliced match --s", 2, "--sriov-driver-name --slices "},
      {"sliced run --log-format = js", 4, "json "},
      {"sliced run --log-level =", 3, "debug info warning error "},
      {"sliced run --cluster ku", 3, "kubeconfig: "},
      {"sliced help wi", 2, "withdraw "},
      {"sliced --log-level debug va", 3, "validate "},
      {"sliced w", 1, "withdraw wait-for-config "},
      {"kubectl-sliced w", 1, "why "},
      {"kubectl-sliced top --on", 2, "--once "},
  };
  for (const auto& row : rows)
    EXPECT_EQ(completed_by_bash(row.words, row.unfinished), row.wanted) << row.words;
}

TEST(CompletionScript, EveryShellKnowsEveryCommandAndOptionOfTheProgram) {
  for (const auto& program : config::program_table())
    for (const char* shell : {"bash", "zsh", "fish"}) {
      const std::string script = completion_script(program.id, shell);
      for (const auto* command : config::commands_of(program.id))
        EXPECT_NE(script.find(command->name), std::string::npos) << program.name << shell << command->name;
      for (const auto& option : config::option_table())
        EXPECT_EQ(script.find("--" + std::string(option.name)) != std::string::npos ||
                      script.find(" -l " + std::string(option.name)) != std::string::npos,
                  config::takes(program.id, option))
            << program.name << " " << shell << " " << option.name;
    }
  EXPECT_EQ(completion_script(config::Program::kNode, "csh"), "");
}

}  // namespace
}  // namespace sliced::cli
