// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// listenVariable is the environment variable that makes the test program act as the guests.
const listenVariable = "SLIPWAY_PROBER_LISTEN"

func TestMain(m *testing.M) {
	if os.Getenv(listenVariable) != "" {
		listen()
		return
	}
	os.Exit(m.Run())
}

// listen accepts connections on all addresses of the host until its input ends.
func listen() {
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// cpu returns the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkTenThousandProbes probes 10,000 guests every 10 s over real connections of the loopback interface, and
// reports the share of a core that the process uses. An iteration is a period. The guests are another process. Kernel
// work for their side during a system call of this process is included.
func BenchmarkTenThousandProbes(b *testing.B) {
	const machines, period = 10000, 10 * time.Second
	guests := exec.CommandContext(b.Context(), os.Args[0])
	guests.Env = append(os.Environ(), listenVariable+"=1")
	out, err := guests.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	in, err := guests.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := guests.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = in.Close(); _ = guests.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	port := netip.MustParseAddrPort("127.0.0.1:" + strings.TrimSpace(line)).Port()

	p := New(Options{Networks: onLoopback})
	all := func(types.NamespacedName) bool { return true }
	go p.Run(b.Context(), all, func(types.NamespacedName) {})
	for i := range machines {
		p.Add(machine(numbered(i), func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.Network.PrimaryIP4 = fmt.Sprintf("127.1.%d.%d", i/250, i%250+1)
			vm.Spec.ReadinessProbe.TCPSocket.Port = int32(port)
			vm.Spec.ReadinessProbe.PeriodSeconds = int32(period.Seconds())
		}))
	}
	ticks := time.NewTicker(period)
	defer ticks.Stop()
	for range 3 { // until probes that started together are spread
		<-ticks.C
	}
	began, tried := cpu(b), p.counts.ready.Load()
	b.ResetTimer()
	for b.Loop() {
		<-ticks.C
	}
	took, tried := cpu(b)-began, p.counts.ready.Load()-tried
	wall := period * time.Duration(b.N)
	b.ReportMetric(100*took.Seconds()/wall.Seconds(), "%core")
	b.ReportMetric(float64(tried)/wall.Seconds(), "probes/s")
	b.ReportMetric(float64(took.Microseconds())/float64(tried), "µs-cpu/probe")
	if failed := p.counts.failed.Load() + p.counts.notReady.Load(); failed > 0 {
		b.Errorf("%d probes failed", failed)
	}
}
