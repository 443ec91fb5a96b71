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

// recover recreates the virtual machine that the VMs in group claim to be. Copies, and VMs of earlier objects with
// the same name, can make the same claim.
func (r *recovery) recover(ctx context.Context, group []orphans.RecordedVM) {
	var usable []orphans.RecordedVM
	var records []*vmrecord.Record
	for _, k := range group {
		switch rec, err := readRecord(&k); {
		case k.State == orphans.Newer:
			r.done("virtualmachine", k.Namespace, k.Name, "is newer than its record, which the server will update")
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
		r.fail(group[0].Namespace, group[0].Name, fmt.Sprintf("%d VMs claim to be this virtual machine, %s: clear the setting slipway.vm of all but one",
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

// readRecord reads the record in a VM. A user who can change a VM's settings can change its record, so it is
// accepted only for the object that the VM belongs to.
func readRecord(k *orphans.RecordedVM) (*vmrecord.Record, error) {
	if k.State == orphans.NameTaken {
		return nil, fmt.Errorf("another object has this name: the VM belonged to an object with UID %s", k.UID)
	}
	if k.Record == "" {
		return nil, fmt.Errorf("the VM has no record; adopt it with spec.instanceUUID %s", k.InstanceUUID)
	}
	rec, err := vmrecord.Decode(k.Record)
	if err != nil {
		return nil, err
	}
	if rec.Namespace != k.Namespace || rec.Name != k.Name || string(rec.UID) != k.UID {
		return nil, fmt.Errorf("its record belongs to %s/%s with UID %s", rec.Namespace, rec.Name, rec.UID)
	}
	if uuid := cmp.Or(rec.Spec.InstanceUUID, k.UID); !strings.EqualFold(uuid, k.InstanceUUID) {
		return nil, fmt.Errorf("the VM is a copy: its instance UUID is %s, that of the object is %s", k.InstanceUUID, uuid)
	}
	return rec, nil
}

// makeAgain creates or updates the object from rec and reports what it did. Pinned revisions are created first,
// because the object has no size without them. Groups are also created first, because the record is rewritten once
// the object exists.
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

// update updates the object from rec. It starts with the pinned revisions, because the next step reconciles the
// configuration.
func (r *recovery) update(ctx context.Context, k *orphans.RecordedVM, rec *vmrecord.Record) error {
	machines := r.client.VmV1alpha1().VirtualMachines(rec.Namespace)
	vm, err := machines.Get(ctx, rec.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if string(vm.UID) != k.UID {
		return fmt.Errorf("another object with this name was created in the meantime")
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

// ensure creates a revision that does not exist. Its label protects it until its virtual machines exist.
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
		return fmt.Errorf("recreating ControllerRevision %s: %w", recorded.Name, err)
	}
	r.revisions[key] = true
	return nil
}

// ensureGroup creates a group that does not exist. It does not change an existing group: groups affect other virtual
// machines, and it is unknown which version is newer.
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
		return fmt.Errorf("recreating VirtualMachineGroup %s: %w", recorded.Name, err)
	}
	r.groups[key] = true
	return nil
}
