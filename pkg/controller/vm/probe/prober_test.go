// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

var key = types.NamespacedName{Namespace: "ns", Name: "vm"}

// guests simulates guests. It records the times of the attempts.
type guests struct {
	mu       sync.Mutex
	answer   func(netip.AddrPort) error
	silent   map[netip.AddrPort]bool
	attempts map[netip.AddrPort][]time.Time
	open     int
	most     int
}

func (g *guests) dial(ctx context.Context, to netip.AddrPort) error {
	g.mu.Lock()
	if g.attempts == nil {
		g.attempts = map[netip.AddrPort][]time.Time{}
	}
	g.attempts[to] = append(g.attempts[to], time.Now())
	g.open++
	g.most = max(g.most, g.open)
	answer, silent := g.answer, g.silent[to]
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open--
	}()
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	if answer == nil {
		return nil
	}
	return answer(to)
}

func (g *guests) set(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = func(netip.AddrPort) error { return err }
}

func (g *guests) tries(to string) []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.attempts[netip.MustParseAddrPort(to)]
}

// running is a Prober that runs in the synctest bubble of a test.
type running struct {
	*Prober
	mu    sync.Mutex
	woken []types.NamespacedName
	// foreign has keys that this process no longer reconciles.
	foreign map[types.NamespacedName]bool
}

// run calls body while a Prober with the guests g is running.
func run(t *testing.T, g *guests, o Options, body func(t *testing.T, p *running)) {
	synctest.Test(t, func(t *testing.T) {
		o.Dial = g.dial
		p := &running{Prober: New(o), foreign: map[types.NamespacedName]bool{}}
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			p.Run(ctx, func(k types.NamespacedName) bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return !p.foreign[k]
			}, func(k types.NamespacedName) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.woken = append(p.woken, k)
			})
		})
		body(t, p)
		cancel()
		ended.Wait()
	})
}

func (p *running) wakes() int {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.woken)
	p.woken = nil
	return n
}

func (p *running) expectResult(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	got := "unknown"
	if ready, known, message := p.Result(key); known {
		got = fmt.Sprint(ready, " ", message)
	}
	if got != want {
		t.Errorf("the result is %q, want %q", got, want)
	}
}

func TestProber_ReportsOnlyChangedResults(t *testing.T) {
	g := &guests{}
	g.set(syscall.ECONNREFUSED)
	run(t, g, Options{}, func(t *testing.T, p *running) {
		p.expectResult(t, "unknown")
		p.Add(machine())
		p.expectResult(t, "false 10.0.0.5:22 refuses the connection")
		if got := p.wakes(); got != 1 {
			t.Errorf("changed was called %d times after the first result, want once", got)
		}
		time.Sleep(10 * time.Minute)
		if got := p.wakes(); got != 0 {
			t.Errorf("changed was called %d times after equal results, want 0", got)
		}
		g.set(nil)
		time.Sleep(22 * time.Second) // a period and its jitter
		p.expectResult(t, "true ")
		if got := p.wakes(); got != 1 {
			t.Errorf("changed was called %d times after the guest was ready, want once", got)
		}
	})
	tries := g.tries("10.0.0.5:22")
	for i := 1; i < len(tries); i++ {
		if pause := tries[i].Sub(tries[i-1]); pause < 18*time.Second || pause > 22*time.Second {
			t.Fatalf("attempt %d was %s after the previous one, want 20 s ± 10%%", i, pause)
		}
	}
}

func TestProber_WaitsForTheTimeoutOfAnUnresponsiveGuest(t *testing.T) {
	to := netip.MustParseAddrPort("10.0.0.5:22")
	run(t, &guests{silent: map[netip.AddrPort]bool{to: true}}, Options{}, func(t *testing.T, p *running) {
		p.Add(machine())
		time.Sleep(3*time.Second - time.Nanosecond)
		p.expectResult(t, "unknown")
		time.Sleep(time.Nanosecond)
		p.expectResult(t, "false 10.0.0.5:22 does not answer within 3s")
	})
}

func TestProber_AddIsIdempotent(t *testing.T) {
	g := &guests{}
	run(t, g, Options{}, func(t *testing.T, p *running) {
		for range 100 {
			p.Add(machine())
			synctest.Wait()
		}
	})
	if got := len(g.tries("10.0.0.5:22")); got != 1 {
		t.Errorf("100 reconciles made %d immediate attempts, want 1", got)
	}
}

func TestProber_DropsTheResultOfARemovedProbe(t *testing.T) {
	to := netip.MustParseAddrPort("10.0.0.5:22")
	g := &guests{silent: map[netip.AddrPort]bool{to: true}}
	run(t, g, Options{}, func(t *testing.T, p *running) {
		p.Add(machine())
		synctest.Wait()
		p.Add(machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.ReadinessProbe = nil }))
		time.Sleep(time.Hour)
		p.expectResult(t, "unknown")
		if got := p.wakes(); got != 0 {
			t.Errorf("changed was called %d times after the end of the probe, want 0", got)
		}
	})
	if got := len(g.tries(to.String())); got != 1 {
		t.Errorf("%d attempts, want only the one before the end of the probe", got)
	}
}

func TestProber_ProbesAChangedTargetImmediately(t *testing.T) {
	old := netip.MustParseAddrPort("10.0.0.5:22")
	g := &guests{silent: map[netip.AddrPort]bool{old: true}}
	run(t, g, Options{}, func(t *testing.T, p *running) {
		p.Add(machine())
		synctest.Wait() // the first attempt is in progress
		p.Add(machine(host("192.0.2.5")))
		p.expectResult(t, "unknown")
		time.Sleep(3 * time.Second)
		p.expectResult(t, "true ")
		time.Sleep(time.Hour)
		p.expectResult(t, "true ")
	})
	if got := len(g.tries(old.String())); got != 1 {
		t.Errorf("%d attempts with the previous target, want 1", got)
	}
}

