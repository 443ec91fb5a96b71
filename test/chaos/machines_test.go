// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vmware/govmomi"
	vsphere "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	vcenterevents "github.com/slipway-dev/slipway/test/vcenter/events"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// move moves a managed VM out of the managed folder. The end of the event moves it back.
func move(ctx context.Context, s *storm) (func(context.Context) error, error) {
	v, err := s.anyMachine(ctx)
	if err != nil {
		return nil, err
	}
	home := *v.Parent
	return func(ctx context.Context) error { return s.moveTo(ctx, v.Self, home) }, s.moveTo(ctx, v.Self, s.elsewhere)
}

func (s *storm) moveTo(ctx context.Context, machine, folder vimtypes.ManagedObjectReference) error {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return err
	}
	defer logout()
	var v mo.VirtualMachine
	if err := c.RetrieveOne(ctx, machine, []string{"parent"}, &v); err != nil || v.Parent == nil || *v.Parent == folder {
		return nil // its user has deleted it, or it is already there
	}
	task, err := vsphere.NewFolder(c.Client, folder).MoveInto(ctx, []vimtypes.ManagedObjectReference{machine})
	if err != nil {
		return fmt.Errorf("moving %s: %w", machine.Value, err)
	}
	return task.Wait(ctx)
}

// anyMachine chooses a VM that is created and in its folder, and records that it belongs to its object.
func (s *storm) anyMachine(ctx context.Context) (*mo.VirtualMachine, error) {
	c, logout, err := fleetcheck.Connect(ctx, s.cluster)
	if err != nil {
		return nil, err
	}
	defer logout()
	all, err := s.ours(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is no VM yet")
	}
	v := &all[s.random.IntN(len(all))]
	s.belongs(v, v.Self.Value)
	return v, nil
}

// ours returns the managed VMs that are created and in their folder, by name.
func (s *storm) ours(ctx context.Context, c *govmomi.Client) ([]mo.VirtualMachine, error) {
	var all []mo.VirtualMachine
	if err := vsphereclient.Everything(ctx, c, "VirtualMachine", []string{"name", "parent", "config", "snapshot"}, &all); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(v mo.VirtualMachine) bool {
		_, owned := observe.OwnerOf(&v)
		return !owned || s.check.IsForeign(&v) || strings.HasPrefix(v.Name, restored) || observe.IsPending(&v) || v.Parent == nil || *v.Parent == s.elsewhere
	})
	slices.SortFunc(all, func(a, b mo.VirtualMachine) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// belongs records that the object of v now has the VM with that ID.
func (s *storm) belongs(v *mo.VirtualMachine, moID string) {
	owner, _ := observe.OwnerOf(v)
	s.check.Belongs(owner.UID, moID)
}

// states are the connection states of a VM that vCenter cannot read in full.
var states = []string{"inaccessible", "invalid", "orphaned", "disconnected"}

// hide makes a VM unreadable for vCenter. The end of the event makes it readable again, unless the user has deleted it.
func hide(ctx context.Context, s *storm) (func(context.Context) error, error) {
	v, err := s.anyMachine(ctx)
	if err != nil {
		return nil, err
	}
	show := func(ctx context.Context) error {
		var all []vcenterevents.VM
		if err := s.control(ctx, http.MethodGet, "/vms", &all); err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(vm vcenterevents.VM) bool { return vm.ID == v.Self.Value }) {
			return nil
		}
		return s.control(ctx, http.MethodPost, "/vm/show?vm="+v.Self.Value, nil)
	}
	return show, s.control(ctx, http.MethodPost, "/vm/hide?vm="+v.Self.Value+"&state="+s.pick(states), nil)
}

// renumber gives a VM another managed object ID and another instance UUID.
func renumber(ctx context.Context, s *storm) (func(context.Context) error, error) {
	v, err := s.anyMachine(ctx)
	if err != nil {
		return nil, err
	}
	var moID string
	if err := s.control(ctx, http.MethodPost, "/vm/renumber?vm="+v.Self.Value, &moID); err != nil {
		return nil, err
	}
	s.belongs(v, moID)
	return func(ctx context.Context) error { return s.confirm(ctx, v, moID) }, nil
}

// confirm confirms that a VM had another managed object ID before, as virtctl adopt --copies does.
func (s *storm) confirm(ctx context.Context, v *mo.VirtualMachine, moID string) error {
	owner, _ := observe.OwnerOf(v)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, vmv1alpha1.AnnotationConfirmedMissing, v.Self.Value+"="+moID)
	_, err := s.api.VmV1alpha1().VirtualMachines(owner.Key.Namespace).Patch(ctx, owner.Key.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil // its user has deleted it
	}
	return err
}

// unregister removes a VM from the inventory. The end of the event registers it again, which assigns another managed
// object ID. The user sends no more orders for it, because deleting a missing VM abandons it.
func unregister(ctx context.Context, s *storm) (func(context.Context) error, error) {
	v, err := s.anyMachine(ctx)
	if err != nil {
		return nil, err
	}
	owner, _ := observe.OwnerOf(v)
	i := slices.IndexFunc(s.fleet.machines, func(m *machine) bool { return m.key() == owner.Key.String() })
	if i < 0 || !s.fleet.machines[i].exists || !s.fleet.machines[i].busy.CompareAndSwap(false, true) {
		return nil, nil // another operation runs
	}
	var file, moID string
	if err := s.control(ctx, http.MethodPost, "/vm/unregister?vm="+v.Self.Value, &file); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if moID == "" {
			if err := s.control(ctx, http.MethodPost, "/vm/register?"+url.Values{"path": {file}}.Encode(), &moID); err != nil {
				return err
			}
		}
		s.belongs(v, moID)
		return s.confirm(ctx, v, moID) // A killed server does not know where the VM was.
	}, nil
}
