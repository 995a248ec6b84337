// sliced-controller, the program that runs once per cluster: the admission webhook, and the controller that
// writes the status of policies. controller/commands.cpp lists its commands.
#include "controller/commands.h"

using namespace sliced;

int main(int argc, char** argv) {
  return cli::run_program(config::Program::kController, controller::controller_commands(),
                          {argv + 1, argv + argc});
}
