// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"fmt"
	"slices"
	"strings"
)

const (
	module   = "github.com/slipway-dev/slipway/"
	govmomi  = "github.com/vmware/govmomi"
	clientGo = "k8s.io/client-go"
)

// rule holds for the packages at and below tree, unless a later rule of the table has
// a longer tree that fits too. All trees of this module are relative to it.
type rule struct {
	tree string
	// ours are the trees of this module that may be reached, besides the tree itself.
	// Nil means all.
	ours []string
	// single are packages of this module that may be reached, without what is below.
	single []string
	// never are import paths, with all below them, that may not be reached.
	never []string
	// neverDirect may not be imported by the packages themselves.
	neverDirect []string
}

// only means: of this module nothing but the tree itself.
var only = []string{}

// table says why in one column less than ARCHITECTURE.md: decisions stay pure, and
// each program and layer sees the one below it only.
var table = []rule{
	// govmomi is spoken by the provider and by the simulated vCenter alone.
	{tree: "", neverDirect: []string{govmomi}},
	{tree: "test"},
	{tree: "hack"},
	{tree: "test/localcluster", neverDirect: []string{govmomi}},
	{tree: "pkg/apis", ours: only, never: []string{clientGo, govmomi}},
	{tree: "pkg/registry", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype", "pkg/generated/openapi"}, never: []string{govmomi}},
	// It serves the API alone, without controllers and provider.
	{tree: "pkg/apiserver", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype", "pkg/registry", "pkg/generated"}, never: []string{govmomi}},
	{tree: "pkg/admission", ours: []string{"pkg/apis"}, never: []string{govmomi}},
	{tree: "pkg/hardware", ours: []string{"pkg/apis"}, never: []string{clientGo, govmomi}, neverDirect: []string{"context", "time"}},
	// Only what gathers has a context; all that is decided over it is pure.
	{tree: "pkg/instancetype", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype/apply"}, never: []string{clientGo, govmomi}, neverDirect: []string{"time"}},
	{tree: "pkg/instancetype/apply", ours: []string{"pkg/apis", "pkg/hardware"}, never: []string{clientGo, govmomi}, neverDirect: []string{"context", "time"}},
	{tree: "pkg/controller", ours: only, never: []string{govmomi}},
	{tree: "pkg/controller/priorityqueue", ours: only, never: []string{govmomi}},
	{
		tree:  "pkg/controller/virtualmachine",
		ours:  []string{"pkg/apis", "pkg/hardware", "pkg/instancetype", "pkg/provider", "pkg/generated", "pkg/controller"},
		never: []string{govmomi}, neverDirect: []string{govmomi},
	},
	{
		tree:  "pkg/controller/virtualmachine/synchronizer",
		ours:  []string{"pkg/apis", "pkg/hardware", "pkg/instancetype", "pkg/provider"},
		never: []string{govmomi}, neverDirect: []string{"k8s.io/utils/clock"},
	},
	{tree: "pkg/provider", ours: []string{"pkg/apis"}, never: []string{govmomi, clientGo}},
	// The engine plans over any driver; its lines are those of the work queue, which has
	// the interface of client-go's.
	{
		tree: "pkg/provider/engine", ours: []string{"pkg/apis", "pkg/controller/priorityqueue", "pkg/provider/engine"}, single: []string{"pkg/provider"},
		never: []string{govmomi, clientGo + "/kubernetes", clientGo + "/rest", clientGo + "/tools"},
	},
	{tree: "pkg/provider/engine/plan", ours: []string{"pkg/apis", "pkg/provider/engine/driver"}, single: []string{"pkg/provider"}, never: []string{govmomi, clientGo}, neverDirect: []string{"context"}},
	{tree: "pkg/provider/engine/driver", ours: []string{"pkg/apis"}, single: []string{"pkg/provider"}, never: []string{govmomi, clientGo}},
	{tree: "pkg/provider/fake", ours: []string{"pkg/apis", "pkg/provider/engine/driver"}, single: []string{"pkg/provider"}, never: []string{govmomi, clientGo}},
	{tree: "pkg/provider/conformance", ours: []string{"pkg/apis"}, single: []string{"pkg/provider"}, never: []string{govmomi, clientGo}},
	{tree: "pkg/provider/vsphere", ours: []string{"pkg/apis", "pkg/provider/engine/driver", "pkg/hardware"}, single: []string{"pkg/provider"}},
	{tree: "pkg/embeddedetcd", ours: only, never: []string{govmomi}},
	// What is for development and tests stays out of the product.
	{tree: "cmd/slipway-apiserver", neverDirect: []string{govmomi}, never: []string{module + "test"}},
	{tree: "cmd/virtctl", ours: []string{"pkg/apis", "pkg/generated", "pkg/hardware", "pkg/instancetype"}, never: []string{govmomi}},
}

// pkg is one package as the go command describes it.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// ruleFor is the rule with the longest tree that holds p.
func ruleFor(path string) rule {
	var best rule
	for _, r := range table {
		if below(path, module+r.tree) && len(r.tree) >= len(best.tree) {
			best = r
		}
	}
	return best
}

// below tells whether path is tree or is inside of it.
func below(path, tree string) bool {
	tree = strings.TrimSuffix(tree, "/")
	return path == tree || strings.HasPrefix(path, tree+"/")
}

// violations lists what p reaches against its rule.
func violations(p pkg) []string {
	r := ruleFor(p.ImportPath)
	var found []string
	for _, dep := range p.Deps {
		if i := slices.IndexFunc(r.never, func(n string) bool { return below(dep, n) }); i >= 0 {
			found = append(found, fmt.Sprintf("%s reaches %s", p.ImportPath, dep))
			continue
		}
		if r.ours == nil || !below(dep, module) || below(dep, module+r.tree) && ruleFor(dep).tree == r.tree {
			continue
		}
		if !slices.Contains(r.single, strings.TrimPrefix(dep, module)) && !slices.ContainsFunc(r.ours, func(o string) bool { return below(dep, module+o) }) &&
			!(r.tree == "pkg/controller" && dep == module+"pkg/controller/priorityqueue") {
			found = append(found, fmt.Sprintf("%s reaches %s", p.ImportPath, dep))
		}
	}
	for _, imp := range p.Imports {
		if slices.ContainsFunc(r.neverDirect, func(n string) bool { return below(imp, n) }) {
			found = append(found, fmt.Sprintf("%s imports %s", p.ImportPath, imp))
		}
	}
	return found
}
