// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// recover makes the virtual machine again that all of group say they are. More than one may:
// copies, and VMs of earlier objects of the name.
func (r *recovery) recover(ctx context.Context, group []orphans.RecordedVM) {
	var usable []orphans.RecordedVM
	var records []*vmrecord.Record
	for _, k := range group {
		switch rec, err := readRecord(&k); {
		case k.State == orphans.Newer:
			r.done("virtualmachine", k.Namespace, k.Name, "is newer than its record, which the server writes")
		case err != nil:
			r.fail(k.Namespace, k.Name, fmt.Sprintf("VM %s (%s): %s", k.UniqueID, k.VSphereName, err))
		default:
			usable, records = append(usable, k), append(records, rec)
		}
	}
	switch {
	case len(usable) == 0:
		return
	case len(usable) > 1:
		var vms []string
		for _, k := range usable {
			vms = append(vms, k.UniqueID+" in "+k.VCenter)
		}
		r.fail(group[0].Namespace, group[0].Name, fmt.Sprintf("%d VMs say that they are it, %s: empty the setting slipway.vm of all but one",
			len(usable), strings.Join(vms, ", ")))
		return
	}
	k, rec := &usable[0], records[0]
	what, err := r.makeAgain(ctx, k, rec)
	if err != nil {
		r.fail(k.Namespace, k.Name, cli.Reason(err))
		return
	}
	r.done("virtualmachine", k.Namespace, k.Name, what)
}

// readRecord reads the record that a VM keeps. Whoever can change the settings of a VM can
// change that: it counts for the object alone that the VM belongs to.
func readRecord(k *orphans.RecordedVM) (*vmrecord.Record, error) {
	if k.State == orphans.NameTaken {
		return nil, fmt.Errorf("another object has the name: the VM belonged to one with UID %s", k.UID)
	}
	if k.Record == "" {
		return nil, fmt.Errorf("it keeps no record; take it over by spec.instanceUUID %s", k.InstanceUUID)
	}
	rec, err := vmrecord.Decode(k.Record)
	if err != nil {
		return nil, err
	}
	if rec.Namespace != k.Namespace || rec.Name != k.Name || string(rec.UID) != k.UID {
		return nil, fmt.Errorf("its record is one of %s/%s with UID %s", rec.Namespace, rec.Name, rec.UID)
	}
	if uuid := cmp.Or(rec.Spec.InstanceUUID, k.UID); !strings.EqualFold(uuid, k.InstanceUUID) {
		return nil, fmt.Errorf("it is a copy: its instance UUID is %s, and that of the object is %s", k.InstanceUUID, uuid)
	}
	return rec, nil
}

// makeAgain makes the object of rec, or makes it what rec says, and tells what was done. What
// it has captured comes first, for an object without it would have no size, and so do the
// groups that it keeps, of which nobody is told any more once it is there.
func (r *recovery) makeAgain(ctx context.Context, k *orphans.RecordedVM, rec *vmrecord.Record) (string, error) {
	for i := range rec.Revisions {
		if err := r.ensure(ctx, &rec.Revisions[i], rec.Namespace); err != nil {
			return "", err
		}
	}
	for _, g := range rec.ParentGroups() {
		if err := r.ensureGroup(ctx, &g, rec.Namespace); err != nil {
			return "", err
		}
	}
	machines := r.client.VmV1alpha1().VirtualMachines(rec.Namespace)
	if k.State == orphans.Older {
		return "updated", retry.RetryOnConflict(retry.DefaultRetry, func() error { return r.update(ctx, k, rec) })
	}
	obj := rec.Object()
	obj.Status.UniqueID, obj.Status.BiosUUID, obj.Status.InstanceUUID = k.UniqueID, k.BiosUUID, k.InstanceUUID
	_, err := machines.Create(ctx, obj, r.createOptions())
	if apierrors.IsAlreadyExists(err) {
		there, gerr := machines.Get(ctx, rec.Name, metav1.GetOptions{})
		if gerr == nil && there.UID == rec.UID {
			return "exists", nil
		}
	}
	return "created", err
}

// update makes the object what rec says: first what it has captured, for with the rest its
// configuration counts again.
func (r *recovery) update(ctx context.Context, k *orphans.RecordedVM, rec *vmrecord.Record) error {
	machines := r.client.VmV1alpha1().VirtualMachines(rec.Namespace)
	vm, err := machines.Get(ctx, rec.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(vm.UID) != k.UID {
		return fmt.Errorf("another object has got the name meanwhile")
	}
	status := vm.DeepCopy()
	status.Status.InstancetypeRef, status.Status.PreferenceRef = rec.InstancetypeRef, rec.PreferenceRef
	if !equality.Semantic.DeepEqual(status.Status, vm.Status) {
		written, err := machines.UpdateStatus(ctx, status, r.updateOptions())
		if err != nil {
			return err
		}
		if !r.dryRun.On() {
			vm = written
		}
	}
	rec.Restore(vm)
	_, err = machines.Update(ctx, vm, r.updateOptions())
	return err
}

// ensure makes a revision that is not there. The mark keeps it until its virtual machines
// are.
func (r *recovery) ensure(ctx context.Context, recorded *itv1alpha1.ControllerRevision, namespace string) error {
	key := namespace + "/" + recorded.Name
	if r.revisions[key] {
		return nil
	}
	revision := &itv1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: recorded.Name, Labels: recorded.Labels,
			Annotations: map[string]string{itv1alpha1.AnnotationRecovered: "true"},
		},
		Data: recorded.Data, Revision: recorded.Revision,
	}
	revisions := r.client.InstancetypeV1alpha1().ControllerRevisions(namespace)
	_, err := revisions.Create(ctx, revision, r.createOptions())
	if apierrors.IsAlreadyExists(err) {
		var there *itv1alpha1.ControllerRevision
		if there, err = revisions.Get(ctx, recorded.Name, metav1.GetOptions{}); err == nil {
			err = instancetype.CheckSameContent(there, revision)
		}
	}
	if err != nil {
		return fmt.Errorf("making ControllerRevision %s again: %w", recorded.Name, err)
	}
	r.revisions[key] = true
	return nil
}

// ensureGroup makes a group that is not there. One that is there stays as it is: groups say
// what becomes of others, and which of the two is newer nobody knows.
func (r *recovery) ensureGroup(ctx context.Context, recorded *vmrecord.Group, namespace string) error {
	key := namespace + "/" + recorded.Name
	if r.groups[key] {
		return nil
	}
	group := &vmv1alpha1.VirtualMachineGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: recorded.Name, Labels: recorded.Labels, Annotations: recorded.Annotations},
		Spec:       recorded.Spec,
	}
	_, err := r.client.VmV1alpha1().VirtualMachineGroups(namespace).Create(ctx, group, r.createOptions())
	switch {
	case err == nil:
		r.done("virtualmachinegroup", namespace, recorded.Name, "created")
	case !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("making VirtualMachineGroup %s again: %w", recorded.Name, err)
	}
	r.groups[key] = true
	return nil
}
