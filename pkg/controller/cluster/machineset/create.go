// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/members"
)

// burst is the maximum number of Machines that one reconcile creates or deletes. The MachineSet is then queued again,
// so that others are not delayed.
const burst = 20

// createdObjects contains the Machines whose bootstrap and infrastructure objects were created by this process. The
// objects need not be read until the conditions of the Machine report them.
type createdObjects struct {
	mu    sync.Mutex
	bySet map[types.NamespacedName]map[types.UID]bool
}

func newCreatedObjects() *createdObjects {
	return &createdObjects{bySet: map[types.NamespacedName]map[types.UID]bool{}}
}

func (d *createdObjects) has(key types.NamespacedName, uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bySet[key][uid]
}

func (d *createdObjects) add(key types.NamespacedName, uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bySet[key] == nil {
		d.bySet[key] = map[types.UID]bool{}
	}
	d.bySet[key][uid] = true
}

func (d *createdObjects) remove(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.bySet, key)
}

// retain removes all Machines of a MachineSet except the given ones.
func (d *createdObjects) retain(key types.NamespacedName, machines []*machine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	existing := map[types.UID]bool{}
	for _, m := range machines {
		if d.bySet[key][m.UID] {
			existing[m.UID] = true
		}
	}
	if d.bySet[key] = existing; len(existing) == 0 {
		delete(d.bySet, key)
	}
}

