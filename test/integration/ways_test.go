// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// waysToEtcd start a server, and another one on the same etcd: with the embedded etcd, which is called in-process, and
// with an external one, which is reached over a connection.
var waysToEtcd = map[string]func(t *testing.T) (start func() (versioned.Interface, func())){
	"embedded": func(t *testing.T) func() (versioned.Interface, func()) {
		dir := t.TempDir()
		return func() (versioned.Interface, func()) {
			s, stop := framework.StartStandaloneUntil(t, dir)
			return s.Client(t), stop
		}
	},
	"external": func(t *testing.T) func() (versioned.Interface, func()) {
		etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(etcd.Close)
		return func() (versioned.Interface, func()) {
			s, stop := framework.StartStandaloneUntil(t, t.TempDir(), func(o *app.Options) {
				o.EtcdUnsafeNoFsync = false
				o.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
			})
			return s.Client(t), stop
		}
	},
}

func TestAPI_BehavesTheSameWithEmbeddedAndExternalEtcd(t *testing.T) {
	for way, over := range waysToEtcd {
		t.Run(way, func(t *testing.T) {
			start := over(t)
			c, stop := start()
			vms := c.VmV1alpha1().VirtualMachines(namespace)
			keepsOrder(t, vms)
			listsPages(t, vms)
			refusesWhatIsStale(t, vms)
			before := all(t, vms)
			stop()
			c, _ = start()
			vms = c.VmV1alpha1().VirtualMachines(namespace)
			if diff := cmp.Diff(before, all(t, vms)); diff != "" {
				t.Errorf("after a restart (-before +after):\n%s", diff)
			}
			// The client of the first server continues with the second.
			w := watchFrom(t, vms, slices.Max(before))
			createVM(t, c, inlineVM("after"))
			if event := next(t, w); event.Type != watch.Added {
				t.Errorf("the first event after a restart is %s", event.Type)
			}
		})
	}
}

// all returns resource version and name of each virtual machine.
func all(t *testing.T, vms vmclient.VirtualMachineInterface) (found []string) {
	t.Helper()
	list, err := vms.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		found = append(found, fmt.Sprintf("%08s %s", list.Items[i].ResourceVersion, list.Items[i].Name))
	}
	return found
}

// watchFrom watches the events after an entry of all.
func watchFrom(t *testing.T, vms vmclient.VirtualMachineInterface, entry string) watch.Interface {
	t.Helper()
	var version uint64
	if _, err := fmt.Sscanf(entry, "%d ", &version); err != nil {
		t.Fatal(err)
	}
	w, err := vms.Watch(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(version)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// keepsOrder creates, changes and deletes objects, and compares a watch and a list after each write. The list must
// never be older than the write.
func keepsOrder(t *testing.T, vms vmclient.VirtualMachineInterface) {
	t.Helper()
	w, err := vms.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var want []string
	wrote := func(what watch.EventType, name, version string) {
		t.Helper()
		want = append(want, fmt.Sprint(what, " ", name, " ", version))
		there := slices.ContainsFunc(all(t, vms), func(entry string) bool { return entry == fmt.Sprintf("%08s %s", version, name) })
		if there != (what != watch.Deleted) {
			t.Errorf("a list after %s of %s at %s: it is there: %t", what, name, version, there)
		}
	}
	for i := range 5 {
		vm, err := vms.Create(t.Context(), inlineVM(fmt.Sprintf("vm-%d", i)), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wrote(watch.Added, vm.Name, vm.ResourceVersion)
		vm.Spec.GuestID = "debian12_64Guest"
		if vm, err = vms.Update(t.Context(), vm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		wrote(watch.Modified, vm.Name, vm.ResourceVersion)
	}
	for _, entry := range want {
		event := next(t, w)
		accessor := event.Object.(metav1.Object)
		if got := fmt.Sprint(event.Type, " ", accessor.GetName(), " ", accessor.GetResourceVersion()); got != entry {
			t.Errorf("an event is %q, want %q", got, entry)
		}
	}
}

// listsPages reads pages of two objects while others are created, which are not in any page.
func listsPages(t *testing.T, vms vmclient.VirtualMachineInterface) {
	t.Helper()
	want, got := all(t, vms), []string(nil)
	options := metav1.ListOptions{Limit: 2}
	for {
		page, err := vms.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Items {
			got = append(got, fmt.Sprintf("%08s %s", page.Items[i].ResourceVersion, page.Items[i].Name))
		}
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
		if _, err := vms.Create(t.Context(), inlineVM(fmt.Sprintf("vm-late-%d", len(got))), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-list +pages):\n%s", diff)
	}
}

// refusesWhatIsStale checks that updates and deletions with outdated preconditions are rejected.
func refusesWhatIsStale(t *testing.T, vms vmclient.VirtualMachineInterface) {
	t.Helper()
	stale, err := vms.Create(t.Context(), inlineVM("stale"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vms.Create(t.Context(), inlineVM("stale"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one of the name: %v, want AlreadyExists", err)
	}
	if _, err := vms.Patch(t.Context(), "stale", types.MergePatchType, []byte(`{"spec":{"guestID":"other"}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	stale.Spec.GuestID = "mine"
	if _, err := vms.Update(t.Context(), stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v, want Conflict", err)
	}
	unknown := types.UID("another")
	for what, preconditions := range map[string]metav1.Preconditions{
		"another UID":    {UID: &unknown},
		"an old version": {UID: &stale.UID, ResourceVersion: &stale.ResourceVersion},
	} {
		if err := vms.Delete(t.Context(), "stale", metav1.DeleteOptions{Preconditions: &preconditions}); !apierrors.IsConflict(err) {
			t.Errorf("a deletion of %s: %v, want Conflict", what, err)
		}
	}
	if vm, err := vms.Get(t.Context(), "stale", metav1.GetOptions{}); err != nil || vm.Spec.GuestID != "other" || vm.DeletionTimestamp != nil {
		t.Errorf("a rejected request took effect: %+v, %v", vm, err)
	}
}
