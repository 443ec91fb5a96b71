// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Kinds of disturbances.
const (
	// KindHide makes a virtual machine inaccessible. The inverse makes it readable again.
	KindHide = "hide"
	// KindMove moves a virtual machine out of its folder. The inverse moves it back.
	KindMove = "move"
	// KindUnregister removes a virtual machine from the inventory. The inverse registers it under another managed
	// object ID.
	KindUnregister = "unregister"
	// KindRenumber assigns another managed object ID and another instance UUID. The inverse restores the instance UUID
	// unless another client has already restored it.
	KindRenumber = "renumber"
)

// Kinds lists the disturbances.
func Kinds() []string { return []string{KindHide, KindMove, KindUnregister, KindRenumber} }

// Disturbance is a change of a virtual machine.
type Disturbance struct {
	// ID is the argument of Undo.
	ID int `json:"id"`
	// Kind is one of Kinds.
	Kind string `json:"kind"`
	// VM and Name are the managed object ID after the disturbance, and the name.
	VM   string `json:"vm"`
	Name string `json:"name"`

	// before is the previous value for the inverse: folder, path or instance UUID.
	before string
}

// Disturb applies a disturbance of the given kind to a random virtual machine below the folder from. Virtual machines
// that are already disturbed are skipped. An empty kind means a random one. KindMove moves to the folder to.
func (e *Events) Disturb(kind, from, to string) (Disturbance, error) {
	if kind == "" {
		kind = Kinds()[rand.IntN(len(Kinds()))]
	}
	folder, err := e.folder(from)
	if err != nil {
		return Disturbance{}, err
	}
	e.mu.Lock()
	busy := map[string]bool{}
	for _, d := range e.disturbed {
		busy[d.VM] = true
	}
	e.mu.Unlock()
	vms := slices.DeleteFunc(e.VMs(), func(vm VM) bool { return vm.Template || busy[vm.ID] || !e.below(vm.ID, folder.Self) })
	if len(vms) == 0 {
		return Disturbance{}, fmt.Errorf("folder: %q has no virtual machine to disturb", from)
	}
	vm := vms[rand.IntN(len(vms))]
	d := Disturbance{Kind: kind, VM: vm.ID, Name: vm.Name}
	switch kind {
	case KindHide:
		_, err = e.Hide(vm.ID, "")
	case KindMove:
		d.before, err = e.Move(vm.ID, to)
	case KindUnregister:
		d.before, err = e.Unregister(vm.ID)
	case KindRenumber:
		d.before = vm.InstanceUUID
		d.VM, err = e.Renumber(vm.ID)
	default:
		err = fmt.Errorf("kind: %q: must be one of %q", kind, Kinds())
	}
	if err != nil {
		return Disturbance{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last++
	d.ID = e.last
	e.disturbed[d.ID] = d
	return d, nil
}

// Undo applies the inverse of a disturbance.
func (e *Events) Undo(id int) error {
	e.mu.Lock()
	d, ok := e.disturbed[id]
	delete(e.disturbed, id)
	e.mu.Unlock()
	if !ok {
		return fmt.Errorf("id: %d is no disturbance, or was undone", id)
	}
	if d.Kind != KindUnregister {
		if _, err := e.vm(d.VM); err != nil {
			return nil // deleted meanwhile: nothing to undo
		}
	}
	switch d.Kind {
	case KindHide:
		return e.Show(d.VM)
	case KindMove:
		return e.moveBack(d)
	case KindUnregister:
		_, err := e.Register(d.before, "")
		return err
	}
	if _, err := e.vm(d.before); err == nil {
		return nil // another VM has the instance UUID
	}
	_, err := e.SetInstanceUUID(d.VM, d.before)
	return err
}

// UndoAll applies the inverse of every disturbance, starting with the last one.
func (e *Events) UndoAll() error {
	e.mu.Lock()
	var ids []int
	for id := range e.disturbed {
		ids = append(ids, id)
	}
	e.mu.Unlock()
	slices.Sort(ids)
	for _, id := range slices.Backward(ids) {
		if err := e.Undo(id); err != nil {
			return fmt.Errorf("undo disturbance %s: %w", strconv.Itoa(id), err)
		}
	}
	return nil
}