func TestProber_RetriesLocalFailuresWithBackoff(t *testing.T) {
	g := &guests{}
	g.set(syscall.EMFILE)
	run(t, g, Options{}, func(t *testing.T, p *running) {
		p.Add(machine())
		time.Sleep(10 * time.Minute)
		p.expectResult(t, "unknown")
		if got := len(g.tries("10.0.0.5:22")); got < 5 || got > 20 {
			t.Errorf("%d attempts in ten minutes, want a few", got)
		}
		g.set(nil)
		time.Sleep(retryMax)
		p.expectResult(t, "true ")
		g.set(syscall.ENFILE)
		time.Sleep(10 * time.Minute)
		p.expectResult(t, "true ")
		if got := p.wakes(); got != 1 {
			t.Errorf("changed was called %d times, want once, after the result", got)
		}
	})
}

func TestProber_TriesNoAddressThatTheGuestDoesNotReport(t *testing.T) {
	g := &guests{}
	run(t, g, Options{}, func(t *testing.T, p *running) {
		p.Add(machine(host("10.0.0.6")))
		p.expectResult(t, "false host: 10.0.0.6 is not an address that the guest of this virtual machine reports")
		p.Add(machine())
		p.expectResult(t, "true ")
		p.Add(machine(host("10.0.0.6")))
		p.expectResult(t, "false host: 10.0.0.6 is not an address that the guest of this virtual machine reports")
		p.Remove(key)
		p.expectResult(t, "unknown")
	})
	if got := len(g.tries("10.0.0.6:22")); got != 0 {
		t.Errorf("%d attempts, want none", got)
	}
}

func TestProber_DoesNotProbeVMsOfAnotherProcess(t *testing.T) {
	g := &guests{}
	run(t, g, Options{}, func(t *testing.T, p *running) {
		p.Add(machine())
		p.expectResult(t, "true ")
		p.mu.Lock()
		p.foreign[key] = true
		p.mu.Unlock()
		time.Sleep(time.Hour)
		p.expectResult(t, "unknown")
	})
	if got := len(g.tries("10.0.0.5:22")); got != 1 {
		t.Errorf("%d attempts, want only the one before another process owned it", got)
	}
}

// After a restart, existing probes start within a period and are spread over it.
func TestProber_SpreadsProbesAfterARestart(t *testing.T) {
	g := &guests{}
	const machines, period = 1000, 20 * time.Second
	run(t, g, Options{}, func(t *testing.T, p *running) {
		for i := range machines {
			p.Add(machine(numbered(i), func(vm *vmv1alpha1.VirtualMachine) {
				vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionProbeSucceeded, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded, ObservedGeneration: 1}}
			}))
		}
		for second := range 20 {
			time.Sleep(period / 20)
			synctest.Wait()
			if got, want := p.tried(g), machines*(second+1)/20; got < want-200 || got > want+200 {
				t.Errorf("%d attempts after %d s, want about %d", got, second+1, want)
			}
		}
		if got := p.tried(g); got < machines {
			t.Errorf("%d were probed within a period, want all %d", got, machines)
		}
	})
}

func TestProber_ProbesImmediatelyWithoutAResultInTheStatus(t *testing.T) {
	for name, c := range map[string]metav1.Condition{
		"it did not run":               {Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonPoweredOff, ObservedGeneration: 1},
		"it had no address":            {Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonWaitingForIP, ObservedGeneration: 1},
		"it had no result":             {Status: metav1.ConditionUnknown, Reason: vmv1alpha1.ReasonNotReady, ObservedGeneration: 1},
		"it was probed in another way": {Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c.Type = vmv1alpha1.ConditionProbeSucceeded
			run(t, &guests{}, Options{}, func(t *testing.T, p *running) {
				p.Add(machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Conditions = []metav1.Condition{c} }))
				p.expectResult(t, "true ")
			})
		})
	}
}

func TestProber_UnresponsiveGuestsDoNotDelayOthers(t *testing.T) {
	g := &guests{silent: map[netip.AddrPort]bool{}}
	const silent, talking, connections = 500, 500, 10
	for i := range silent {
		g.silent[addressOf(i)] = true
	}
	run(t, g, Options{Connections: connections}, func(t *testing.T, p *running) {
		for i := range silent + talking {
			p.Add(machine(numbered(i)))
		}
		// Each unresponsive guest is tried once before it is known to be unresponsive.
		time.Sleep(silent / connections * 3 * time.Second)
		synctest.Wait()
		g.mu.Lock()
		clear(g.attempts)
		g.mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		g.mu.Lock()
		defer g.mu.Unlock()
		for i := range talking {
			to := addressOf(silent + i)
			// Every 20 s, delayed by the timeout of an earlier attempt.
			if got := len(g.attempts[to]); got < 12 {
				t.Fatalf("%s was probed %d times in five minutes, want at least 12", to, got)
			}
		}
		if g.most > connections {
			t.Errorf("%d connections were open at the same time, want at most %d", g.most, connections)
		}
	})
}

func addressOf(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i / 256), byte(i)}), 22)
}

// numbered sets a virtual machine's name and address by number.
func numbered(i int) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Name = fmt.Sprintf("vm-%d", i)
		vm.Status.Network.PrimaryIP4 = addressOf(i).Addr().String()
	}
}

func (p *running) tried(g *guests) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, tries := range g.attempts {
		n += len(tries)
	}
	return n
}
