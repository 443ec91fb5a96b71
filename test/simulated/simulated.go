// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulated starts simulated vCenters for tests. All of a test program are in one process
// of their own: the simulator races with itself and may crash.
//
// Guarantees:
//   - A vCenter ends with the test that started it.
//   - A test package needs nothing but Main as its TestMain.
package simulated

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"

	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// Patience is the time limit for every wait.
const Patience = 2 * time.Minute

// asVCenters is the environment variable that makes the test program serve simulated vCenters.
const asVCenters = "SLIPWAY_TEST_VCENTERS"

// order is a line that the process of the vCenters reads. It starts the vCenter that has the state
// directory, or stops it.
type order struct {
	vcenter.Options
	Stop bool
}

// answer is the line that the process writes when an order is carried out.
type answer struct {
	StateDir, Error string
	Ready           vcenter.Ready
}

// Main runs the tests, or the simulated vCenters of them. It does not return.
func Main(m *testing.M) {
	if os.Getenv(asVCenters) != "" {
		serve(os.Stdin, json.NewEncoder(os.Stdout))
		os.Exit(0)
	}
	code := m.Run()
	endHost()
	os.Exit(code)
}

// serve carries out orders until their end, which is the end of the test program.
func serve(orders io.Reader, answers *json.Encoder) {
	vcenter.TakeLogger(context.Background())
	var mu sync.Mutex
	running := map[string]*vcenter.Server{}
	carryOut := func(o order) {
		a := answer{StateDir: o.StateDir}
		mu.Lock()
		s := running[o.StateDir]
		delete(running, o.StateDir)
		mu.Unlock()
		var err error
		if o.Stop {
			err = s.Stop(context.Background())
		} else if s, err = vcenter.Start(context.Background(), o.Options); err == nil {
			a.Ready = s.Ready()
		}
		if err != nil {
			a.Error = err.Error()
		}
		mu.Lock()
		defer mu.Unlock()
		if !o.Stop {
			running[o.StateDir] = s
		}
		_ = answers.Encode(a) // the test program has ended
	}
	for in := json.NewDecoder(orders); ; {
		var o order
		if in.Decode(&o) != nil {
			return
		}
		go carryOut(o)
	}
}

// host is the process of the vCenters of this test program.
type host struct {
	mu      sync.Mutex
	orders  *json.Encoder
	waiting map[string]chan answer
	// end ends the process.
	end func()
}

// endHost ends the process that theHost has started, if it has.
var endHost = func() {}

var theHost = sync.OnceValues(func() (*host, error) {
	h, err := startHost()
	if err == nil {
		endHost = h.end
	}
	return h, err
})

func startHost() (*host, error) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asVCenters+"=true")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h := &host{orders: json.NewEncoder(in), waiting: map[string]chan answer{}}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { h.receive(out, cmd); close(ended) }()
	h.end = func() { _ = in.Close(); <-ended }
	return h, nil
}

// receive passes answers on until the process has ended.
func (h *host) receive(out io.Reader, cmd *exec.Cmd) {
	for in := json.NewDecoder(out); ; {
		var a answer
		if in.Decode(&a) != nil {
			break
		}
		h.mu.Lock()
		h.waiting[a.StateDir] <- a
		delete(h.waiting, a.StateDir)
		h.mu.Unlock()
	}
	_ = cmd.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, waiting := range h.waiting {
		waiting <- answer{Error: "the process of the simulated vCenters ended"}
	}
}

func (h *host) ask(t testing.TB, o order) vcenter.Ready {
	t.Helper()
	reply := make(chan answer, 1)
	h.mu.Lock()
	h.waiting[o.StateDir] = reply
	err := h.orders.Encode(o)
	h.mu.Unlock()
	if err != nil {
		t.Fatalf("the process of the simulated vCenters: %v", err)
	}
	a := <-reply
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	return a.Ready
}

// Start starts a simulated vCenter that stops with the test.
func Start(t testing.TB, changes ...func(*vcenter.Options)) vcenter.Ready {
	t.Helper()
	h, err := theHost()
	if err != nil {
		t.Fatal(err)
	}
	return h.start(t, changes)
}

// StartAlone is Start for a test that orders a delay of CreateVm: the simulator has one for all
// vCenters of a process, and each that starts clears it.
func StartAlone(t testing.TB, changes ...func(*vcenter.Options)) vcenter.Ready {
	t.Helper()
	h, err := startHost()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	return h.start(t, changes)
}

func (h *host) start(t testing.TB, changes []func(*vcenter.Options)) vcenter.Ready {
	t.Helper()
	options := vcenter.Options{StateDir: t.TempDir(), GuestBootDelay: 50 * time.Millisecond, ControlListen: "127.0.0.1:0"}
	for _, change := range changes {
		change(&options)
	}
	ready := h.ask(t, order{Options: options})
	t.Cleanup(func() { h.ask(t, order{Options: options, Stop: true}) })
	return ready
}

// Eventually waits for a condition that no event announces.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out: %s", what)
		}
	}
}

// Control orders the simulated vCenter to do something, and returns its answer.
func Control(t testing.TB, ready vcenter.Ready, method, path string) []byte {
	t.Helper()
	body, err := vsphereclient.Order(t.Context(), ready.ControlURL, method, path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Operator is a session of another client, with all privileges.
func Operator(t testing.TB, ready vcenter.Ready) *govmomi.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	c, err := vsphereclient.Login(ctx, ready.URL, ready.CAFile, vcenter.OperatorUsername, vcenter.DefaultPassword)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
