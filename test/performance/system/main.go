// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command system measures the whole of Slipway: kube-apiserver, slipway-apiserver and the simulated vCenter, each a
// process of its own, on the loopback interface. It prints markdown tables.
//
// Counts come from the servers' own metrics and from the simulator, CPU time and memory from /proc; no value is
// estimated. The load generator and the etcd of kube-apiserver share this process, whose CPU time is a separate
// column.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// settings are the flags.
type settings struct {
	binDir      string
	bursts      []int
	stable      int
	vcenters    int
	fillLimit   time.Duration
	tries       int
	bootDelay   time.Duration
	slipwayArgs []string
	modes       []vmv1alpha1.FastDeployMode
	diskSize    int64
	copyRate    int64
	profile     string
	keep        bool
	data        string
}

// profiled is the duration of a CPU profile.
const profiled = 20 * time.Second

func main() {
	s, err := parse()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parse() (settings, error) {
	var s settings
	var bursts, slipwayArgs, modes string
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.StringVar(&bursts, "bursts", "50,1000", "numbers of virtual machines to submit together, one measurement each")
	flag.IntVar(&s.stable, "stable", 10_000, "virtual machines that there are at the restarts; 0 leaves the restarts out")
	flag.IntVar(&s.vcenters, "vcenters", 1, "simulated vCenters; with several each has two zones, and zones are chosen")
	flag.DurationVar(&s.fillLimit, "fill-limit", 12*time.Minute, "longest time to make them; the restarts go on with those there are")
	flag.IntVar(&s.tries, "tries", 20, "restarts of slipway-apiserver")
	flag.DurationVar(&s.bootDelay, "boot-delay", 100*time.Millisecond, "time that a simulated guest takes from power on to its address")
	flag.StringVar(&slipwayArgs, "slipway-args", "", "more arguments for slipway-apiserver, separated by blanks")
	flag.StringVar(&s.profile, "profile", "", "prefix of files for profiles of slipway-apiserver: cpu.pprof of the last burst, start.pprof of the last restart, heap.pprof with all machines")
	flag.StringVar(&modes, "fast-deploy", "", "only bursts in these modes of fast deploy, for example off,direct,linked")
	flag.Int64Var(&s.diskSize, "disk-size", 1<<30, "bytes that the disk of the image takes, with -fast-deploy")
	flag.Int64Var(&s.copyRate, "copy-rate", 4<<30, "bytes that each copy of the simulated vCenter comes on in a second, with -fast-deploy")
	flag.BoolVar(&s.keep, "keep", false, "keep data and logs")
	flag.StringVar(&s.data, "data", "", "data directory of an earlier run with -keep: only restart, with the machines that are in it")
	flag.Parse()
	s.slipwayArgs = strings.Fields(slipwayArgs)
	var err error
	if s.modes, err = parseModes(modes); err != nil {
		return s, err
	}
	for _, field := range strings.FieldsFunc(bursts, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return s, fmt.Errorf("-bursts: %q: must be a positive number", field)
		}
		s.bursts = append(s.bursts, n)
	}
	return s, nil
}

func run(ctx context.Context, s settings) (err error) {
	e, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = e.stop(err) }()
	if s.data != "" {
		return e.again(ctx)
	}
	// Calls that are made only once, such as for sessions and datastores, are not counted for a machine.
	if _, err := e.burst(ctx, "warm-up", 5); err != nil {
		return err
	}
	if len(s.modes) > 0 {
		return e.fastDeploy(ctx)
	}
	empty, err := e.memory(ctx)
	if err != nil {
		return err
	}
	var bursts []burst
	memories := []memory{empty}
	var passes []steady
	for i, n := range s.bursts {
		finish := func() error { return nil }
		if i == len(s.bursts)-1 {
			finish = e.record(ctx, "cpu.pprof", profiled)
		}
		b, err := e.burst(ctx, fmt.Sprintf("burst-%d", n), n)
		if err != nil {
			return err
		}
		if err := finish(); err != nil {
			return err
		}
		bursts = append(bursts, b)
	}
	printBursts(bursts)
	if passes, memories, err = e.settled(ctx, passes, memories); err != nil {
		return err
	}
	if s.stable > 0 {
		filled, err := e.fill(ctx)
		if err != nil {
			return err
		}
		printFill(filled, e.machines)
		if passes, memories, err = e.settled(ctx, passes, memories); err != nil {
			return err
		}
	}
	printSteady(passes)
	return e.finish(ctx, memories)
}

// again measures with the machines of an earlier run.
func (e *environment) again(ctx context.Context) error {
	machines, err := e.direct.VmV1alpha1().VirtualMachines("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	e.machines = len(machines.Items)
	progress("%d machines are there", e.machines)
	return e.finish(ctx, nil)
}

// finish restarts the requested number of times and prints the memory.
func (e *environment) finish(ctx context.Context, memories []memory) error {
	if e.settings.stable > 0 && e.settings.tries > 0 {
		stable := e.machines
		restarts, err := e.restarts(ctx)
		printRestarts(restarts, stable)
		if err != nil {
			return err
		}
		m, err := e.memory(ctx)
		if err != nil {
			return err
		}
		m.note = ", after a restart"
		memories = append(memories, m)
		if err := e.idleMinute(ctx); err != nil {
			return err
		}
	}
	printMemory(memories)
	return nil
}

// settled measures the idle cost of the existing machines.
func (e *environment) settled(ctx context.Context, passes []steady, memories []memory) ([]steady, []memory, error) {
	pass, err := e.steadyPass(ctx)
	if err != nil {
		return nil, nil, err
	}
	m, err := e.memory(ctx)
	if err == nil && e.settings.profile != "" {
		err = e.slipway.KeepProfile(ctx, "heap?gc=1", e.settings.profile+"heap.pprof")
	}
	return append(passes, pass), append(memories, m), err
}

// progress prints progress messages to standard error; tables are on standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
