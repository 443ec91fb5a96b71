// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command progress runs go build, and says on one line how many packages it has begun, of
// how many, and about how long the rest takes. On a terminal the line is written over and
// over, elsewhere anew from time to time.
//
//	go run ./hack/progress -work hack/all.work -o bin/ -ldflags './cmd/virtctl=-s -w' ./cmd/...
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "progress:", err)
		os.Exit(1)
	}
}

func run(out *os.File) error {
	dir := flag.String("o", "bin/", "the `directory` of the programs")
	work := flag.String("work", "", "the `file` of the workspace to build in")
	build := []string{"build", "-v"}
	flag.Func("ldflags", "`[pattern=]flags` of the linker", func(s string) error {
		build = append(build, "-ldflags="+s)
		return nil
	})
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("which packages is missing")
	}
	var env []string
	if *work != "" {
		file, err := filepath.Abs(*work) // as Go wants it
		if err != nil {
			return fmt.Errorf("finding %s: %w", *work, err)
		}
		env = append(os.Environ(), "GOWORK="+file)
		build = append(build, "-mod=readonly") // a workspace takes nothing else, whatever GOFLAGS says
	}
	e, err := look(env, flag.Args())
	if err != nil {
		return err
	}
	command := exec.Command("go", append(append(build, "-o", *dir), flag.Args()...)...)
	command.Env = env
	return follow(command, newLine(out), e)
}

// look asks which packages are to be compiled.
func look(env, packages []string) (*estimate, error) {
	const format = `{{if .Stale}}{{.ImportPath}}|{{.Name}}|{{.StaleReason}}|{{.Dir}}|{{join .GoFiles "|"}}{{end}}`
	list := exec.Command("go", append([]string{"list", "-mod=readonly", "-deps", "-f", format}, packages...)...)
	list.Env, list.Stderr = env, os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages: %w", err)
	}
	return newEstimate(string(text), func(file string) int64 {
		if info, err := os.Stat(file); err == nil {
			return info.Size()
		}
		return 0
	}), nil
}

// follow runs the build, which names each package that it begins, and passes on what else
// it says.
func follow(build *exec.Cmd, l *line, e *estimate) error {
	stderr, err := build.StderrPipe()
	if err != nil {
		return err
	}
	if err := build.Start(); err != nil {
		return fmt.Errorf("starting go build: %w", err)
	}
	begin := time.Now()
	var mu sync.Mutex
	ended := make(chan struct{})
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				mu.Lock()
				l.show(e.String(time.Since(begin)))
				mu.Unlock()
			case <-ended:
				return
			}
		}
	}()
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		mu.Lock()
		if !e.begin(lines.Text()) {
			l.say(lines.Text())
		}
		mu.Unlock()
	}
	close(ended)
	_, _ = io.Copy(io.Discard, stderr) // what is left after a line that is too long
	err = build.Wait()
	mu.Lock()
	defer mu.Unlock()
	l.say(fmt.Sprintf("built after %s", time.Since(begin).Round(time.Second)))
	if err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// every is how often a line is written where lines cannot be written over.
const every = 30 * time.Second

// line is one that changes.
type line struct {
	out      io.Writer
	terminal bool
	written  time.Time
}

func newLine(out *os.File) *line {
	info, err := out.Stat()
	return &line{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, written: time.Now()}
}

func (l *line) show(text string) {
	if l.terminal {
		_, _ = fmt.Fprintf(l.out, "\r\033[K%s", text)
	} else if time.Since(l.written) >= every {
		l.written = time.Now()
		_, _ = fmt.Fprintln(l.out, text)
	}
}

// say writes what stays.
func (l *line) say(text string) {
	if l.terminal {
		text = "\r\033[K" + text
	}
	_, _ = fmt.Fprintln(l.out, strings.TrimRight(text, "\n"))
}
