// Package why makes up worlds of nodes, slices, claims and a pod, and holds what `why` says of them against Kubernetes' own
// allocator. README.md.
package why

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// A program is build/t/why: one world a line, one answer a line.
type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProgram(path string) (*program, error) {
	p := &program{cmd: exec.Command(path)}
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
		return nil, fmt.Errorf("%s (built by ninja why): %w", path, err)
	}
	return p, nil
}

func (p *program) stop() error {
	p.in.Close()
	return p.cmd.Wait()
}

// What `why -o json` says, as far as it is judged.
type answer struct {
	Error      string       `json:"error"`
	Verdict    string       `json:"verdict"`
	AbortedBy  string       `json:"abortedBy"`
	Everywhere []string     `json:"everywhere"`
	Unsure     []string     `json:"unsure"`
	Nodes      []nodeAnswer `json:"nodes"`
}

type nodeAnswer struct {
	Name        string   `json:"name"`
	CanRun      bool     `json:"canRun"`
	Allocatable string   `json:"allocatable"`
	KeptAway    string   `json:"keptAway"`
	Error       string   `json:"error"`
	Changes     []change `json:"changes"`
	AnyOneOf    []change `json:"anyOneOf"`
}

type change struct {
	Asks        string `json:"asks"`
	Text        string `json:"text"`
	Claim       string `json:"claim"`
	Request     string `json:"request"`
	DeviceClass string `json:"deviceClass"`
	Capacity    string `json:"capacity"`
	Count       int64  `json:"count"`
	Index       int    `json:"index"`
	Taint       struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		Effect string `json:"effect"`
	} `json:"taint"`
	Pools []struct {
		Driver string `json:"driver"`
		Pool   string `json:"pool"`
	} `json:"pools"`
}

func (p *program) ask(w *world) (answer, error) {
	var out answer
	text, err := json.Marshal(w.question())
	if err != nil {
		return out, err
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return out, fmt.Errorf("the program has ended: %w", err)
	}
	reply, err := p.out.ReadBytes('\n')
	if err != nil {
		return out, fmt.Errorf("the program has ended: %w", err)
	}
	if err := json.Unmarshal(reply, &out); err != nil {
		return out, fmt.Errorf("%s: %w", reply, err)
	}
	if out.Error != "" {
		return out, fmt.Errorf("%s", out.Error)
	}
	return out, nil
}
