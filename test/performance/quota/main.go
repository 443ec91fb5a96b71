// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Program quota measures how many virtual machines per second clients create in a namespace without a
// ResourceQuota and in one with a ResourceQuota that charges each of them. The virtual machines are powered off and paused, so that
// vSphere is not measured. Each client sends one request at a time through kube-apiserver, without a limit of its own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
)

// limit is the memory limit of the quota. It is more than a run creates, and less than the maximum of a virtual
// machine.
const limit, most = "20Ti", "24Ti"

// namespaces without and with a quota.
var namespaces = []string{"without-quota", "with-quota"}

type settings struct {
	binDir          string
	clients         []int
	creates, rounds int
}

func main() {
	var s settings
	var clients string
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.StringVar(&clients, "clients", "1,20,60", "numbers of clients that create at the same time")
	flag.IntVar(&s.creates, "creates", 300, "virtual machines that are created in a round")
	flag.IntVar(&s.rounds, "rounds", 3, "interleaved rounds; the table shows their medians")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for text := range strings.SplitSeq(clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "quota: -clients %q: must be positive numbers\n", clients)
			os.Exit(1)
		}
		s.clients = append(s.clients, n)
	}
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "quota:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp("", "slipway-quota-")
	if err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: dir, BinDir: s.binDir, UnsafeNoFsync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	var all []versioned.Interface
	for range slices.Max(s.clients) {
		client, err := versioned.NewForConfig(cluster.RestConfig())
		if err != nil {
			return fmt.Errorf("making a client: %w", err)
		}
		all = append(all, client)
	}
	host, err := kubernetes.NewForConfig(cluster.RestConfig())
	if err == nil {
		err = prepare(ctx, host, all[0])
	}
	if err != nil {
		return err
	}
	fmt.Println("| clients | namespace | creates/s | p50 | p99 |\n| ---: | --- | ---: | ---: | ---: |")
	for _, n := range s.clients {
		results := make([][]result, len(namespaces))
		for round := range s.rounds {
			for i, namespace := range namespaces {
				r, err := create(ctx, all[:n], namespace, fmt.Sprintf("vm-%d-%d", n, round), s.creates)
				if err != nil {
					return err
				}
				results[i] = append(results[i], r)
			}
		}
		for i, namespace := range namespaces {
			slices.SortFunc(results[i], func(a, b result) int { return int(a.elapsed - b.elapsed) })
			r := results[i][len(results[i])/2]
			fmt.Printf("| %d | %s | %.0f | %s | %s |\n", n, namespace, float64(s.creates)/r.elapsed.Seconds(), r.at(50), r.at(99))
		}
	}
	return nil
}

// prepare creates the namespaces and the quota, and waits until the server has read the quota and usage is known.
func prepare(ctx context.Context, host kubernetes.Interface, client versioned.Interface) error {
	for _, name := range namespaces {
		if _, err := host.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating namespace %s: %w", name, err)
		}
	}
	limited := namespaces[1]
	if _, err := host.CoreV1().ResourceQuotas(limited).Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			vmv1alpha1.QuotaVCPUs: *resource.NewQuantity(1_000_000, resource.DecimalSI), vmv1alpha1.QuotaMemory: resource.MustParse(limit),
		}},
	}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the quota: %w", err)
	}
	large := machine("large")
	memory := resource.MustParse(most)
	large.Spec.Memory.Guest = &memory
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, last = client.VmV1alpha1().VirtualMachines(limited).Create(ctx, large, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(last) && strings.Contains(last.Error(), "exceeded quota"), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the quota: %w; the last answer is %w", err, last)
	}
	return nil
}

// result is how long the creation of all virtual machines took, and of each of them, sorted.
type result struct {
	elapsed time.Duration
	each    []time.Duration
}

func (r result) at(percentile int) time.Duration {
	return r.each[(len(r.each)-1)*percentile/100].Round(100 * time.Microsecond)
}

// create creates n virtual machines with several clients, and returns when all of them are created.
func create(ctx context.Context, clients []versioned.Interface, namespace, prefix string, n int) (result, error) {
	var mu sync.Mutex
	var r result
	next := 0
	creating, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for _, client := range clients {
		creating.Go(func() error {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return nil
				}
				sent := time.Now()
				if _, err := client.VmV1alpha1().VirtualMachines(namespace).Create(ctx, machine(fmt.Sprintf("%s-%d", prefix, i)), metav1.CreateOptions{}); err != nil {
					return fmt.Errorf("creating a virtual machine in namespace %s: %w", namespace, err)
				}
				mu.Lock()
				r.each = append(r.each, time.Since(sent))
				mu.Unlock()
			}
		})
	}
	err := creating.Wait()
	r.elapsed = time.Since(begin)
	slices.Sort(r.each)
	return r, err
}

func machine(name string) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	return &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{vmv1alpha1.AnnotationPaused: "true"}},
		Spec: vmv1alpha1.VirtualMachineSpec{
			Image: &vmv1alpha1.VirtualMachineImageRef{Name: "photon-5"}, PowerState: vmv1alpha1.PoweredOff,
			CPU: &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
		},
	}
}
