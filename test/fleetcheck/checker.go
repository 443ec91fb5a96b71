// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// ManagedFolder is the inventory path of the folder for virtual machines in a
// localcluster.
const ManagedFolder = "/DC0/vm/slipway"

// Wish is a virtual machine as its user wants it.
type Wish struct {
	Namespace, Name string
	// On is true for one that is to be powered on.
	On bool
	// VCPUs and MemoryMB, in MiB, are its size.
	VCPUs, MemoryMB int32
}

// Key is namespace/name.
func (w Wish) Key() string { return w.Namespace + "/" + w.Name }

// Checker checks one environment. It is not safe for concurrent use.
type Checker struct {
	// StoreDir is where the etcd of the server keeps its data.
	StoreDir string

	cluster *localcluster.Cluster
	api     versioned.Interface
	host    kubernetes.Interface

	// moIDs are the machines in vSphere that objects were seen with first, by UID.
	moIDs map[string]string
	// What is not ours: machines, their fingerprints by name, and directories.
	foreign      map[vimtypes.ManagedObjectReference]bool
	fingerprints map[string]string
	directories  map[string]bool
	// effects are the operations that took effect in vSphere, by the keys of events. It is nil until Now.
	effects map[int32]effect
}

// New is a checker for which all is foreign that is in vSphere now.
func New(ctx context.Context, cluster *localcluster.Cluster) (*Checker, error) {
	c := &Checker{
		StoreDir: cluster.SlipwayDataDir(), cluster: cluster, moIDs: map[string]string{},
		foreign: map[vimtypes.ManagedObjectReference]bool{}, fingerprints: map[string]string{}, directories: map[string]bool{},
	}
	var err error
	if c.api, err = versioned.NewForConfig(cluster.RestConfig()); err != nil {
		return nil, fmt.Errorf("making a client of the API: %w", err)
	}
	if c.host, err = kubernetes.NewForConfig(cluster.RestConfig()); err != nil {
		return nil, fmt.Errorf("creating a client of the management cluster: %w", err)
	}
	seen := Sight{}
	if err := c.lookAtVSphere(ctx, &seen); err != nil {
		return nil, err
	}
	for _, d := range seen.directories {
		c.directories[d] = true
	}
	return c, c.noteForeign(ctx, &seen, "")
}

// Connect logs in to the vCenter of a cluster; the caller logs out. A session is not
// kept: faults end them all.
func Connect(ctx context.Context, cluster *localcluster.Cluster) (*govmomi.Client, func(), error) {
	v := cluster.VCenter()
	client, err := vsphereclient.Login(ctx, v.URL, v.CAFile, v.Username, v.Password)
	if err != nil {
		return nil, nil, err
	}
	return client, func() { _ = client.Logout(context.WithoutCancel(ctx)) }, nil
}

// IsForeign reports whether a machine existed before the checker.
func (c *Checker) IsForeign(v *mo.VirtualMachine) bool { return c.foreign[v.Self] }

// AddForeign notes that the VMs whose names begin so are not ours, as they are now.
func (c *Checker) AddForeign(ctx context.Context, prefix string) error {
	seen := Sight{}
	if err := c.lookAtVSphere(ctx, &seen); err != nil {
		return err
	}
	return c.noteForeign(ctx, &seen, prefix)
}

// noteForeign is AddForeign for those that were seen.
func (c *Checker) noteForeign(ctx context.Context, seen *Sight, prefix string) error {
	for _, m := range seen.machines {
		if strings.HasPrefix(m.name, prefix) {
			c.foreign[vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: m.moID}] = true
			c.directories[m.directory] = true
		}
	}
	if err := c.lookAtVSphere(ctx, seen); err != nil {
		return err
	}
	for name, is := range seen.foreign {
		if _, known := c.fingerprints[name]; !known {
			c.fingerprints[name] = is
		}
	}
	return nil
}

// Renumbered notes that a VM that is not ours has another managed object ID. It is false for
// others.
func (c *Checker) Renumbered(from, to string) bool {
	ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: from}
	if !c.foreign[ref] {
		return false
	}
	c.foreign[vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: to}] = true
	return true
}

// Look reads all sides. It reads the API last, so that objects created during the check are seen.
func (c *Checker) Look(ctx context.Context) (Sight, error) {
	seen := Sight{}
	if err := c.lookAtVSphere(ctx, &seen); err != nil {
		return seen, err
	}
	if c.effects != nil {
		if err := c.rememberEffects(ctx); err != nil {
			return seen, err
		}
	}
	for _, look := range []func(context.Context, *Sight) error{c.lookAtHost, c.lookAtRevisions, c.lookAtAPI, c.lookAtStore} {
		if err := look(ctx, &seen); err != nil {
			return seen, err
		}
	}
	return seen, nil
}

// Note remembers which machine of vSphere each object has, as long as nothing else is
// known of it.
func (c *Checker) Note(ctx context.Context) error {
	seen := Sight{}
	if err := c.lookAtAPI(ctx, &seen); err != nil {
		return err
	}
	for _, o := range seen.objects {
		if o.moID != "" && c.moIDs[o.uid] == "" {
			c.moIDs[o.uid] = o.moID
		}
	}
	return nil
}

// Belongs notes that the object with that UID has the machine with that ID from now on.
func (c *Checker) Belongs(uid, moID string) { c.moIDs[uid] = moID }

// Problems compares the observed state with the desired one, by Wish.Key. A folder below the managed one is expected
// for each of the namespaces.
func (c *Checker) Problems(want map[string]Wish, namespaces []string, seen Sight) []string {
	return problems(expected{want: want, namespaces: namespaces, moIDs: c.moIDs, foreign: c.fingerprints}, seen)
}

// MachinesOf are the IDs of the machines in vSphere that name an object of that key
// (namespace/name) as their owner.
func (s Sight) MachinesOf(key string) []string {
	var found []string
	for _, m := range s.machines {
		if strings.HasPrefix(m.owner, key+"/") {
			found = append(found, m.moID)
		}
	}
	return found
}
