// Controlplane is etcd, kube-apiserver, kube-scheduler and kube-controller-manager in one program: the first
// argument says which, the rest are that program's own arguments. One binary links the shared code once and
// is built once.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("no program named")
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...) // each program parses os.Args as if it were alone
	commands := map[string]func() *cobra.Command{
		"apiserver":          apiserver.NewAPIServerCommand,
		"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"controller-manager": controllermanager.NewControllerManagerCommand,
	}
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	command, known := commands[name]
	if !known {
		fail("unknown program " + name)
	}
	os.Exit(cli.Run(command()))
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "controlplane:", why, "(want etcd | apiserver | scheduler | controller-manager)")
	os.Exit(2)
}
