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
	// ours are the trees of this module that may be imported in addition to the tree itself. Nil means all.
	ours []string
	// single are packages of this module that are allowed without the packages below them.
	single []string
	// never are import paths that must not be imported, including the packages below them.
	never []string
	// neverDirect may not be imported by the packages themselves.
	neverDirect []string
	// why is the reason, a sentence without its full stop.
	why string
}

// only allows no package of this module except the tree itself.
var only = []string{}

// vcenterReaders are packages of the server that read a vCenter, and their dependencies.
var vcenterReaders = []string{
	"pkg/provider", "pkg/provider/engine/driver", "pkg/provider/vmrecord", "pkg/provider/vsphere/configspec", "pkg/provider/vsphere/observe", "pkg/provider/vsphere/vimfault",
}

// verbs returns the packages that a virtctl command may use, and additional trees.
func verbs(more ...string) []string {
	return append([]string{"cmd/virtctl/cli", "cmd/virtctl/login", "pkg/apis", "pkg/hardware", "pkg/generated", "pkg/instancetype"}, more...)
}

// table is also in docs/contributing/imports.md, which make generate writes.
var table = []rule{
	{tree: "", neverDirect: []string{govmomi}, why: "only the provider and the simulated vCenter use govmomi"},
	{tree: "test", why: "tests may use everything"},
	{tree: "hack", why: "generators and checks may use everything"},
	{tree: "test/localcluster", neverDirect: []string{govmomi}, why: "the local environment starts programs and does not connect to vCenter"},
	{tree: "pkg/apis", ours: only, never: []string{clientGo, govmomi}, why: "every client imports the types, and no server code with them"},
	{tree: "pkg/hardware", ours: []string{"pkg/apis"}, never: []string{clientGo, govmomi}, neverDirect: []string{"context", "time"}, why: "previews and vSphere use the same table of fields"},
	{
		tree: "pkg/registry", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/generated/openapi"}, never: []string{govmomi},
		why: "strategies only read objects; no request waits for a controller, and consoles are requested from vSphere through an interface",
	},
	{
		tree: "pkg/apiserver", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/registry", "pkg/generated"}, never: []string{govmomi},
		why: "the API is served without controllers and provider",
	},
	{
		tree: "pkg/apiserver/admission", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype/apply"}, never: []string{govmomi},
		why: "admission only reads the object and the values that the server sets",
	},
	{
		tree: "pkg/apiserver/admission/charge", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype", "pkg/registry/quota"}, never: []string{govmomi},
		why: "the evaluators decide which usage is charged",
	},
	{
		tree: "pkg/apiserver/reports", ours: []string{"pkg/apis", "pkg/hardware", "pkg/generated", "pkg/priorityqueue", "pkg/provider/engine", "pkg/store/maintenance", "pkg/store/snapshotfile"},
		single: []string{"pkg/provider", "pkg/provider/vmrecord"}, never: []string{govmomi}, why: "a report reads engines, queues and the store",
	},
	{
		tree: "pkg/registry/quota", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype"}, never: []string{govmomi},
		why: "usage is computed from objects, with the rules for creating VMs",
	},
	{
		tree: "pkg/instancetype", ours: []string{"pkg/apis", "pkg/hardware", "pkg/instancetype/apply"}, never: []string{clientGo, govmomi}, neverDirect: []string{"time"},
		why: "only the code that reads state has a context; decisions are pure functions",
	},
	{
		tree: "pkg/instancetype/apply", ours: []string{"pkg/apis", "pkg/hardware"}, never: []string{clientGo, govmomi}, neverDirect: []string{"context", "time"},
		why: "it is a pure function of values",
	},
	{
		tree: "pkg/controller", ours: only, single: []string{"pkg/apis/conditions", "pkg/priorityqueue", "pkg/priorityqueue/exposition"}, never: []string{govmomi},
		why: "the loop serves every kind of object",
	},
	{tree: "pkg/cluster/contract", ours: []string{"pkg/apis"}, never: []string{govmomi}, why: "objects of other projects' kinds are accessed only by their contract"},
	{tree: "pkg/priorityqueue", ours: only, never: []string{govmomi}, why: "a queue does not interpret keys"},
	{
		tree: "pkg/controller/revision", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "garbage collection only reads and deletes API objects, not VMs in vSphere",
	},
	{
		tree: "pkg/controller/resourcequota", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/registry/quota", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "usage is counted from objects, not from vSphere",
	},
	{
		tree: "pkg/controller/fleet/vcenter", ours: []string{"pkg/apis", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "it manages the list of vCenters and does not use them",
	},
	{
		tree:        "pkg/controller/fleet/connections",
		ours:        []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/lease", "pkg/registry", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		neverDirect: []string{govmomi}, why: "it connects drivers to the controllers that use vCenters",
	},
	{
		tree: "pkg/controller/fleet/vcenterevents", ours: []string{"pkg/apis", "pkg/hardware"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"}, never: []string{govmomi},
		why: "events of vSphere become Events, independent of their source",
	},
	{
		tree: "pkg/controller/fleet/vmmetrics", ours: []string{"pkg/apis", "pkg/hardware", "pkg/provider", "pkg/generated"}, neverDirect: []string{govmomi},
		why: "metrics follow from objects in the cache and from statistics that a driver reads",
	},
	{
		tree: "pkg/controller/fleet/zone", ours: []string{"pkg/apis", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "it receives the observed state of a zone from other packages",
	},
	{
		tree: "pkg/controller/image/library", ours: []string{"pkg/apis", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "the content of a library comes only from the provider's interface",
	},
	{
		tree: "pkg/controller/image/publish", ours: []string{"pkg/apis", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "the image of a virtual machine comes only from the provider's interface",
	},
	{
		tree: "pkg/controller/cluster/infrastructure", ours: []string{"pkg/apis", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "the infrastructure of a cluster follows from objects, not from vSphere",
	},
	{
		tree: "pkg/controller/cluster/clusterapi", ours: []string{"pkg/apis", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "it reads machines and clusters, in any API server, for infrastructure controllers",
	},
	{
		tree: "pkg/controller/group", ours: []string{"pkg/apis", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "requests to members follow from objects and the time, not from vSphere",
	},
	{
		tree: "pkg/controller/snapshot", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "snapshots are taken only with the provider's interface",
	},
	{tree: "pkg/controller/cluster/members", ours: []string{"pkg/apis"}, never: []string{govmomi}, why: "the state of a cluster's objects is computed from these objects"},
	{
		tree: "pkg/controller/cluster/machineset", ours: []string{"pkg/apis", "pkg/cluster/contract", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "infrastructure and bootstrap objects are accessed only by their contract",
	},
	{
		tree: "pkg/controller/cluster/machinedeployment", ours: []string{"pkg/apis", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "which set has how many Machines follows from objects and the time",
	},
	{
		tree: "pkg/controller/cluster/healthcheck", ours: []string{"pkg/apis", "pkg/cluster/contract", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "the health of a Machine follows from objects and the time",
	},
	{
		tree: "pkg/controller/cluster/cluster", ours: []string{"pkg/apis", "pkg/cluster/contract", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "infrastructure and control plane objects are accessed only by their contract",
	},
	{
		tree: "pkg/controller/image/image", ours: []string{"pkg/apis", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "the description of an image comes only from the provider's interface",
	},
	{
		tree: "pkg/controller/image/cache", ours: []string{"pkg/apis", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue"},
		never: []string{govmomi}, why: "copies are created only with the provider's interface",
	},
	{
		tree: "pkg/controller/vm", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/provider", "pkg/generated", "pkg/controller", "pkg/priorityqueue", "pkg/networks"},
		never: []string{govmomi}, why: "a controller uses the server like any client, and vSphere through the provider",
	},
	{
		tree: "pkg/controller/vm/synchronizer", ours: []string{"pkg/apis", "pkg/instancetype", "pkg/hardware", "pkg/provider"},
		never: []string{govmomi}, neverDirect: []string{"k8s.io/utils/clock"}, why: "a reconcile can be repeated at any time with the same result",
	},
	{
		tree: "pkg/controller/cluster/machine/node", ours: []string{"pkg/apis"}, never: []string{govmomi}, neverDirect: []string{"context"},
		why: "the relation of a Machine and its Node follows from both objects",
	},
	{
		tree: "pkg/controller/cluster/machine", ours: []string{"pkg/apis", "pkg/cluster/contract", "pkg/cluster/workload", "pkg/networks", "pkg/generated", "pkg/controller", "pkg/priorityqueue"}, never: []string{govmomi},
		why: "a machine is known by its objects and its Node, independent of its provider",
	},
	{tree: "pkg/controller/cluster/machine/drain", ours: []string{"pkg/apis"}, never: []string{govmomi}, why: "a Node is drained only through the API of its cluster"},
	{tree: "pkg/controller/cluster/machine/detach", ours: []string{"pkg/apis", "pkg/controller/cluster/machine/drain"}, never: []string{govmomi}, why: "the volumes of a Node come from the API of its cluster"},
	{tree: "pkg/provider/vmrecord", ours: []string{"pkg/apis"}, never: []string{govmomi, clientGo}, neverDirect: []string{"context", "time"}, why: "it computes a text from an object"},
	{tree: "pkg/provider", ours: []string{"pkg/apis", "pkg/hardware"}, single: []string{"pkg/provider/vmrecord"}, never: []string{govmomi, clientGo}, why: "the contract between controllers and a hypervisor uses only our types"},
	{
		tree: "pkg/provider/engine", ours: []string{"pkg/apis", "pkg/hardware", "pkg/priorityqueue", "pkg/provider/engine"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"},
		never: []string{govmomi, clientGo + "/kubernetes", clientGo + "/rest", clientGo + "/tools"},
		why:   "it plans for any driver; its queues have the interface of client-go's work queues",
	},
	{
		tree: "pkg/provider/engine/plan", ours: []string{"pkg/apis", "pkg/hardware", "pkg/provider/engine/driver"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"},
		never: []string{govmomi, clientGo}, neverDirect: []string{"context"}, why: "a plan is computed and not executed",
	},
	{tree: "pkg/provider/engine/driver", ours: []string{"pkg/apis", "pkg/hardware"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"}, never: []string{govmomi, clientGo}, why: "it is the contract between drivers and the engine"},
	{tree: "pkg/provider/fake", ours: []string{"pkg/apis", "pkg/hardware", "pkg/provider/engine/driver"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"}, never: []string{govmomi, clientGo}, why: "a driver translates and does not plan"},
	{tree: "pkg/provider/conformance", ours: []string{"pkg/apis"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"}, never: []string{govmomi, clientGo}, why: "it is true of every provider"},
	{tree: "pkg/provider/vsphere", ours: []string{"pkg/apis", "pkg/hardware", "pkg/provider/engine/driver"}, single: []string{"pkg/provider", "pkg/provider/vmrecord"}, why: "a driver translates and does not plan; no other package uses govmomi"},
	{
		tree: "pkg/controller/vm/probe", ours: []string{"pkg/apis", "pkg/hardware", "pkg/priorityqueue", "pkg/networks", "pkg/controller/vm/step"}, single: []string{"pkg/controller", "pkg/provider", "pkg/provider/vmrecord"}, never: []string{govmomi},
		why: "it connects to guests; it receives the state in vSphere only from the provider",
	},
	{
		tree: "pkg/cluster/workload", ours: []string{"pkg/apis", "pkg/priorityqueue", "pkg/networks"}, never: []string{govmomi},
		why: "it connects to clusters with their Secrets, independent of their workload",
	},
	{tree: "pkg/cluster/management", ours: []string{"pkg/networks"}, never: []string{govmomi}, why: "the addresses of the management cluster follow from its own objects"},
	{tree: "pkg/networks", ours: only, never: []string{govmomi, clientGo}, neverDirect: []string{"context", "time"}, why: "it decides by the address only"},
	{tree: "pkg/lease/fence", ours: only, never: []string{govmomi}, why: "the permission to act depends on a Lease and the time only"},
	{tree: "pkg/lease", ours: []string{"pkg/lease/fence"}, never: []string{govmomi}, why: "holding a Lease does not depend on its purpose"},
	{tree: "pkg/store/identity", ours: only, never: []string{govmomi}, why: "the identity of a store does not depend on its objects"},
	{tree: "pkg/store/etcdlog", ours: only, never: []string{govmomi, clientGo}, why: "Go initializes it before the API server library only if it imports nothing else"},
	{tree: "pkg/apiserver/inprocess", ours: only, never: []string{govmomi}, why: "the transport does not depend on the requests"},
	{tree: "pkg/apiserver/certs/authority", ours: only, never: []string{govmomi}, why: "issuing does not depend on the owner of a certificate"},
	{tree: "pkg/apiserver/certs/apiservices", ours: only, never: []string{govmomi}, why: "the registration in a management cluster does not depend on the served API"},
	{tree: "pkg/apiserver/certs/servingcert", ours: []string{"pkg/apiserver/certs/apiservices", "pkg/apiserver/certs/authority"}, never: []string{govmomi}, why: "how a server is trusted does not depend on what it serves"},
	{tree: "pkg/store/snapshotfile", ours: only, never: []string{govmomi, clientGo}, neverDirect: []string{"context", "time"}, why: "saving and restoring read a file with the same code"},
	{tree: "pkg/store/maintenance", ours: []string{"pkg/store/snapshotfile"}, never: []string{govmomi}, why: "a store does not interpret objects"},
	{tree: "pkg/store/embedded", ours: []string{"pkg/store/maintenance", "pkg/store/snapshotfile"}, never: []string{govmomi}, why: "a store does not interpret objects"},
	{
		tree: "cmd/slipway-apiserver", never: []string{module + "test"}, neverDirect: []string{govmomi},
		why: "it connects the parts; code for development and tests is not in the product",
	},
	{
		tree: "cmd/virtctl", ours: []string{"cmd/virtctl", "pkg/apis", "pkg/store/snapshotfile", "pkg/hardware", "pkg/generated", "pkg/instancetype"},
		single: []string{
			"artifacts", "artifacts/kustomized", "pkg/provider", "pkg/provider/engine/driver", "pkg/provider/vmrecord", "pkg/provider/vsphere/configspec", "pkg/provider/vsphere/observe",
			"pkg/provider/vsphere/storage", "pkg/provider/vsphere/vimfault", "pkg/controller/cluster/machine/drain",
			"pkg/provider/vsphere/access", "pkg/provider/vsphere/datastore", "pkg/provider/vsphere/placement", "pkg/provider/vsphere/session",
		},
		neverDirect: []string{govmomi}, why: "the command line is a client; it reuses the provider's comparison for changes, the drain's plan for deletions, and the server's check for missing privileges",
	},
	{
		tree: "cmd/virtctl/cli", ours: []string{"cmd/virtctl/login", "pkg/apis", "pkg/hardware", "pkg/generated", "pkg/instancetype"}, neverDirect: []string{govmomi},
		why: "the code that all commands share is a client of the Kubernetes API",
	},
	{
		tree: "cmd/virtctl/verbs", ours: verbs(), neverDirect: []string{govmomi},
		why: "a command is a client of the Kubernetes API; the rows of single commands list additional packages",
	},
	{
		tree: "cmd/virtctl/verbs/adopt", ours: verbs("cmd/virtctl/foreign"), single: append([]string{"pkg/provider/vsphere/storage"}, vcenterReaders...), neverDirect: []string{govmomi},
		why: "it reports the changes of an object by the provider's comparison",
	},
	{tree: "cmd/virtctl/verbs/backup", ours: verbs("pkg/store/snapshotfile"), neverDirect: []string{govmomi}, why: "a backup is checked as the store checks its own snapshots"},
	{
		tree: "cmd/virtctl/verbs/check", ours: verbs("cmd/virtctl/verbs", "cmd/virtctl/deployment", "cmd/virtctl/imagefile", "cmd/virtctl/upload", "artifacts"),
		single:      append([]string{"pkg/provider/vsphere/storage", "pkg/provider/vsphere/access", "pkg/provider/vsphere/datastore", "pkg/provider/vsphere/placement", "pkg/provider/vsphere/session"}, vcenterReaders...),
		neverDirect: []string{govmomi}, why: "it reports missing privileges by the server's check, and --try runs other commands",
	},
	{tree: "cmd/virtctl/verbs/dashboard", ours: verbs("cmd/virtctl/dashboard"), neverDirect: []string{govmomi}, why: "it serves the page"},
	{tree: "cmd/virtctl/verbs/drainplan", ours: verbs(), single: []string{"pkg/controller/cluster/machine/drain"}, neverDirect: []string{govmomi}, why: "it reports the Pods that a deletion would evict by the drain's plan"},
	{tree: "cmd/virtctl/verbs/image", ours: verbs("cmd/virtctl/imagefile", "cmd/virtctl/upload"), neverDirect: []string{govmomi}, why: "images are uploaded to vCenter with the account of the user"},
	{tree: "cmd/virtctl/verbs/install", ours: verbs("cmd/virtctl/deployment", "artifacts"), neverDirect: []string{govmomi}, why: "the installed objects follow from the chosen options"},
	{tree: "cmd/virtctl/verbs/recovery", ours: verbs(), single: []string{"pkg/provider/vmrecord"}, neverDirect: []string{govmomi}, why: "an object is read from the text of its record"},
	{tree: "cmd/virtctl/imagefile", ours: only, never: []string{govmomi, clientGo}, why: "the format of an image file does not depend on its destination"},
	{
		tree: "cmd/virtctl/upload", ours: []string{"cmd/virtctl/imagefile", "cmd/virtctl/login"},
		why: "images of many GB are uploaded to vCenter with the user's account, not through the server",
	},
	{tree: "cmd/virtctl/deployment", ours: []string{"pkg/apis", "artifacts"}, never: []string{govmomi}, why: "the installed objects follow from the chosen options"},
	{tree: "cmd/virtctl/dashboard", ours: []string{"pkg/apis"}, never: []string{govmomi}, why: "it forwards requests of the page without interpreting them"},
	{tree: "cmd/virtctl/login", ours: only, never: []string{clientGo}, why: "a user who connects to vCenter directly uses their own account"},
	{
		tree: "cmd/virtctl/foreign", ours: []string{"cmd/virtctl/login", "pkg/apis", "pkg/hardware", "pkg/instancetype/apply", "pkg/provider"},
		why: "a user can adopt only VMs that their account sees, and the provider computes the changes",
	},
}

// pkg is one package as the go command describes it.
type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// ruleFor returns the rule with the longest tree that contains p.
func ruleFor(path string) rule {
	var best rule
	for _, r := range table {
		if below(path, module+r.tree) && len(r.tree) >= len(best.tree) {
			best = r
		}
	}
	return best
}

// below reports whether path is tree or is inside it.
func below(path, tree string) bool {
	tree = strings.TrimSuffix(tree, "/")
	return path == tree || strings.HasPrefix(path, tree+"/")
}

// violations lists the dependencies of p that break its rule.
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
		if !slices.Contains(r.single, strings.TrimPrefix(dep, module)) && !slices.ContainsFunc(r.ours, func(o string) bool { return below(dep, module+o) }) {
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
