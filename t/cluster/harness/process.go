package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child whose output goes to a file. It dies with this test binary, however that ends.
type Process struct {
	Name    string
	LogPath string
	begins  int // where its output begins in the log
	cmd     *exec.Cmd
	done    chan struct{} // closed once the child has been waited for
}

// Linux sends the parent-death signal when the *thread* that forked ends, so one thread that never ends forks
// for all.
var forks = func() chan func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
}()

// StartProcess runs path with args; both output streams are appended to logPath.
func StartProcess(name, logPath, path string, args ...string) (*Process, error) {
	return startProcess(name, logPath, nil, path, args...)
}

// startProcess has more variables in the environment ("NAME=value").
func startProcess(name, logPath string, environment []string, path string, args ...string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	forks <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, LogPath: logPath, begins: int(before.Size()), cmd: cmd, done: make(chan struct{})}
	go func() {
		cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *Process) PID() int { return p.cmd.Process.Pid }

// Scheduled is how long the threads of the child have run, and how long they were runnable and waited for a processor.
func (p *Process) Scheduled() (ran, waited time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.PID()))
	for _, file := range files {
		text, _ := os.ReadFile(file) // empty: the thread has ended
		var its [2]int64
		fmt.Sscan(string(text), &its[0], &its[1])
		ran, waited = ran+time.Duration(its[0]), waited+time.Duration(its[1])
	}
	return ran, waited
}

func (p *Process) Signal(s syscall.Signal) { p.cmd.Process.Signal(s) }

// Exited tells whether the child has ended, without waiting.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait returns false when the child still runs after the timeout, or at Limit.
func (p *Process) Wait(timeout time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(time.Until(endOf(timeout))):
		return false
	}
}

// ExitCode is -1 while the child runs and after a signal.
func (p *Process) ExitCode() int {
	if !p.Exited() {
		return -1
	}
	return p.cmd.ProcessState.ExitCode()
}

// Kill ends the child at once and returns when it is gone, so that its port and locks are free.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Log is everything the child has written so far.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.LogPath)
	return string(text)
}

// LogTail is the last n lines, for failure messages.
func (p *Process) LogTail(n int) string {
	lines := strings.Split(strings.TrimRight(p.Log(), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// memory is a file system in memory with that much room, or "" for the usual place: hundreds of VFs are
// thousands of files, and etcd's are large.
func memory(room uint64) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return "/dev/shm"
}

var taken sync.Map

// FreePort avoids the kernel's ephemeral range: a port that a stopped server will come back to must not be
// given to an outgoing connection meanwhile (a client that redials it could even connect to itself).
func FreePort() (int, error) {
	for range 1000 {
		port := 15000 + rand.IntN(17000)
		if _, dup := taken.LoadOrStore(port, true); dup {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between 15000 and 32000")
}
