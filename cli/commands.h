#pragma once
// The subcommands. Each takes loaded options, does its work and returns the exit code; main.cpp chooses.
#include "config/load.h"
#include "config/options.h"

namespace sliced::cli {

int run(const config::Options& options, const std::vector<std::string>& arguments);  // arguments: for SIGHUP
int plan(const config::Options& options);
int explain(const config::Options& options);
int discover(const config::Options& options);
int match(const config::Options& options);
int validate(const config::Options& options);
int withdraw(const config::Options& options);

}  // namespace sliced::cli
