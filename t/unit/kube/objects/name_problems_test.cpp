#include "kube/objects/name_problems.h"

#include <gtest/gtest.h>

namespace sliced::kube {
namespace {

TEST(NameProblems, AcceptsTheNamesOfAnApiServer) {
  for (const std::string& name : {std::string("a"), std::string("a-1.b"), std::string(253, 'a')})
    EXPECT_EQ(problem_of_name(name), "") << name;
  EXPECT_EQ(problem_of_namespace("kube-system"), "");
}

TEST(NameProblems, NamesTheRefusedValue) {
  EXPECT_EQ(problem_of_name("Nics_1").find("is \"Nics_1\", expected at most 253 small letters"), 0u);
  for (const std::string& name :
       {std::string("a."), std::string("-a"), std::string("a b"), std::string(254, 'a')})
    EXPECT_NE(problem_of_name(name), "") << name;
  EXPECT_LT(problem_of_name(std::string(100'000, 'A')).size(), 400u);
  for (const std::string& name : {std::string("a.b"), std::string("A"), std::string(64, 'a')})
    EXPECT_NE(problem_of_namespace(name), "") << name;
}

}  // namespace
}  // namespace sliced::kube
