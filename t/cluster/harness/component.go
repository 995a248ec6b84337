package harness

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

// component is the scheduler or the controller manager of a plane. It runs until stop.
type component struct {
	plane   *Plane
	name    string
	program string
	args    []string
	mu      sync.Mutex
	process *Process
	stopped bool
}

// start starts the program and a goroutine that starts it again after each time limit of its own. If the program ends for another
// reason, no test of this plane can succeed: the test program ends with the component's output.
func (c *component) start() error {
	process, err := StartProcess(c.name, c.plane.file(c.name+".log"), c.program, c.args...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.process, c.stopped = process, false
	c.mu.Unlock()
	go c.keep(process)
	return nil
}

func (c *component) keep(process *Process) {
	for {
		<-process.done
		c.mu.Lock()
		if c.stopped || c.process != process { // the second: stopped and started again
			c.mu.Unlock()
			return
		}
		err := c.plane.endedByLimit(process)
		if err == nil {
			process, err = StartProcess(c.name, c.plane.file(c.name+".log"), c.program, c.args...)
			c.process = process
		}
		c.mu.Unlock()
		if err != nil {
			if os.Getenv("SLICED_KEEP") == "" {
				os.RemoveAll(c.plane.dir)
			}
			panic(err)
		}
	}
}

func (c *component) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.process.Kill()
}

// endedByLimit reports on stderr and returns nil if the process of the plane ended because another component did not answer. The
// limits are compiled into the programs: 30 s for etcd in kube-apiserver, 10 s for the API server in kube-controller-manager. On a
// slow machine, or while a test has paused or killed the other component, this is no fault, and the caller starts the program again.
// Otherwise it returns an error with the output.
//
// etcd has no such limit. Without etcd no other component can start.
func (p *Plane) endedByLimit(process *Process) error {
	reason := process.lastWords()
	if !timeLimit.MatchString(reason) {
		return fmt.Errorf("%s ended:\n%s", process.Name, process.LogTail(20))
	}
	if p.etcd.Exited() {
		return fmt.Errorf("etcd ended:\n%s", p.etcd.LogTail(20))
	}
	fmt.Fprintf(os.Stderr, "%s reached a time limit of its own and is started again: %s\n", process.Name, reason)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = append(p.again, process.Name)
	return nil
}

// StartedAgain returns the name of a component for each time that it was started again after a time limit of its own.
func (p *Plane) StartedAgain() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.again...)
}

var (
	timeLimit = regexp.MustCompile(`deadline exceeded|timed out|i/o timeout|handshake timeout|Client\.Timeout|connection re(fused|set)|EOF`)
	// klog's line of a fatal error (the stacks of all goroutines follow), and the last line of a Kubernetes command that failed.
	fatal = regexp.MustCompile(`^F\d{4} |^E\d{4} .*"command failed"|^Error: `)
)

// lastWords returns the line with which a Kubernetes program said why it ends, or "" if there is none.
func (p *Process) lastWords() string {
	words := ""
	for line := range strings.Lines(p.Log()[p.begins:]) {
		if fatal.MatchString(line) {
			words = strings.TrimRight(line, "\n")
		}
	}
	return words
}
