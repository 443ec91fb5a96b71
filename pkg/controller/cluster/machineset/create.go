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

// burst is how many Machines a pass makes or deletes; others have their turn before the next.
const burst = 20

// made are the Machines, by their set, whose objects this process has made. It saves asking
// for them until the Machine's own conditions tell of them.
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

// keep forgets all Machines of a set but those.
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

// complete makes the objects that Machines of the set refer to and that are not there: those
// of Machines that a process had made before it ended, and those that somebody deleted before
// they had become anything.
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

// lacks is true for a Machine that may have no bootstrap or infrastructure object.
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

// named is true for a Machine whose references are those that the set gives it.
func (p *pass) named(m *machine) bool {
	from := &p.set.Spec.Template.Spec
	return m.Spec.InfrastructureRef == refOf(from.InfrastructureRef, m.Name) && m.Spec.Bootstrap.ConfigRef == refOf(from.Bootstrap.ConfigRef, m.Name)
}

// create makes n Machines, and for each the objects that it refers to before the next one.
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
			return errors.New("the selector does not select what the template makes: there would be no end of Machines")
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

// taken is true for the name of a Machine that is not of the set, or that is gone.
func (p *pass) taken(name string) bool {
	key := types.NamespacedName{Namespace: p.set.Namespace, Name: name}
	if _, gone := p.gone.Get(key); gone {
		return true
	}
	m, err := p.reconciler.machines.Get(key)
	return err == nil && m != nil && !metav1.IsControlledBy(m, p.set)
}

// createMachine makes a Machine, or finds the one that an earlier pass made without hearing of
// it.
func (p *pass) createMachine(ctx context.Context, m *machine) (*machine, error) {
	machines := p.client.Machines(m.Namespace)
	created, err := machines.Create(ctx, m, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if created, err = machines.Get(ctx, m.Name, metav1.GetOptions{}); err == nil && !metav1.IsControlledBy(created, p.set) {
			p.reconciler.machines.Wrote(created) // so that the next pass looks for another name
			return nil, fmt.Errorf("creating Machine %s: one of that name exists that is not of MachineSet %s", m.Name, p.set.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("creating Machine %s: %w", m.Name, err)
	}
	p.reconciler.machines.Wrote(created)
	return created, nil
}

// readTemplates reads the templates of the set, once in a pass.
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

// equip makes the bootstrap and the infrastructure object of m, as far as they are not there.
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
			return fmt.Errorf("making the objects of Machine %s: %w", m.Name, err)
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
			return fmt.Errorf("creating %s: one of that name exists that is not of Machine %s", what, m.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("creating %s: %w", what, err)
	}
	return nil
}
