// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// Kinds that belong to a virtual machine under names of their own.
const (
	snapshotKind = "VirtualMachineSnapshot"
	publishKind  = "VirtualMachinePublishRequest"
)

// object identifies an object by kind and name.
type object struct{ kind, name string }

// belongings determines which objects belong to a virtual machine.
type belongings struct {
	client        versioned.Interface
	namespace, vm string
	// owners maps objects to the names of their virtual machines, empty for deleted objects.
	owners map[object]string
}

// NewBelongings returns the belongings of a virtual machine.
func NewBelongings(client versioned.Interface, namespace, vm string) *belongings {
	return &belongings{client: client, namespace: namespace, vm: vm, owners: map[object]string{}}
}

// read lists all objects in advance, so that events need no requests of their own. Without permission to list them,
// their events are omitted.
func (b *belongings) read(ctx context.Context) error {
	api := b.client.VmV1alpha1()
	snapshots, err := api.VirtualMachineSnapshots(b.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	switch {
	case err == nil:
		for i := range snapshots.Items {
			b.owners[object{snapshotKind, snapshots.Items[i].Name}] = snapshots.Items[i].Spec.VMName
		}
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("listing snapshots: %s", cli.Reason(err))
	}
	requests, err := api.VirtualMachinePublishRequests(b.namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	switch {
	case err == nil:
		for i := range requests.Items {
			b.owners[object{publishKind, requests.Items[i].Name}] = publishedBy(&requests.Items[i])
		}
	case !apierrors.IsForbidden(err):
		return fmt.Errorf("listing publish requests: %s", cli.Reason(err))
	}
	return nil
}

// publishedBy returns the name of the virtual machine that a request publishes.
func publishedBy(r *vmv1alpha1.VirtualMachinePublishRequest) string {
	return cmp.Or(r.Spec.Source.Name, r.Name)
}

// has reports whether an event is about the virtual machine or an object that belongs to it. Objects created after
// read are read immediately.
func (b *belongings) has(ctx context.Context, e *corev1.Event) bool {
	if b == nil {
		return true
	}
	of := object{e.InvolvedObject.Kind, e.InvolvedObject.Name}
	switch of.kind {
	case "VirtualMachine", "VirtualMachineInstance":
		return of.name == b.vm
	case snapshotKind, publishKind:
	default:
		return false
	}
	owner, known := b.owners[of]
	if !known {
		owner, known = b.ask(ctx, of)
	}
	if known {
		b.owners[of] = owner
	}
	return owner == b.vm
}

// ask reads the owner of an object. It returns false if the owner is unknown because of an error that may be
// transient.
func (b *belongings) ask(ctx context.Context, of object) (string, bool) {
	api := b.client.VmV1alpha1()
	var owner string
	var err error
	if of.kind == snapshotKind {
		var s *vmv1alpha1.VirtualMachineSnapshot
		if s, err = api.VirtualMachineSnapshots(b.namespace).Get(ctx, of.name, metav1.GetOptions{}); err == nil {
			owner = s.Spec.VMName
		}
	} else {
		var r *vmv1alpha1.VirtualMachinePublishRequest
		if r, err = api.VirtualMachinePublishRequests(b.namespace).Get(ctx, of.name, metav1.GetOptions{}); err == nil {
			owner = publishedBy(r)
		}
	}
	return owner, err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}
