// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// event is what a run in the background tells the command that started it, one JSON
// object per line.
type event struct {
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
	Ready bool   `json:"ready,omitempty"`
}

// report writes progress to the user and, from a run in the background, to the
// command that waits for it. Once that was told of the end or of readiness it hears
// nothing more.
type report struct {
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
		return nil, fmt.Errorf("--notify-fd: %d is no open file", notifyFD)
	}
	r.notify = f
	return r, nil
}

// Write passes text on, line by line of the caller.
func (r *report) Write(p []byte) (int, error) {
	r.send(event{Text: strings.TrimSuffix(string(p), "\n")})
	return r.out.Write(p)
}

func (r *report) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(r, format+"\n", args...)
}

// step has the form that localcluster reports progress in.
func (r *report) step(name string, took time.Duration) {
	r.printf("  %-50s %6.2f s", name, took.Seconds())
}

// ready tells the waiting command to go.
func (r *report) ready() error {
	r.send(event{Ready: true})
	return r.closeNotify()
}

// finish tells the waiting command, if there still is one, of the end.
func (r *report) finish(err error) error {
	if err != nil {
		r.send(event{Error: err.Error()})
	}
	return r.closeNotify()
}

// send does not fail when nobody listens: the waiting command may have been ended.
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
