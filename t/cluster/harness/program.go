package harness

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Main is the main function of a test program: it ends with the code of run, or with 1 and the error after the program's name.
func Main(m *testing.M, name string, run func(m *testing.M) (int, error)) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		code = 1
	}
	os.Exit(code)
}

// GuestImage makes the image of the lab's guest with sliced and these programs of the build, and returns its directory.
func GuestImage(programs ...string) (string, error) {
	image, err := filepath.Abs(Path("../../build/lab"))
	if err != nil {
		return "", err
	}
	arguments := []string{image, Path("../../build/sliced")}
	for _, program := range programs {
		arguments = append(arguments, Path("../../build/t/"+program))
	}
	if out, err := exec.Command("../lab/image", arguments...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("image: %w\n%s", err, out)
	}
	return image, nil
}
