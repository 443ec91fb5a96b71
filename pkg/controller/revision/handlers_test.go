// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// using returns a VM whose status refers to a revision.
func using(name string) *vmv1alpha1.VirtualMachine {
	vm := user()
	vm.Status.InstancetypeRef.ControllerRevisionRef.Name = name
	return vm
}

// running returns an instance that uses a revision.
func running(name string) *vmv1alpha1.VirtualMachineInstance {
	vmi := &vmv1alpha1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm"}}
	vmi.Spec.Preference = &vmv1alpha1.AppliedRevision{RevisionName: name}
	return vmi
}

func revisionNamed(name string) *itv1alpha1.ControllerRevision {
	return &itv1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

func TestUserHandler_EnqueuesRevisionsThatAreNoLongerReferredTo(t *testing.T) {
	refreshed := instancetype.ClearPins(using("old"), instancetype.RoleInstancetype)
	for name, tc := range map[string]struct {
		event func(users, made cache.ResourceEventHandler)
		want  []string
	}{
		"a VM names another":        {func(u, _ cache.ResourceEventHandler) { u.OnUpdate(using("old"), using("new")) }, []string{"old"}},
		"a VM names the same":       {func(u, _ cache.ResourceEventHandler) { u.OnUpdate(using("old"), using("old")) }, nil},
		"a VM is deleted":           {func(u, _ cache.ResourceEventHandler) { u.OnDelete(using("old")) }, []string{"old"}},
		"a missed deletion of a VM": {func(u, _ cache.ResourceEventHandler) { u.OnDelete(cache.DeletedFinalStateUnknown{Obj: using("old")}) }, []string{"old"}},
		"an instance names others":  {func(u, _ cache.ResourceEventHandler) { u.OnUpdate(running("old"), running("new")) }, []string{"old"}},
		"an instance is deleted":    {func(u, _ cache.ResourceEventHandler) { u.OnDelete(running("old")) }, []string{"old"}},
		"a refreshed revision is pinned, so the others may be unused": {
			func(u, _ cache.ResourceEventHandler) { u.OnUpdate(refreshed, using("new")) }, []string{"cached"}},
		"the start":               {func(_, m cache.ResourceEventHandler) { m.OnAdd(revisionNamed("any"), true) }, []string{"any"}},
		"a new one, not yet":      {func(_, m cache.ResourceEventHandler) { m.OnAdd(revisionNamed("any"), false) }, nil},
		"a VM that is new":        {func(u, _ cache.ResourceEventHandler) { u.OnAdd(using("old"), false) }, nil},
		"another kind is deleted": {func(u, _ cache.ResourceEventHandler) { u.OnDelete(revisionNamed("x")) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewSimpleClientset()
			c, err := New(Deps{Client: client, Informers: externalversions.NewSharedInformerFactory(client, 0)})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.revisions.GetIndexer().Add(revisionNamed("cached")); err != nil {
				t.Fatal(err)
			}
			tc.event(c.userHandler(), c.revisionHandler())
			var got []string
			for c.Keys.Len() > 0 {
				key, _, _ := c.Keys.GetWithPriority()
				c.Keys.Done(key)
				got = append(got, key.Name)
			}
			c.Keys.ShutDown()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("enqueued revisions (-want +got):\n%s", diff)
			}
		})
	}
}
