// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/localcluster"
)

// pipe connects a report to the command that follows it.
func pipe() (*report, io.Reader) {
	reader, writer := io.Pipe()
	return &report{out: io.Discard, notify: writer}, reader
}

func TestFollow_PrintsProgressUntilReady(t *testing.T) {
	r, reader := pipe()
	done := make(chan error, 1)
	go func() {
		r.printf("two\nlines")
		r.step("etcd", 60*time.Millisecond)
		done <- r.ready()
	}()
	var out bytes.Buffer
	ready, err := follow(reader, &out)
	if err := errors.Join(err, <-done); err != nil || !ready {
		t.Fatalf("follow: ready %v, %v", ready, err)
	}
	want := "two\nlines\n  etcd                                                 0.06 s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	// Later output is only printed by the process itself, and writing it does not fail.
	r.printf("later")
	if err := r.finish(errors.New("later")); err != nil {
		t.Error(err)
	}
}

func TestFollow_ReturnsTheError(t *testing.T) {
	r, reader := pipe()
	go func() { _ = r.finish(errors.New("port 6443 is in use")) }()
	ready, err := follow(reader, io.Discard)
	if ready || err == nil || err.Error() != "port 6443 is in use" {
		t.Errorf("follow: ready %v, %v, want the error of the run", ready, err)
	}
}

func TestFollow_EndWithoutAResultIsAnError(t *testing.T) {
	r, reader := pipe()
	go func() { _ = r.finish(nil) }()
	ready, err := follow(reader, io.Discard)
	if ready || err != nil {
		t.Errorf("follow: ready %v, %v, want neither", ready, err)
	}
	o := &runOptions{globals: &globals{dataDir: "/data"}}
	if err := o.ended(nil, nil); !errors.Is(err, errInterrupted) {
		t.Errorf("ended = %v, want that it was interrupted", err)
	}
	crash := errors.New("exit status 2")
	if err := o.ended(crash, nil); !errors.Is(err, crash) || errors.Is(err, errInterrupted) || !strings.Contains(err.Error(), "/data/logs/slipway-dev.log") {
		t.Errorf("ended = %v, want that it crashed, and where its log is", err)
	}
}

func TestReport_PrintsALineEveryFourSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := (&report{out: &out}).heartbeat("start")
		time.Sleep(9 * time.Second) // the clock of synctest
		stop()
		time.Sleep(time.Minute)
		if want := "  start: not finished after 4 s\n  start: not finished after 8 s\n"; out.String() != want {
			t.Errorf("output %q, want %q", &out, want)
		}
	})
}

func TestNextCommands_UseExistingObjects(t *testing.T) {
	const restart = "virtctl restart web-1"
	for name, tc := range map[string]struct {
		table string
		want  []string
	}{
		"first":   {"NAMESPACE   NAME    STATUS\ndefault     web-1   Running", []string{"kubectl get vcenters,zones\n", restart}},
		"deleted": {"NAMESPACE   NAME    STATUS\nteam-a      web-1   Running", []string{"kubectl get vcenters,zones\n"}},
		"no VM":   {"No resources found", []string{"kubectl get vcenters,zones\n"}},
	} {
		var out strings.Builder
		(&runOptions{globals: &globals{}}).printNext(&out, tc.table)
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: without %q:\n%s", name, want, &out)
			}
		}
		if strings.Contains(out.String(), restart) != (len(tc.want) > 1) {
			t.Errorf("%s: a restart must be printed if the VM exists:\n%s", name, &out)
		}
	}
}

func TestMain_ReportsOneLine(t *testing.T) {
	empty := t.TempDir()
	data := filepath.Join(empty, "data")
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown command": {[]string{"start"}, 1, `unknown command "start"`},
		"missing program": {[]string{"run", "--bin-dir=" + empty, "--data-dir=" + data}, 1, "kube-apiserver is missing in " + empty},
		"nothing to show": {[]string{"status", "--data-dir=" + data}, 1, "no environment is running in " + data},
		"nothing to stop": {[]string{"down", "--data-dir=" + data}, 0, ""},
		"up of nothing":   {[]string{"up", "--bin-dir=" + empty, "--data-dir=" + data}, 1, "kube-apiserver is missing in " + empty},
		"no directory":    {[]string{"reset", "--data-dir="}, 1, "--data-dir must not be empty"},
		"foreign data":    {[]string{"reset", "--data-dir=" + foreign}, 1, "and is not removed"},
	} {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			if code := Main(tc.args, io.Discard, &errOut); code != tc.code {
				t.Errorf("exit status %d, want %d", code, tc.code)
			}
			got := errOut.String()
			if !strings.Contains(got, tc.want) || strings.Count(got, "\n") != tc.code {
				t.Errorf("standard error %q, want one line with %q for a failure, none otherwise", got, tc.want)
			}
			if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the data directory: %v, want that it does not exist", err)
			}
		})
	}
}

func TestStatus_CountsMissingPrograms(t *testing.T) {
	up := localcluster.ServerStatus{Name: "a", Address: "127.0.0.1:1", Listening: true}
	down := localcluster.ServerStatus{Name: "b", Address: "127.0.0.1:2"}
	for name, tc := range map[string]struct {
		status localcluster.Status
		want   string
	}{
		"all well":       {localcluster.Status{PID: 7, Servers: []localcluster.ServerStatus{up}}, ""},
		"a server":       {localcluster.Status{PID: 7, Servers: []localcluster.ServerStatus{up, down}}, "1 of 3 programs"},
		"APIs":           {localcluster.Status{PID: 7, APIs: "APIService x: 503"}, "1 of 1 programs"},
		"server and API": {localcluster.Status{PID: 7, Servers: []localcluster.ServerStatus{down}, APIs: "503"}, "2 of 2 programs"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := printStatus(&out, "/data", tc.status)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
				t.Errorf("printStatus = %v, want %q", err, tc.want)
			}
			if !strings.Contains(out.String(), "running, process 7") || !strings.Contains(out.String(), tc.status.APIs) {
				t.Errorf("status:\n%s", out.String())
			}
		})
	}
}
