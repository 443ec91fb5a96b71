// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// asCommand makes the test program act as "slipway-dev vcenter".
const asCommand = "SLIPWAY_TEST_AS_VCENTER"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		cmd := NewCommand()
		cmd.SetArgs(os.Args[1:])
		if err := cmd.Execute(); err != nil {
			_, _ = io.WriteString(os.Stderr, err.Error()+"\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is a simulated vCenter in its own process.
type program struct {
	cmd    *exec.Cmd
	exited chan error
	ready  Ready
}

func startProgram(t *testing.T, state string, args ...string) *program {
	t.Helper()
	file := filepath.Join(state, "ready.json")
	args = append([]string{"--state-dir=" + state, "--ready-file=" + file, "--guest-boot-delay=1ms"}, args...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{cmd: cmd, exited: make(chan error, 1)}
	listening := make(chan struct{})
	go func() {
		// Readiness is logged after the file was written, so that clients need not poll.
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if strings.Contains(lines.Text(), "is ready") {
				close(listening)
				break
			}
			t.Log(lines.Text())
		}
		_, _ = io.Copy(io.Discard, stderr)
		p.exited <- cmd.Wait()
	}()
	t.Cleanup(func() {
		if cmd.Process.Signal(syscall.SIGTERM) != nil {
			return // it has ended
		}
		select {
		case <-p.exited:
		case <-time.After(testTimeout):
			_ = cmd.Process.Kill()
			t.Error("the program did not end after the signal")
		}
	})
	select {
	case <-listening:
	case err := <-p.exited:
		t.Fatalf("the program ended: %v", err)
	case <-time.After(testTimeout):
		t.Fatal("the program did not get ready")
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &p.ready); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.exited:
		return err
	case <-time.After(testTimeout):
		t.Fatal("the program did not end")
		return nil
	}
}

func TestProgram_StopsOnSignalWithOpenStreamsAndKeepsState(t *testing.T) {
	ctx := testContext(t)
	state := t.TempDir()
	p := startProgram(t, state)
	c := connect(ctx, t, &Server{ready: p.ready})
	vm := create(ctx, t, c, findPlaces(ctx, t, c), machine("kept"))
	entered, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- property.Wait(ctx, property.DefaultCollector(c.Client), vm.Reference(), []string{"name"}, func([]types.PropertyChange) bool {
			entered <- struct{}{}
			return false
		})
	}()
	<-entered
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("the program ended with %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the stream ended without an error")
	}
	if _, err := os.Stat(filepath.Join(state, "ready.json")); !os.IsNotExist(err) {
		t.Error("the ready file is still there")
	}

	again := startProgram(t, state)
	c = connect(ctx, t, &Server{ready: again.ready})
	if got := read(ctx, t, c, vm); got.Name != "kept" {
		t.Errorf("after the restart %s is %q", vm.Reference(), got.Name)
	}
	if err := again.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := again.wait(t); err != nil {
		t.Errorf("the program ended with %v", err)
	}
}

func TestProgram_KeepsSavedStateWhenKilled(t *testing.T) {
	ctx := testContext(t)
	state := t.TempDir()
	p := startProgram(t, state)
	c := connect(ctx, t, &Server{ready: p.ready})
	at := findPlaces(ctx, t, c)
	gone := create(ctx, t, c, at, machine("gone"))
	task, err := gone.Destroy(ctx)
	wait(ctx, t, task, err)
	vm := create(ctx, t, c, at, machine("kept"))
	task, err = vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	if _, err := vm.WaitForIP(ctx, true); err != nil {
		t.Fatal(err)
	}
	before := factsOf(read(ctx, t, c, vm))
	untilSaved(ctx, t, state, before.IP)
	left := filepath.Join(state, "vcenter.tar.unfinished")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(t); err == nil {
		t.Fatal("the program was not killed")
	}

	again := startProgram(t, state)
	c = connect(ctx, t, &Server{ready: again.ready})
	vm = object.NewVirtualMachine(c.Client, vm.Reference())
	if _, err := vm.WaitForIP(ctx, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, factsOf(read(ctx, t, c, vm))); diff != "" {
		t.Errorf("the machine differs after the kill (-before +after):\n%s", diff)
	}
	if _, err := object.NewVirtualMachine(c.Client, gone.Reference()).ObjectName(ctx); err == nil {
		t.Error("the destroyed machine is back")
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Error("an unfinished save was left")
	}
	task, err = vm.PowerOff(ctx)
	wait(ctx, t, task, err)
	task, err = vm.Destroy(ctx)
	wait(ctx, t, task, err)
	create(ctx, t, c, findPlaces(ctx, t, c), machine("kept"))
}

