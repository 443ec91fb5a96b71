// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
)

var (
	vmResource  = vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachines")
	vmiResource = vmv1alpha1.SchemeGroupVersion.WithResource("virtualmachineinstances")
)

// api is the generated fake clientset with those rules of a real server that matter here: resource versions and
// conflicts, a separate status, generations, and the removal of an object with its last finalizer.
type api struct {
	*fake.Clientset
	t       testing.TB
	version int
	// calls counts successful calls, by "verb resource[/subresource]".
	calls map[string]int
	// fail has the errors that calls return, by the same keys.
	fail map[string]error
	// refused is the object of the last write that failed because of fail.
	refused runtime.Object
}

func newAPI(t testing.TB, objects ...runtime.Object) *api {
	a := &api{t: t, version: 1000, calls: map[string]int{}, fail: map[string]error{}}
	for _, o := range objects {
		a.stamp(o.(metav1.Object))
	}
	a.Clientset = fake.NewSimpleClientset(objects...)
	a.PrependReactor("*", "*", a.react)
	return a
}

func (a *api) stamp(o metav1.Object) {
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + o.GetName()))
	}
}

func (a *api) react(action clienttesting.Action) (bool, runtime.Object, error) {
	name := action.GetVerb() + " " + action.GetResource().Resource
	if s := action.GetSubresource(); s != "" {
		name += "/" + s
	}
	dry := false
	if u, ok := action.(clienttesting.UpdateActionImpl); ok && len(u.UpdateOptions.DryRun) > 0 {
		name, dry = "dry-run "+name, true
	}
	if err := a.fail[name]; err != nil {
		if write, ok := action.(clienttesting.UpdateAction); ok {
			a.refused = write.GetObject()
		}
		return true, nil, err
	}
	if action.GetVerb() != "watch" && action.GetVerb() != "list" {
		a.calls[name]++
	}
	switch typed := action.(type) {
	case clienttesting.UpdateAction: // also matches every CreateAction
		if dry {
			return true, typed.GetObject(), nil
		}
		if action.GetVerb() == "create" {
			return a.create(action, typed.GetObject())
		}
		obj, err := a.update(action, typed.GetObject())
		return true, obj, err
	}
	return false, nil, nil
}

func (a *api) create(action clienttesting.Action, obj runtime.Object) (bool, runtime.Object, error) {
	obj = obj.DeepCopyObject()
	meta := obj.(metav1.Object)
	a.stamp(meta)
	meta.SetUID(types.UID(fmt.Sprintf("%s-%d", meta.GetUID(), a.version)))
	meta.SetGeneration(1)
	meta.SetCreationTimestamp(metav1.Now())
	if vmi, ok := obj.(*vmv1alpha1.VirtualMachineInstance); ok {
		vmi.Status = vmv1alpha1.VirtualMachineInstanceStatus{}
	}
	if err := a.Tracker().Create(action.GetResource(), obj, action.GetNamespace()); err != nil {
		return true, nil, err
	}
	return true, obj.DeepCopyObject(), nil
}

func (a *api) update(action clienttesting.Action, obj runtime.Object) (runtime.Object, error) {
	meta := obj.(metav1.Object)
	stored, err := a.Tracker().Get(action.GetResource(), meta.GetNamespace(), meta.GetName())
	if err != nil {
		return nil, err
	}
	if has := stored.(metav1.Object).GetResourceVersion(); has != meta.GetResourceVersion() {
		return nil, apierrors.NewConflict(action.GetResource().GroupResource(), meta.GetName(), fmt.Errorf("version %s, stored %s", meta.GetResourceVersion(), has))
	}
	next := merge(stored, obj.DeepCopyObject(), action.GetSubresource())
	a.stamp(next.(metav1.Object))
	return next.DeepCopyObject(), a.store(action.GetResource(), next)
}

// store writes obj, or removes it if it is deleted and has no finalizers.
func (a *api) store(resource schema.GroupVersionResource, obj runtime.Object) error {
	meta := obj.(metav1.Object)
	if meta.GetDeletionTimestamp() != nil && len(meta.GetFinalizers()) == 0 {
		return a.Tracker().Delete(resource, meta.GetNamespace(), meta.GetName())
	}
	return a.Tracker().Update(resource, obj, meta.GetNamespace())
}

// merge does what the server's update strategies do.
func merge(stored, next runtime.Object, subresource string) runtime.Object {
	switch next := next.(type) {
	case *vmv1alpha1.VirtualMachine:
		old := stored.DeepCopyObject().(*vmv1alpha1.VirtualMachine)
		if subresource == "status" {
			old.Status = next.Status
			return old
		}
		next.Status, next.Generation = old.Status, old.Generation
		if !equality.Semantic.DeepEqual(old.Spec, next.Spec) {
			next.Generation++
		}
	case *vmv1alpha1.VirtualMachineInstance:
		old := stored.DeepCopyObject().(*vmv1alpha1.VirtualMachineInstance)
		if subresource == "status" {
			old.Status = next.Status
			return old
		}
		next.Status = old.Status
	}
	return next
}

// vm returns the stored virtual machine, or nil if it does not exist.
func (a *api) vm(name string) *vmv1alpha1.VirtualMachine {
	obj, err := a.Tracker().Get(vmResource, "ns", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		a.t.Fatalf("reading virtual machine %s: %v", name, err)
	}
	return obj.DeepCopyObject().(*vmv1alpha1.VirtualMachine)
}

// vmi returns the stored instance, or nil if it does not exist.
func (a *api) vmi(name string) *vmv1alpha1.VirtualMachineInstance {
	obj, err := a.Tracker().Get(vmiResource, "ns", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		a.t.Fatalf("reading virtual machine instance %s: %v", name, err)
	}
	return obj.DeepCopyObject().(*vmv1alpha1.VirtualMachineInstance)
}

// edit changes the stored virtual machine like a user.
func (a *api) edit(name string, change func(*vmv1alpha1.VirtualMachine)) {
	vm := a.vm(name)
	old := vm.DeepCopy()
	change(vm)
	if !equality.Semantic.DeepEqual(old.Spec, vm.Spec) {
		vm.Generation++
	}
	a.stamp(vm)
	if err := a.store(vmResource, vm); err != nil {
		a.t.Fatalf("storing virtual machine %s: %v", name, err)
	}
}

// markDeleted deletes a virtual machine that has a finalizer.
func (a *api) markDeleted(name string) {
	a.edit(name, func(vm *vmv1alpha1.VirtualMachine) { vm.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)} })
}

// writes returns the number of writes of virtual machines.
func (a *api) writes() int {
	return a.calls["update virtualmachines"] + a.calls["update virtualmachines/status"]
}
