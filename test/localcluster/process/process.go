// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec describes a child.
type Spec struct {
	// Name is the name of the child in messages.
	Name string
	// Path is the program, Args its arguments without the program's name.
	Path string
	Args []string
	// LogFile receives standard output and error; it is appended to.
	LogFile string
	// ParentDeath is the signal the child gets when its parent dies (Linux only).
	// Zero means SIGKILL.
	ParentDeath syscall.Signal
	// StopTimeout is how long Stop waits after SIGTERM before it kills. Zero means
	// ten seconds.
	StopTimeout time.Duration
}

// defaultStopTimeout is well above the longest shutdown of any program (1.1 s).
const defaultStopTimeout = 10 * time.Second

// Process is a started child.
type Process struct {
	spec Spec
	cmd  *exec.Cmd
	log  *os.File
	// logStart is the size of the log before the child wrote to it.
	logStart int64
	// done is closed after the child was waited for; err is set before.
	done chan struct{}
	err  error

	mu       sync.Mutex
	expected bool
}

// Start runs the child. It does not wait until the child is ready.
func Start(spec Spec) (*Process, error) {
	if spec.StopTimeout == 0 {
		spec.StopTimeout = defaultStopTimeout
	}
	if spec.ParentDeath == 0 {
		spec.ParentDeath = syscall.SIGKILL
	}
	if err := os.MkdirAll(filepath.Dir(spec.LogFile), 0o700); err != nil {
		return nil, fmt.Errorf("making the log directory of %s: %w", spec.Name, err)
	}
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", spec.Name, err)
	}
	before, err := log.Stat()
	if err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("reading the log of %s: %w", spec.Name, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(spec.ParentDeath)
	p := &Process{spec: spec, cmd: cmd, log: log, logStart: before.Size(), done: make(chan struct{})}

	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one locked thread: Linux sends the
// parent-death signal when the thread that started the child ends, so that thread
// has to live as long as the child.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	_ = p.log.Close()
	close(p.done)
}

// Name is the name given in the Spec.
func (p *Process) Name() string { return p.spec.Name }

// PID is the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the child is still running.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Failure describes a child that ended without being stopped, with the end of its
// log. It is nil while the child runs and after Stop or Kill.
func (p *Process) Failure() error {
	p.mu.Lock()
	expected := p.expected
	p.mu.Unlock()
	if p.Running() || expected {
		return nil
	}
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s); the end of %s:\n%s", p.spec.Name, how, p.spec.LogFile, tail(p.spec.LogFile, p.logStart))
}

// WaitFor polls ready until it returns nil. It fails early when the child ends, and
// when ctx is done, with the last answer of ready.
func (p *Process) WaitFor(ctx context.Context, ready func(context.Context) error) error {
	const interval = 25 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			if err := p.Failure(); err != nil {
				return err
			}
			return fmt.Errorf("%s was stopped while it was starting", p.spec.Name)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to become ready: %w; last answer: %w; the end of %s:\n%s",
				p.spec.Name, context.Cause(ctx), last, p.spec.LogFile, tail(p.spec.LogFile, p.logStart))
		case <-ticker.C:
		}
	}
}

// stackTimeout is many times the duration of writing all goroutine stacks.
const stackTimeout = 2 * time.Second

// Stop signals the child to end, kills it after a timeout, and waits for it. It returns an error if it had to kill.
// Stopping a child that has ended is not an error.
func (p *Process) Stop() error {
	if !p.expect() {
		return nil
	}
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(p.spec.StopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	err := fmt.Errorf("%s did not end within %s of SIGTERM and was killed", p.spec.Name, p.spec.StopTimeout)
	// A Go program writes its goroutine stacks to its log.
	_ = p.signal(syscall.SIGQUIT)
	select {
	case <-p.done:
	case <-time.After(stackTimeout):
	}
	return errors.Join(err, p.Kill())
}

// Kill ends the child immediately with SIGKILL and waits for it.
func (p *Process) Kill() error {
	if !p.expect() {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// expect records that the end is expected, and reports whether the child still runs.
func (p *Process) expect() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := p.Running()
	if running {
		p.expected = true
	}
	return running
}

// signal reaches the child's whole group.
func (p *Process) signal(s syscall.Signal) error {
	err := syscall.Kill(-p.PID(), s)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to %s: %w", s, p.spec.Name, err)
	}
	return nil
}
