// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

func ptr[T any](v T) *T { return &v }

func libraryImage() *vmv1alpha1.VirtualMachineImage {
	return &vmv1alpha1.VirtualMachineImage{
		ObjectMeta: metav1.ObjectMeta{Name: "photon"},
		Spec:       vmv1alpha1.VirtualMachineImageSpec{ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"}},
	}
}

func templateImage() *vmv1alpha1.VirtualMachineImage {
	return &vmv1alpha1.VirtualMachineImage{
		ObjectMeta: metav1.ObjectMeta{Name: "ubuntu"},
		Spec:       vmv1alpha1.VirtualMachineImageSpec{Template: &vmv1alpha1.TemplateImageSource{InventoryPath: "templates/ubuntu-24.04"}},
	}
}

// newRequest returns a request for a powered-on VM with 2 CPUs and 1Gi of memory.
func newRequest(name string, image *vmv1alpha1.VirtualMachineImage) *provider.Request {
	network := &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}}
	return &provider.Request{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{
		CPU:     &vmv1alpha1.VirtualMachineCPU{Sockets: 2},
		Memory:  &vmv1alpha1.VirtualMachineMemory{Guest: ptr(resource.MustParse("1Gi"))},
		Network: network,
	}, Image: image}, VM: &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: types.UID(uuid.NewString()), Generation: 1},
		Spec:       vmv1alpha1.VirtualMachineSpec{PowerState: vmv1alpha1.PoweredOn, PowerOffMode: vmv1alpha1.PowerOpModeHard, Network: network},
	}, PrerequisitesReady: true, Priority: 100}
}

// loop is a minimal controller. It reconciles requests when events arrive.
type loop struct {
	t *testing.T
	p *Provider

	mu     sync.Mutex
	wake   chan struct{}
	events []provider.Event
}

func newLoop(t *testing.T, p *Provider) *loop {
	t.Helper()
	l := &loop{t: t, p: p, wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	started := make(chan struct{})
	go func() { close(started); p.Watch(ctx, l.enqueue) }()
	<-started
	t.Cleanup(cancel)
	return l
}

func (l *loop) enqueue(h provider.Event) {
	l.mu.Lock()
	l.events = append(l.events, h)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// until reconciles the requests, and again after each event, until done returns true.
func (l *loop) until(what string, done func() bool, reqs ...*provider.Request) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), testTimeout)
	defer cancel()
	for {
		minAfter := time.Duration(-1)
		var last error
		for _, req := range reqs {
			req.Now = time.Now()
			_, err := l.p.CreateOrUpdateVirtualMachineAsync(ctx, req)
			if after, ok := provider.AsRequeue(err); ok && (minAfter < 0 || after < minAfter) {
				minAfter = after
			}
			if err != nil {
				last = fmt.Errorf("%s: %w", req.VM.Name, err)
			}
		}
		if done() {
			return
		}
		if !l.wait(ctx, minAfter) {
			l.t.Fatalf("timed out waiting until %s; last error: %v; status: %+v", what, last, reqs[0].VM.Status)
		}
	}
}

// wait waits for an event, but no longer than after.
func (l *loop) wait(ctx context.Context, after time.Duration) bool {
	var due <-chan time.Time
	if after >= 0 {
		timer := time.NewTimer(after)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-l.wake:
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// isRunning reports whether the VMs run, have an address and are synchronized.
func isRunning(reqs ...*provider.Request) func() bool {
	return func() bool {
		for _, r := range reqs {
			st := &r.VM.Status
			if st.PowerState != vmv1alpha1.PoweredOn || st.Network == nil || st.Network.PrimaryIP4 == "" ||
				!isTrue(st, vmv1alpha1.ConditionConfigurationSynced) {
				return false
			}
		}
		return true
	}
}

func isTrue(st *vmv1alpha1.VirtualMachineStatus, conditionType string) bool {
	return meta.IsStatusConditionTrue(st.Conditions, conditionType)
}

// remove deletes the VM and waits until it no longer exists.
func (l *loop) remove(req *provider.Request) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), testTimeout)
	defer cancel()
	for {
		req.Now = time.Now()
		err := l.p.DeleteVirtualMachine(ctx, req)
		if err == nil {
			return
		}
		after, ok := provider.AsRequeue(err)
		if !ok {
			after = -1
			if !errors.Is(err, provider.ErrReconcileInProgress) && !errors.Is(err, provider.ErrUnknownState) {
				l.t.Fatalf("deleting %s: %v", req.VM.Name, err)
			}
		}
		if !l.wait(ctx, after) {
			l.t.Fatalf("timed out deleting %s: %v", req.VM.Name, err)
		}
	}
}

func reason(st *vmv1alpha1.VirtualMachineStatus, conditionType string) string {
	c := meta.FindStatusCondition(st.Conditions, conditionType)
	if c == nil {
		return ""
	}
	return strings.TrimSpace(string(c.Status) + " " + c.Reason)
}