// createMissingObjects creates missing bootstrap and infrastructure objects of Machines. They are missing if a process
// ended before it created them, or if they were deleted before the infrastructure was provisioned.
func (p *reconcileRun) createMissingObjects(ctx context.Context) error {
	for _, m := range p.machines {
		if !p.mayLackObjects(m) {
			continue
		}
		if err := p.createObjects(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// mayLackObjects reports whether the bootstrap or infrastructure object of a Machine may be missing.
func (p *reconcileRun) mayLackObjects(m *machine) bool {
	if m.DeletionTimestamp != nil || ptr.Deref(m.Status.Initialization.InfrastructureProvisioned, false) || !p.hasOwnReferences(m) {
		return false
	}
	infrastructure := conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition)
	if infrastructure == nil {
		return !p.createdObjects.has(p.key, m.UID)
	}
	bootstrap := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineBootstrapConfigReadyCondition)
	return infrastructure.Reason == clusterv1alpha1.ObjectDoesNotExistReason || bootstrap != nil && bootstrap.Reason == clusterv1alpha1.ObjectDoesNotExistReason
}

// hasOwnReferences reports whether the references of a Machine are those that the MachineSet sets.
func (p *reconcileRun) hasOwnReferences(m *machine) bool {
	from := &p.set.Spec.Template.Spec
	return m.Spec.InfrastructureRef == refOf(from.InfrastructureRef, m.Name) && m.Spec.Bootstrap.ConfigRef == refOf(from.Bootstrap.ConfigRef, m.Name)
}

// create creates n Machines. It creates the objects of each Machine before the next Machine.
func (p *reconcileRun) create(ctx context.Context, n int) error {
	if err := p.readTemplates(ctx); err != nil {
		return err
	}
	for range n {
		if p.delay = p.creationLimits.take(p.set.Namespace, p.now()); p.delay > 0 {
			return nil
		}
		names := make([]string, len(p.machines))
		for i, m := range p.machines {
			names[i] = m.Name
		}
		machineName, err := newName(p.set, names, p.isNameUsed)
		if err != nil {
			return err
		}
		desired := newMachine(p.set, machineName)
		if !selects(p.set, desired) {
			return errors.New("the selector does not select the Machines of the template; no Machine is created")
		}
		m, err := p.createMachine(ctx, desired)
		if err != nil {
			return err
		}
		p.machines = append(p.machines, m)
		if err := p.createObjects(ctx, m); err != nil {
			return err
		}
		p.recordEvent(corev1.EventTypeNormal, "SuccessfulCreate", "Create", "Created Machine %s", m.Name)
	}
	return nil
}

// isNameUsed reports whether a name is used by a Machine of another owner, or was used by a deleted one.
func (p *reconcileRun) isNameUsed(name string) bool {
	key := types.NamespacedName{Namespace: p.set.Namespace, Name: name}
	if _, isDeleted := p.deletedNames.Get(key); isDeleted {
		return true
	}
	m, err := p.reconciler.machines.Get(key)
	return err == nil && m != nil && !metav1.IsControlledBy(m, p.set)
}

// createMachine creates a Machine. If it already exists and is controlled by the MachineSet, it returns the existing
// one.
func (p *reconcileRun) createMachine(ctx context.Context, m *machine) (*machine, error) {
	machines := p.client.Machines(m.Namespace)
	created, err := machines.Create(ctx, m, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if created, err = machines.Get(ctx, m.Name, metav1.GetOptions{}); err == nil && !metav1.IsControlledBy(created, p.set) {
			p.reconciler.machines.RecordWrite(created) // The next reconcile chooses another name.
			return nil, fmt.Errorf("creating Machine %s: a Machine with this name exists and is not controlled by MachineSet %s", m.Name, p.set.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("creating Machine %s: %w", m.Name, err)
	}
	p.reconciler.machines.RecordWrite(created)
	return created, nil
}

// readTemplates reads the templates of the MachineSet, once per reconcile.
func (p *reconcileRun) readTemplates(ctx context.Context) error {
	if p.templates != nil {
		return nil
	}
	var found []*unstructured.Unstructured
	from := &p.set.Spec.Template.Spec
	for _, ref := range []clusterv1alpha1.ContractVersionedObjectReference{from.Bootstrap.ConfigRef, from.InfrastructureRef} {
		if !ref.IsDefined() {
			continue
		}
		template, _, err := p.external.Get(ctx, contract.Reference{Group: ref.APIGroup, Kind: ref.Kind, Name: ref.Name}, p.set.Namespace)
		if apierrors.IsNotFound(err) {
			return &members.WaitingError{Reason: clusterv1alpha1.WaitingForTemplateReason, Message: fmt.Sprintf("%s %s does not exist", ref.Kind, ref.Name)}
		}
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", ref.Kind, ref.Name, err)
		}
		found = append(found, template)
	}
	p.templates = found
	return nil
}

// createObjects creates the bootstrap and the infrastructure object of m if they do not exist.
func (p *reconcileRun) createObjects(ctx context.Context, m *machine) error {
	if err := p.readTemplates(ctx); err != nil {
		return err
	}
	for _, template := range p.templates {
		object, err := contract.Clone(template, contract.ObjectMetadata{
			Namespace: m.Namespace, Name: m.Name, Labels: labelsOf(p.set), Annotations: p.set.Spec.Template.Metadata.Annotations,
			Owner: metav1.NewControllerRef(m, clusterv1alpha1.SchemeGroupVersion.WithKind(machineKind)),
		})
		if err != nil {
			return fmt.Errorf("creating the objects of Machine %s: %w", m.Name, err)
		}
		if err := p.createExternal(ctx, m, object); err != nil {
			return err
		}
	}
	p.createdObjects.add(p.key, m.UID)
	return nil
}

func (p *reconcileRun) createExternal(ctx context.Context, m *machine, o *unstructured.Unstructured) error {
	description := o.GetKind() + " " + o.GetName()
	kind, err := p.external.Resolve(ctx, strings.Split(o.GetAPIVersion(), "/")[0], o.GetKind())
	if err != nil {
		return fmt.Errorf("creating %s: %w", description, err)
	}
	o.SetGroupVersionKind(kind.GVK)
	objects := kind.Client.Resource(kind.GVR).Namespace(m.Namespace)
	_, err = objects.Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var existing *unstructured.Unstructured
		if existing, err = objects.Get(ctx, o.GetName(), metav1.GetOptions{}); err == nil && !metav1.IsControlledBy(existing, m) {
			return fmt.Errorf("creating %s: an object with this name exists and is not controlled by Machine %s", description, m.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", description, err)
	}
	return nil
}
