// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"fmt"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// state returns the desired power state.
func (w Wish) state() vmv1alpha1.PowerState {
	if w.On {
		return vmv1alpha1.PoweredOn
	}
	return vmv1alpha1.PoweredOff
}

// Sight is the observed state of all sides at one time.
type Sight struct {
	// objects are the VirtualMachines of the API, by namespace/name.
	objects map[string]object
	// instances are the VirtualMachineInstances, by namespace/name.
	instances map[string]bool
	// running are the revisions that instances run with.
	running []string
	// machines are the vSphere VMs that have an owner, or are in a managed folder.
	machines []vm
	// foreign is the complete readable state of foreign VMs, by name.
	foreign map[string]string
	// folders are the paths below the managed folder. directories are the directories of VMs on datastores.
	folders, directories []string
	// revisions are the pinned instance types and preferences, by namespace/name.
	revisions map[string]bool
	// stored are the keys in etcd, resource/namespace/name.
	stored map[string]bool
	// active are the namespaces of the management cluster that are not being deleted. captured are the
	// ControllerRevisions of Slipway in the management cluster, which must no longer be created.
	active   map[string]bool
	captured []string
	// leader holds the Lease of the controllers.
	leader string
}

// expected is the state that a Sight is compared with.
type expected struct {
	want       map[string]Wish
	namespaces []string
	// moIDs are the first observed vSphere VMs of objects, by UID.
	moIDs map[string]string
	// foreign are the VMs that existed before the test, by name.
	foreign map[string]string
}

// object is a VirtualMachine.
type object struct {
	uid, moID, power, says string
	ready, deleting        bool
	// waits is true if status reports that the size requires a restart.
	waits bool
	// revisions are the revisions in status.
	revisions []string
}

// vm is a vSphere VM.
type vm struct {
	moID, name, folder, directory string
	// owner is namespace/name/uid.
	owner        string
	vcpus, memMB int32
	on, readable bool
}

// problems compares the observed state with the desired one.
func problems(e expected, s Sight) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	owned := map[string][]vm{}
	for _, m := range s.machines {
		owned[m.owner] = append(owned[m.owner], m)
	}
	for key, w := range e.want {
		o, ok := s.objects[key]
		if !ok {
			add("lost: %s is not in the API", key)
			continue
		}
		found = append(found, compare(key, w, o, owned[key+"/"+o.uid], e.moIDs[o.uid])...)
		if s.instances[key] != w.On {
			add("instance: %s has a VirtualMachineInstance: %t, and is to be powered on: %t", key, s.instances[key], w.On)
		}
		if !s.active[w.Namespace] {
			add("lost: the namespace of %s is not in the management cluster, or is being deleted", key)
		}
		for _, r := range o.revisions {
			if !s.revisions[r] {
				add("lost: %s names the revision %s, which does not exist", key, r)
			}
		}
	}
	found = append(found, leftovers(e, s)...)
	found = append(found, unequal(s)...)
	if s.leader == "" {
		add("stuck: no replica holds the Lease of the controllers")
	}
	for name, was := range e.foreign {
		switch is, ok := s.foreign[name]; {
		case !ok:
			add("foreign: %s is deleted", name)
		case is != was:
			add("foreign: %s was touched: %s", name, difference(was, is))
		}
	}
	slices.Sort(found)
	return found
}

