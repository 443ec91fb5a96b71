// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/performance/proc"
)

// steady is the measurement of one reconcile of every machine without any change.
type steady struct {
	machines int
	took     time.Duration
	spent    sample
}

// idleMinute prints the cost of one minute without requests.
func (e *environment) idleMinute(ctx context.Context) error {
	if _, err := e.idle(ctx); err != nil {
		return err
	}
	before, err := e.sample(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Minute); err != nil {
		return err
	}
	after, err := e.sample(ctx)
	if err != nil {
		return err
	}
	spent := after.since(before)
	fmt.Printf("\nAn idle minute with %d machines: CPU of slipway-apiserver %.2f s, kube-apiserver %.2f s; %.0f passes, %.0f writes of VMs, %.0f writes of all kinds, %.0f vSphere calls.\n",
		e.machines, spent.cpu[partSlipway].Seconds(), spent.cpu[partHost].Seconds(), spent.passes, writes(spent.slipway), changes(spent.slipway), total(spent.calls))
	return nil
}

// steadyPass annotates every image. All machines refer to one, so each of them is reconciled without a write of its
// own.
func (e *environment) steadyPass(ctx context.Context) (steady, error) {
	s := steady{machines: e.machines}
	images, err := e.direct.VmV1alpha1().VirtualMachineImages("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	if _, err := e.idle(ctx); err != nil {
		return s, err
	}
	before, err := e.sample(ctx)
	if err != nil {
		return s, err
	}
	begin := time.Now()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"bench.slipway.dev/pass":"%d"}}}`, begin.UnixNano())
	for _, image := range images.Items {
		_, err := e.direct.VmV1alpha1().VirtualMachineImages(image.Namespace).Patch(ctx, image.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return s, err
		}
	}
	end, err := e.idle(ctx)
	if err != nil {
		return s, err
	}
	after, err := e.sample(ctx)
	if err != nil {
		return s, err
	}
	s.took, s.spent = end.Sub(begin), after.since(before)
	return s, nil
}

// memory is the memory of slipway-apiserver. All sizes are in bytes.
type memory struct {
	machines int
	// note describes the circumstances of the measurement.
	note string
	// heap is the size in use after a garbage collection. anonymous is the resident memory without files. file is the
	// resident memory of files, mostly the database of etcd.
	heap, anonymous, file float64
	// object is the size of a machine and of its instance in protobuf, together.
	object int
}

func (e *environment) memory(ctx context.Context) (memory, error) {
	m := memory{machines: e.machines}
	var err error
	if m.heap, err = e.slipway.Heap(ctx); err != nil {
		return m, err
	}
	if m.anonymous, m.file, err = proc.Resident(e.cluster.PID(partSlipway)); err != nil {
		return m, err
	}
	for _, resource := range []string{"virtualmachines", "virtualmachineinstances"} {
		size, err := e.storedSize(ctx, resource)
		if err != nil {
			return m, err
		}
		m.object += size
	}
	return m, nil
}

// storedSize returns the size of one object of the warm-up.
func (e *environment) storedSize(ctx context.Context, resource string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		e.slipway.URL+"/apis/vm.slipway.dev/v1alpha1/namespaces/warm-up/"+resource+"/vm-00000", nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
	resp, err := e.slipway.Client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	size, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("asking for the size of one of the %s: %s: %w", resource, resp.Status, err)
	}
	return int(size), nil
}
