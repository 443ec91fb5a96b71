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

// made contains the Machines whose bootstrap and infrastructure objects were created by this process. The objects need
// not be read until the conditions of the Machine report them.
type made struct {
	mu sync.Mutex
	of map[types.NamespacedName]map[types.UID]bool
}

func newMade() *made { return &made{of: map[types.NamespacedName]map[types.UID]bool{}} }

func (d *made) has(key types.NamespacedName, uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of[key][uid]
}

func (d *made) add(key types.NamespacedName, uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of[key] == nil {
		d.of[key] = map[types.UID]bool{}
	}
	d.of[key][uid] = true
}

func (d *made) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.of, key)
}

// keep removes all Machines of a MachineSet except the given ones.
func (d *made) keep(key types.NamespacedName, machines []*machine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	there := map[types.UID]bool{}
	for _, m := range machines {
		if d.of[key][m.UID] {
			there[m.UID] = true
		}
	}
	if d.of[key] = there; len(there) == 0 {
		delete(d.of, key)
	}
}

// complete creates missing bootstrap and infrastructure objects of Machines. They are missing if a process ended before
// it created them, or if they were deleted before the infrastructure was provisioned.
func (p *pass) complete(ctx context.Context) error {
	for _, m := range p.machines {
		if !p.lacks(m) {
			continue
		}
		if err := p.equip(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// lacks reports whether the bootstrap or infrastructure object of a Machine may be missing.
func (p *pass) lacks(m *machine) bool {
	if m.DeletionTimestamp != nil || ptr.Deref(m.Status.Initialization.InfrastructureProvisioned, false) || !p.named(m) {
		return false
	}
	infrastructure := conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition)
	if infrastructure == nil {
		return !p.made.has(p.key, m.UID)
	}
	bootstrap := conditions.Find(m.Status.Conditions, clusterv1alpha1.MachineBootstrapConfigReadyCondition)
	return infrastructure.Reason == clusterv1alpha1.ObjectDoesNotExistReason || bootstrap != nil && bootstrap.Reason == clusterv1alpha1.ObjectDoesNotExistReason
}

// named reports whether the references of a Machine are those that the MachineSet sets.
func (p *pass) named(m *machine) bool {
	from := &p.set.Spec.Template.Spec
	return m.Spec.InfrastructureRef == refOf(from.InfrastructureRef, m.Name) && m.Spec.Bootstrap.ConfigRef == refOf(from.Bootstrap.ConfigRef, m.Name)
}

// create creates n Machines. It creates the objects of each Machine before the next Machine.
func (p *pass) create(ctx context.Context, n int) error {
	if err := p.readTemplates(ctx); err != nil {
		return err
	}
	for range n {
		if p.after = p.pace.wait(p.set.Namespace, p.now()); p.after > 0 {
			return nil
		}
		names := make([]string, len(p.machines))
		for i, m := range p.machines {
			names[i] = m.Name
		}
		called, err := name(p.set, names, p.taken)
		if err != nil {
			return err
		}
		wanted := newMachine(p.set, called)
		if !selects(p.set, wanted) {
			return errors.New("the selector does not select the Machines of the template; no Machine is created")
		}
		m, err := p.createMachine(ctx, wanted)
		if err != nil {
			return err
		}
		p.machines = append(p.machines, m)
		if err := p.equip(ctx, m); err != nil {
			return err
		}
		p.event(corev1.EventTypeNormal, "SuccessfulCreate", "Create", "Created Machine %s", m.Name)
	}
	return nil
}

// taken reports whether a name is used by a Machine of another owner, or was used by a deleted one.
func (p *pass) taken(name string) bool {
	key := types.NamespacedName{Namespace: p.set.Namespace, Name: name}
	if _, gone := p.gone.Get(key); gone {
		return true
	}
	m, err := p.reconciler.machines.Get(key)
	return err == nil && m != nil && !metav1.IsControlledBy(m, p.set)
}

// createMachine creates a Machine. If it already exists and is controlled by the MachineSet, it returns the existing
// one.
func (p *pass) createMachine(ctx context.Context, m *machine) (*machine, error) {
	machines := p.client.Machines(m.Namespace)
	created, err := machines.Create(ctx, m, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if created, err = machines.Get(ctx, m.Name, metav1.GetOptions{}); err == nil && !metav1.IsControlledBy(created, p.set) {
			p.reconciler.machines.Wrote(created) // The next reconcile chooses another name.
			return nil, fmt.Errorf("creating Machine %s: a Machine with this name exists and is not controlled by MachineSet %s", m.Name, p.set.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("creating Machine %s: %w", m.Name, err)
	}
	p.reconciler.machines.Wrote(created)
	return created, nil
}

// readTemplates reads the templates of the MachineSet, once per reconcile.
func (p *pass) readTemplates(ctx context.Context) error {
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

// equip creates the bootstrap and the infrastructure object of m if they do not exist.
func (p *pass) equip(ctx context.Context, m *machine) error {
	if err := p.readTemplates(ctx); err != nil {
		return err
	}
	for _, template := range p.templates {
		made, err := contract.Clone(template, contract.Identity{
			Namespace: m.Namespace, Name: m.Name, Labels: labelsOf(p.set), Annotations: p.set.Spec.Template.Metadata.Annotations,
			Owner: metav1.NewControllerRef(m, clusterv1alpha1.SchemeGroupVersion.WithKind(machineKind)),
		})
		if err != nil {
			return fmt.Errorf("creating the objects of Machine %s: %w", m.Name, err)
		}
		if err := p.createExternal(ctx, m, made); err != nil {
			return err
		}
	}
	p.made.add(p.key, m.UID)
	return nil
}

func (p *pass) createExternal(ctx context.Context, m *machine, o *unstructured.Unstructured) error {
	what := o.GetKind() + " " + o.GetName()
	kind, err := p.external.Resolve(ctx, strings.Split(o.GetAPIVersion(), "/")[0], o.GetKind())
	if err != nil {
		return fmt.Errorf("creating %s: %w", what, err)
	}
	o.SetGroupVersionKind(kind.GVK)
	objects := kind.Client.Resource(kind.GVR).Namespace(m.Namespace)
	_, err = objects.Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var there *unstructured.Unstructured
		if there, err = objects.Get(ctx, o.GetName(), metav1.GetOptions{}); err == nil && !metav1.IsControlledBy(there, m) {
			return fmt.Errorf("creating %s: an object with this name exists and is not controlled by Machine %s", what, m.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", what, err)
	}
	return nil
}