// compare checks one VM that must exist.
func compare(key string, w Wish, o object, machines []vm, first string) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if o.deleting {
		add("lost: %s is being deleted, and no user requested it: %s", key, o.says)
	}
	if !o.ready {
		add("stuck: %s is not ready: %s", key, o.says)
	}
	if o.power != string(w.state()) {
		add("stuck: %s is %s, want %s: %s", key, o.power, w.state(), o.says)
	}
	switch len(machines) {
	case 0:
		add("lost: %s (%s) has no machine in vSphere; status names %q", key, o.uid, o.moID)
		return found
	case 1:
	default:
		add("twice: %s has %d machines in vSphere: %v", key, len(machines), machines)
	}
	m := machines[0]
	if m.moID != o.moID && len(machines) == 1 {
		add("identity: %s names %q in status, and its machine is %s", key, o.moID, m.moID)
	}
	if first != "" && m.moID != first {
		add("lost: %s was the machine %s, and is %s now", key, first, m.moID)
	}
	if !m.readable {
		add("stuck: the machine %s of %s cannot be read", m.moID, key)
	}
	if m.on != w.On {
		add("stuck: the machine of %s is powered on: %t, want %t", key, m.on, w.On)
	}
	if (m.vcpus != w.VCPUs || m.memMB != w.MemoryMB) && !o.waits {
		add("stuck: the machine of %s has %d vCPUs and %d MiB, want %d and %d, and status names no restart: %s",
			key, m.vcpus, m.memMB, w.VCPUs, w.MemoryMB, o.says)
	}
	if namespace, name, _ := strings.Cut(key, "/"); m.folder != namespace || m.name != name {
		add("identity: the machine of %s is %s/%s", key, m.folder, m.name)
	}
	return found
}

// leftovers returns objects that do not belong to a desired object.
func leftovers(e expected, s Sight) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	used, directories := map[string]bool{}, map[string]bool{}
	for key, o := range s.objects {
		if _, ok := e.want[key]; !ok {
			add("left: %s is in the API: %s", key, o.says)
		}
		for _, r := range o.revisions {
			used[r] = true
		}
	}
	for key := range s.instances {
		if _, ok := e.want[key]; !ok {
			add("left: VirtualMachineInstance %s", key)
		}
	}
	for _, m := range s.machines {
		directories[m.directory] = true
		key := m.owner[:max(strings.LastIndex(m.owner, "/"), 0)]
		if o, ok := s.objects[key]; !ok || key+"/"+o.uid != m.owner {
			add("left: the machine %s (%s/%s) of %q", m.moID, m.folder, m.name, m.owner)
		}
	}
	for r := range s.revisions {
		if !used[r] && !slices.Contains(s.running, r) {
			add("left: neither status nor instance names the revision %s", r)
		}
	}
	for _, d := range s.directories {
		if !directories[d] {
			add("left: directory %s belongs to no machine", d)
		}
	}
	// The folder of a namespace is kept after the namespace is deleted. vCenter cannot delete a folder on the condition
	// that it is empty: it deletes every VM in it.
	for _, f := range s.folders {
		if !slices.Contains(e.namespaces, f) {
			add("left: folder %s belongs to no namespace", f)
		}
	}
	for _, r := range s.captured {
		add("left: the ControllerRevision %s in the management cluster", r)
	}
	return found
}

// storedKinds are the resources that are compared with the store.
var storedKinds = []string{"virtualmachines", "virtualmachineinstances", "controllerrevisions"}

// unequal compares the served objects with the stored ones.
func unequal(s Sight) []string {
	served := map[string]bool{}
	for key := range s.objects {
		served[storedKinds[0]+"/"+key] = true
	}
	for key := range s.instances {
		served[storedKinds[1]+"/"+key] = true
	}
	for key := range s.revisions {
		served[storedKinds[2]+"/"+key] = true
	}
	var found []string
	for key := range served {
		if !s.stored[key] {
			found = append(found, "store: "+key+" is served and not stored")
		}
	}
	for key := range s.stored {
		if !served[key] {
			found = append(found, "store: "+key+" is stored and not served")
		}
	}
	return found
}

// difference returns the parts of two texts around their first difference.
func difference(was, is string) string {
	const around = 60
	i := 0
	for i < len(was) && i < len(is) && was[i] == is[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-around):min(len(s), i+around)] }
	return fmt.Sprintf("…%s… became …%s…", cut(was), cut(is))
}
