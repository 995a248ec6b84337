// Package asked is what the judges of sliced share that hold it against Kubernetes' own allocator: the program that they ask,
// and DeviceClasses as the allocator wants them listed.
package asked

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A Program answers each line with a line, both JSON. Not for several goroutines at once.
type Program struct {
	path string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// Start runs a program of the build.
func Start(path string) (*Program, error) {
	p := &Program{path: path, cmd: exec.Command(path)}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s (built by ninja %s): %w", path, filepath.Base(path), err)
	}
	return p, nil
}

// Ask says question and reads the answer into answer. An error means that the program is gone, or that it does not speak JSON.
func (p *Program) Ask(question, answer any) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("%s has ended: %w", p.path, err)
	}
	reply, err := p.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("%s has ended at %s: %w", p.path, text, err)
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("%s: %w", reply, err)
	}
	return nil
}

// Stop lets it end, and says how it did.
func (p *Program) Stop() error {
	p.in.Close()
	return p.cmd.Wait()
}
