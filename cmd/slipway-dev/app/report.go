// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// event is a progress report of a background run to the command that started it, one JSON object per line.
type event struct {
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
	Ready bool   `json:"ready,omitempty"`
}

// heartbeatInterval is the interval of the lines that report that a start or stop has not ended.
const heartbeatInterval = 4 * time.Second

// report writes progress to the user and, in a background run, to the waiting command. It sends nothing more after
// readiness or the end. Its methods may be called concurrently.
type report struct {
	mu     sync.Mutex
	out    io.Writer
	notify io.WriteCloser
}

func newReport(out io.Writer, notifyFD int) (*report, error) {
	r := &report{out: out}
	if notifyFD == 0 {
		return r, nil
	}
	f := os.NewFile(uintptr(notifyFD), "notify")
	if f == nil {
		return nil, fmt.Errorf("--notify-fd: %d is not an open file descriptor", notifyFD)
	}
	r.notify = f
	return r, nil
}

// Write forwards text, one line per call.
func (r *report) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send(event{Text: strings.TrimSuffix(string(p), "\n")})
	return r.out.Write(p)
}

func (r *report) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r, format+"\n", args...)
}

// step has the signature of localcluster's progress function.
func (r *report) step(name string, took time.Duration) {
	r.printf("  %-50s %6.2f s", name, took.Seconds())
}

// heartbeat prints a line every four seconds until the returned function is called, so that a slow machine is
// not mistaken for a hang.
func (r *report) heartbeat(doing string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(heartbeatInterval)
		defer ticker.Stop()
		for begin := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				r.printf("  %s: not finished after %.0f s", doing, now.Sub(begin).Seconds())
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ready reports readiness to the waiting command.
func (r *report) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send(event{Ready: true})
	return r.closeNotify()
}

// finish reports the end to the waiting command, if it is still waiting.
func (r *report) finish(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.send(event{Error: err.Error()})
	}
	return r.closeNotify()
}

// send ignores errors, because the waiting command may have ended.
func (r *report) send(e event) {
	if r.notify == nil {
		return
	}
	if data, err := json.Marshal(e); err == nil {
		_, _ = r.notify.Write(append(data, '\n'))
	}
}

func (r *report) closeNotify() error {
	if r.notify == nil {
		return nil
	}
	err := r.notify.Close()
	r.notify = nil
	return err
}
