// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package charge

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
)

// reader returns the virtual machines that use a class with one vCPU.
type reader struct {
	quota.Reader
	followers []vmv1alpha1.VirtualMachine
}

func (r reader) VirtualMachines(context.Context, string) ([]vmv1alpha1.VirtualMachine, error) {
	return r.followers, nil
}

func (reader) Class(context.Context, string, string) (*vmv1alpha1.VirtualMachineClass, error) {
	return classOf(1), nil
}

func classOf(sockets int32) *vmv1alpha1.VirtualMachineClass {
	c := &vmv1alpha1.VirtualMachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "1"}}
	c.Spec.CPU.Sockets, c.Spec.Memory.Guest = sockets, resource.NewQuantity(1<<30, resource.BinarySI)
	return c
}

// vmOf returns a stored VM whose spec has the given number of vCPUs.
func vmOf(sockets int32) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", ResourceVersion: "1", Generation: 1}}
	vm.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Sockets: sockets}
	vm.Spec.Memory = &vmv1alpha1.VirtualMachineMemory{Guest: resource.NewQuantity(1<<30, resource.BinarySI)}
	return vm
}

// observed returns vm with an updated status.
func observed(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	vm.Status.Resources = &vmv1alpha1.VirtualMachineResources{VCPUs: 1, Memory: vm.Spec.Memory.Guest}
	return vm
}

// attempt returns the attributes of one attempt of the store to write an object.
func attempt(resource string, operation admission.Operation, updated, stored runtime.Object, dryRun bool) admission.Attributes {
	return admission.NewAttributesRecord(updated, stored, updated.GetObjectKind().GroupVersionKind(), "ns", "vm",
		vmv1alpha1.SchemeGroupVersion.WithResource(resource), "", operation, nil, dryRun, nil)
}

// charged returns the plugin with the quota "team" of namespace ns, which limits vCPUs to 8 and has 3 in use.
func charged(t *testing.T, followers ...vmv1alpha1.VirtualMachine) (plugin *charge, used func() int64) {
	t.Helper()
	vcpus := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{vmv1alpha1.QuotaVCPUs: *resource.NewQuantity(n, resource.DecimalSI)}
	}
	host := fake.NewClientset(&corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "team", ResourceVersion: "1"},
		Status:     corev1.ResourceQuotaStatus{Hard: vcpus(8), Used: vcpus(3)},
	})
	// The plugin reads its last write if that has a newer version than the cache.
	version := 1
	host.PrependReactor("update", "resourcequotas", func(a clienttesting.Action) (bool, runtime.Object, error) {
		version++
		a.(clienttesting.UpdateAction).GetObject().(*corev1.ResourceQuota).ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	created, err := newCharge(nil)
	if err != nil {
		t.Fatal(err)
	}
	c, evaluators, quotas := created.(*charge), quota.New(), informers.NewSharedInformerFactory(host, 0)
	evaluators.SetReader(reader{followers: followers})
	c.SetDrainedNotification(t.Context().Done())
	c.SetExternalKubeInformerFactory(quotas)
	pluginInitializer{evaluators: evaluators, host: host}.Initialize(c)
	quotas.StartWithContext(t.Context())
	quotas.WaitForCacheSync(t.Context().Done())
	return c, func() int64 {
		q, err := host.CoreV1().ResourceQuotas("ns").Get(t.Context(), "team", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := q.Status.Used[vmv1alpha1.QuotaVCPUs]
		return n.Value()
	}
}

// The store repeats an update after a conflict, and a creation if the generated name is in use.
func TestQuotaAdmission_ChargesARequestOnce(t *testing.T) {
	const vms, classes = "virtualmachines", "virtualmachineclasses"
	update := func(updated, stored *vmv1alpha1.VirtualMachine) admission.Attributes {
		return attempt(vms, admission.Update, updated, stored, false)
	}
	create := attempt(vms, admission.Create, vmOf(2), nil, false)
	follower := *vmOf(1)
	follower.Spec.CPU, follower.Spec.Memory, follower.Spec.ClassName = nil, nil, "c"
	grown := attempt(classes, admission.Update, classOf(3), classOf(1), false)
	for name, tc := range map[string]struct {
		attempts []admission.Attributes
		// used is 3 before the request.
		used    int64
		refused bool
	}{
		"an update": {attempts: []admission.Attributes{update(vmOf(2), vmOf(1))}, used: 4},
		"after a write that does not change the size":      {attempts: []admission.Attributes{update(vmOf(3), vmOf(1)), update(vmOf(3), vmOf(1))}, used: 5},
		"after a status update":                            {attempts: []admission.Attributes{update(vmOf(3), vmOf(1)), update(observed(vmOf(3)), observed(vmOf(1)))}, used: 5},
		"after another client grew the VM":                 {attempts: []admission.Attributes{update(vmOf(3), vmOf(1)), update(vmOf(3), vmOf(2))}, used: 5},
		"after another client shrank the VM":               {attempts: []admission.Attributes{update(vmOf(3), vmOf(2)), update(vmOf(3), vmOf(1))}, used: 6},
		"after two other writes":                           {attempts: []admission.Attributes{update(vmOf(3), vmOf(1)), update(vmOf(3), vmOf(3)), update(vmOf(3), vmOf(1))}, used: 5},
		"a creation with another name":                     {attempts: []admission.Attributes{create, create}, used: 5},
		"an apply after another client created the object": {attempts: []admission.Attributes{create, update(vmOf(2), vmOf(1))}, used: 5},
		"a class":          {attempts: []admission.Attributes{grown, grown}, used: 5},
		"beyond the limit": {attempts: []admission.Attributes{update(vmOf(9), vmOf(1)), update(vmOf(9), vmOf(1))}, used: 3, refused: true},
		"a dry run":        {attempts: []admission.Attributes{attempt(vms, admission.Create, vmOf(2), nil, true)}, used: 3},
	} {
		t.Run(name, func(t *testing.T) {
			c, used := charged(t, follower)
			RecordCharges(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				for i, each := range tc.attempts {
					if err := c.Validate(r.Context(), each, nil); (err != nil) != tc.refused {
						t.Errorf("attempt %d failed with %v", i, err)
					}
				}
			})).ServeHTTP(nil, httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", nil))
			if got := used(); got != tc.used {
				t.Errorf("usage is %d after the request, want %d", got, tc.used)
			}
		})
	}
}

func TestQuotaAdmission_ChargesNothingForARequestThatHasEnded(t *testing.T) {
	c, used := charged(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Validate(ctx, attempt("virtualmachines", admission.Create, vmOf(1), nil, false), nil); err == nil || used() != 3 {
		t.Errorf("got error %v and usage %d, want an error and 3", err, used())
	}
}

func TestQuotaAdmission_ChargesEachRequest(t *testing.T) {
	c, used := charged(t)
	for range 2 {
		RecordCharges(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if err := c.Validate(r.Context(), attempt("virtualmachines", admission.Create, vmOf(1), nil, false), nil); err != nil {
				t.Error(err)
			}
		})).ServeHTTP(nil, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	}
	if got := used(); got != 5 {
		t.Errorf("usage is %d after two requests of 1, want 5", got)
	}
}
