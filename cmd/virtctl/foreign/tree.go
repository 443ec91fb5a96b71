// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// places are the kinds of objects that can be parents of a VM.
var places = []string{"Datacenter", "Folder", "ComputeResource", "ResourcePool", "Network"}

// tree holds the names and parents of inventory objects.
type tree map[types.ManagedObjectReference]node

type node struct {
	name   string
	parent *types.ManagedObjectReference
}

// readTree reads all inventory objects that the account can see.
func readTree(ctx context.Context, c *vim25.Client) (tree, error) {
	all, err := readBelow(ctx, c, c.ServiceContent.RootFolder, places)
	if err != nil {
		return nil, fmt.Errorf("reading the inventory: %w", err)
	}
	t := tree{}
	for _, e := range all {
		var n node
		for _, p := range e.PropSet {
			switch value := p.Val.(type) {
			case string:
				n.name = value
			case types.ManagedObjectReference:
				n.parent = &value
			}
		}
		t[e.Obj] = n
	}
	return t, nil
}

// readBelow reads names and parents of the objects of kinds below a container.
func readBelow(ctx context.Context, c *vim25.Client, root types.ManagedObjectReference, kinds []string) (all []types.ObjectContent, err error) {
	v, err := view.NewManager(c).CreateContainerView(ctx, root, kinds, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }() // otherwise it ends with the session
	return all, v.Retrieve(ctx, nil, []string{"name", "parent"}, &all)
}

// above returns the object and all its parents, the innermost first.
func (t tree) above(ref types.ManagedObjectReference) []types.ManagedObjectReference {
	var out []types.ManagedObjectReference
	for at := &ref; at != nil; {
		n, known := t[*at]
		if !known || len(out) > len(t) {
			break
		}
		out = append(out, *at)
		at = n.parent
	}
	return out
}

// path returns the inventory path of an object in the tree.
func (t tree) path(ref types.ManagedObjectReference) string {
	out := ""
	for _, at := range t.above(ref) {
		out = "/" + t[at].name + out
	}
	return out
}

// names reports whether text is the inventory path, a suffix of the path, or the name of an object.
func names(given, inventoryPath string) bool {
	switch {
	case strings.HasPrefix(given, "/"):
		return path.Clean(given) == inventoryPath
	case strings.Contains(given, "/"):
		return strings.HasSuffix(inventoryPath, "/"+path.Clean(given))
	}
	return given == path.Base(inventoryPath)
}
