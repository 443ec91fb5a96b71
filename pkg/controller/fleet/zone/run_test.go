// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// countingFixture is a fixture of zones whose VMs are counted.
type countingFixture struct {
	controller.Undivided
	machines     vmlisters.VirtualMachineLister
	mu           sync.Mutex
	observations int
}

func (f *countingFixture) State(context.Context, *vmv1alpha1.Zone) (provider.ZoneState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observations++
	return provider.ZoneState{Read: true, Hosts: 1}, nil
}

func (f *countingFixture) Machines(zone string) (n int, err error) {
	all, err := f.machines.List(labels.Everything())
	for _, vm := range all {
		if provider.ZoneOf(vm) == zone {
			n++
		}
	}
	return n, err
}

func TestZone_CountsVMsSoonAndABurstOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		there := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "there"}, Status: vmv1alpha1.VirtualMachineStatus{Zone: "a"}}
		api := fake.NewSimpleClientset(&vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid", ResourceVersion: "1"}}, there)
		version := 1
		var versions sync.Mutex
		stamp := func(action clienttesting.Action) (bool, runtime.Object, error) {
			versions.Lock()
			defer versions.Unlock()
			version++ // The fake client sets no resource versions, which caches compare.
			action.(clienttesting.CreateAction).GetObject().(metav1.Object).SetResourceVersion(strconv.Itoa(version))
			return false, nil, nil
		}
		api.PrependReactor("update", "*", stamp)
		api.PrependReactor("create", "*", stamp)
		informers := externalversions.NewSharedInformerFactory(api, 0)
		observed := &countingFixture{machines: informers.Vm().V1alpha1().VirtualMachines().Lister()}
		c, err := New(Deps{Client: api, Informers: informers, Zones: observed})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		defer func() {
			stop()
			running.Wait()
			informers.Shutdown()
		}()
		// counts waits and compares the status of the zone and the number of reconciles.
		counts := func(after time.Duration, machines int32, observations int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			z, err := api.VmV1alpha1().Zones().Get(ctx, "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			observed.mu.Lock()
			defer observed.mu.Unlock()
			if z.Status.VirtualMachines != machines || observations >= 0 && observed.observations != observations {
				t.Errorf("after %s it has %d virtual machines after %d observations, want %d after %d", after, z.Status.VirtualMachines, observed.observations, machines, observations)
			}
			observed.observations = 0
		}
		counts(time.Second, 1, -1) // it gets its finalizer meanwhile
		vms := api.VmV1alpha1().VirtualMachines("dev")
		for i := range 20 {
			vm, err := vms.Create(ctx, &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "new-" + strconv.Itoa(i)}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			vm.Status.Zone = "a"
			if _, err := vms.UpdateStatus(ctx, vm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		counts(countSoon, 21, 1)
		if err := vms.Delete(ctx, "there", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		counts(countSoon, 20, 1)
		counts(countSoon, 20, 0)
	})
}