// untilSaved waits until the state contains a text.
func untilSaved(ctx context.Context, t *testing.T, state, text string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		content, err := os.ReadFile(filepath.Join(state, "vcenter.tar"))
		if err == nil && strings.Contains(string(content), text) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%q was not saved: %v", text, err)
		}
	}
}

func (p *program) order(t *testing.T, method, path string) map[string]float64 {
	t.Helper()
	body, err := vsphereclient.Order(t.Context(), p.ready.ControlURL, method, path)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]float64{}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestProgram_AcceptsControlRequests(t *testing.T) {
	ctx := testContext(t)
	p := startProgram(t, t.TempDir(), "--control-listen=127.0.0.1:0")
	c := connect(ctx, t, &Server{ready: p.ready})
	at := findPlaces(ctx, t, c)

	before := p.order(t, http.MethodGet, "/calls")
	create(ctx, t, c, at, machine("counted"))
	after := p.order(t, http.MethodGet, "/calls")
	if n := after["CreateVM_Task"] - before["CreateVM_Task"]; n != 1 {
		t.Errorf("%v calls of CreateVM_Task were counted, want 1", n)
	}

	p.order(t, http.MethodPut, "/taskdelay?method=CreateVm&ms=3600000")
	task, err := at.folder.CreateVM(ctx, machine("delayed"), at.pool, nil)
	if err != nil {
		t.Fatal(err)
	}
	var info types.TaskInfo
	err = property.Wait(ctx, property.DefaultCollector(c.Client), task.Reference(), []string{"info"}, func(changes []types.PropertyChange) bool {
		info, _ = changes[0].Val.(types.TaskInfo)
		return info.State != types.TaskInfoStateQueued
	})
	if err != nil || info.State != types.TaskInfoStateRunning {
		t.Errorf("the delayed task is %s (error %v), want running", info.State, err)
	}
	// A slow task does not block other calls: the folder is read while it runs.
	if children, err := at.folder.Children(ctx); err != nil || len(children) != 1 {
		t.Errorf("%d children of the folder, error %v", len(children), err)
	}

	if n := p.order(t, http.MethodPost, "/sessions/drop")["dropped"]; n == 0 {
		t.Error("no session was dropped")
	}
	if active, err := c.SessionManager.UserSession(ctx); err == nil && active != nil {
		t.Error("the session outlived the drop")
	}
	p.order(t, http.MethodPost, "/outage?seconds=3600")
	if err := c.Login(ctx, account()); err == nil {
		t.Error("a login during the outage succeeded")
	}
	p.order(t, http.MethodPost, "/outage?seconds=0")
	if err := c.Login(ctx, account()); err != nil {
		t.Errorf("a login after the outage: %v", err)
	}
}

func TestProgram_RequiresALogin(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{Password: "right"})
	for password, want := range map[string]bool{"right": true, "wrong": false, DefaultPassword: false} {
		if err := dial(ctx, t, s).Login(ctx, url.UserPassword(DefaultUsername, password)); (err == nil) != want {
			t.Errorf("login with password %q: %v", password, err)
		}
	}
}

func TestOptions_ReportTheInvalidFlag(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, o := range map[string]Options{
		"--password-file":    {StateDir: "x", PasswordFile: empty},
		"--key-file":         {StateDir: "x", CertFile: "x"},
		"--state-dir":        {},
		"--guest-boot-delay": {StateDir: "x", GuestBootDelay: -1},
		"--listen":           {StateDir: "x", Listen: "nowhere"},
		"--control-listen":   {StateDir: "x", ControlListen: "0.0.0.0:1"},
	} {
		if _, err := o.complete(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%+v: got %v, want an error about %s", o, err, flag)
		}
	}
	if _, err := (Options{StateDir: t.TempDir()}).complete(); err != nil {
		t.Errorf("defaults: %v", err)
	}
	if _, err := Start(context.Background(), Options{StateDir: t.TempDir(), CertFile: empty, KeyFile: empty}); err == nil {
		t.Error("an empty certificate was accepted")
	}
}
