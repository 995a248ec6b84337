package cluster

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sliced.test/cluster/harness"
)

// Turns red when the last step of the tutorial, typed as it stands there, does not start a pod, or prints anything else.
func TestTutorialStartsAPod(t *testing.T) {
	t.Parallel()
	lab := harness.NewLab(t, shared, near)
	lab.RunAsDeployed()
	root := lab.NewKubeletRoot()
	wiped(t, lab, root.Run())
	commands := exec.Command("../../t/docs/run", "--on-cluster", harness.Program(t), "docs/tutorial.md")
	commands.Env = append(os.Environ(), "KUBECONFIG="+lab.Server.AdminKubeconfig(t, lab.Namespace), "NODE_NAME="+lab.Node, "NAMESPACE="+lab.Namespace,
		"SLICED_CLUSTER=kubeconfig:"+lab.Config, "SLICED_HOST="+lab.Host.Root, "SLICED_LOG_LEVEL=error", "CDI_ROOT="+root.Path+"/cdi",
		"KUBELET_PLUGINS_DIRECTORY_PATH="+root.Path+"/plugins", "KUBELET_REGISTRAR_DIRECTORY_PATH="+root.Path+"/plugins_registry")
	printed, err := commands.CombinedOutput()
	if ran := strings.Count(string(printed), "ok "); err != nil || ran < 10 {
		t.Errorf("%d commands did what stands there (%v):\n%s", ran, err, printed)
	}
	if created := root.Created(); len(created) != 1 || created[0].Pod != "first" {
		t.Errorf("containers: %+v", created)
	}
}
