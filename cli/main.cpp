// sliced, the program of a node: it keeps the network devices that the API server offers of this node equal
// to those that the policies allow. cli/commands.cpp lists its commands; daemon/run.cpp composes the daemon.
#include <string>
#include <vector>

#include "cli/commands.h"
#include "daemon/attach_helper.h"
#include "daemon/bind_helper.h"
#include "daemon/console.h"

using namespace sliced;

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == daemon::kBindHelper) {
    daemon::open_standard_files();
    return daemon::bind_helper({arguments.begin() + 1, arguments.end()});
  }
  if (!arguments.empty() && arguments[0] == daemon::kAttachHelper) {
    daemon::open_standard_files();
    return daemon::attach_helper({arguments.begin() + 1, arguments.end()});
  }
  return cli::run_program(config::Program::kNode, cli::node_commands(), arguments);
}
