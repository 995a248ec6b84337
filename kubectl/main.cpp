// kubectl-sliced, the plugin of kubectl: why pods wait for devices, and which devices all nodes offer. It
// runs on a workstation, without root and without the libraries that read hardware. kubectl/commands.cpp
// lists its commands.
#include "kubectl/commands.h"

using namespace sliced;

int main(int argc, char** argv) {
  return cli::run_program(config::Program::kKubectl, kubectl::kubectl_commands(), {argv + 1, argv + argc});
}
