// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	hostfake "k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/controller/image/cache"
	"github.com/slipway-dev/slipway/pkg/controller/vm"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/reasons"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// world is a server, a vCenter, and the controllers.
type world struct {
	// Interface is a user's client.
	versioned.Interface
	t      *testing.T
	server *framework.Server
	host   *hostfake.Clientset
	ready  vcenter.Ready
	events *journal
	// datastore is the value of the flag for replicas that are started later.
	datastore string
	// more are the vCenters in addition to the default one, by the names of their VCenter objects.
	more map[string]vcenter.Ready
	// policy is the policy of replicas that are started later.
	policy cache.Policy
}

func newWorld(t *testing.T) *world {
	t.Helper()
	host := hostfake.NewClientset()
	server := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.Host = host })
	reasons.FollowIn(t, server.Config())
	return &world{Interface: server.Client(t), t: t, server: server, host: host, ready: simulated.Start(t), events: &journal{}, datastore: "LocalDS_0"}
}

// replica is a process that manages the vCenter.
type replica struct {
	driver *vsphere.Driver
	// stop stops the replica. kill stops it without another call to vCenter.
	stop, kill func()
}

// vcenters are the vCenters of a replica.
type vcenters map[string]files

// files are the copies in one vCenter.
type files struct {
	provider.ImageFiles
	provider.ImageOperator
}

func (v vcenters) Bind(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }

func (v vcenters) IsOwned(string) bool { return true }

func (v vcenters) Files(vcenter string) (cache.Files, error) {
	f, ok := v[vcenter]
	if !ok {
		return nil, &provider.NotUsableError{Message: "there is no VCenter " + vcenter, Missing: true}
	}
	return f, nil
}

func (v vcenters) Hints(ctx context.Context, changed func(provider.Event)) {
	var all sync.WaitGroup
	for _, f := range v {
		all.Go(func() { f.ImageOperator.(*engine.Engine).Watch(ctx, changed) })
	}
	all.Wait()
}

func (v vcenters) Watch(ctx context.Context, gained func(string)) {
	for name := range v {
		gained(name)
	}
	<-ctx.Done()
}

// connect connects to a vCenter.
func (w *world) connect(ready vcenter.Ready, owner string) *vsphere.Driver {
	w.t.Helper()
	d, err := vsphere.New(vsphere.Config{
		URL: ready.URL, CAFile: ready.CAFile, Datastore: w.datastore, Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5, Owner: owner,
		Credentials: func(context.Context) (string, string, error) {
			return vcenter.DefaultUsername, vcenter.DefaultPassword, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// start starts a replica with the identity of owner.
func (w *world) start(owner string) *replica {
	w.t.Helper()
	d := w.connect(w.ready, owner)
	platform := engine.New(engine.Options{Driver: d, MissingGrace: time.Second})
	platforms, all := []*engine.Engine{platform}, vcenters{vmv1alpha1.DefaultVCenter: {d.ImageFiles(), platform}}
	for name, ready := range w.more {
		other := w.connect(ready, owner)
		p := engine.New(engine.Options{Driver: other, MissingGrace: time.Second})
		all[name] = files{other.ImageFiles(), p}
		platforms = append(platforms, p)
	}
	client := framework.Client(w.t, w.server.Config())
	informers := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithTransform(controller.StripManagedFields))
	c, err := cache.New(cache.Deps{
		Client: client, Informers: informers, Recorder: w.events, Policy: w.policy,
		VCenters: all,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	clusters, err := clusterapi.New(informers, nil, w.host.Discovery())
	if err != nil {
		w.t.Fatal(err)
	}
	machines, err := vm.New(vm.Deps{
		Client: client, Informers: informers, Host: w.host, Provider: platform, Recorder: w.events, Addresses: addressclaim.New(nil, w.host.Discovery()), Machines: clusters,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	var running sync.WaitGroup
	for _, p := range platforms {
		running.Go(func() { p.Run(ctx) })
	}
	running.Go(func() {
		if err := c.Run(ctx); err != nil && ctx.Err() == nil {
			w.t.Errorf("the controller ended with: %v", err)
		}
	})
	running.Go(func() {
		if err := machines.Run(ctx); err != nil && ctx.Err() == nil {
			w.t.Errorf("the controller of virtual machines ended with: %v", err)
		}
	})
	r := &replica{driver: d}
	r.stop = sync.OnceFunc(func() { cancel(nil); running.Wait() })
	r.kill = func() { cancel(driver.ErrShutdown); running.Wait() }
	w.t.Cleanup(r.stop)
	return r
}

// order sends a control request to the simulated vCenter.
func (w *world) order(method, path string, query ...string) []byte {
	w.t.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return simulated.Control(w.t, w.ready, method, path+"?"+q.Encode())
}

// below returns the files and directories of copies on a datastore.
func (w *world) below(datastore string) []string {
	w.t.Helper()
	var all []string
	if err := json.Unmarshal(w.order(http.MethodGet, "/datastores/list", "datastore", datastore), &all); err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p string) bool { return !strings.HasPrefix(p, "slipway-images/") || p == "slipway-images/" })
}

// directories returns the directories of copies on a datastore.
func (w *world) directories(datastore string) []string {
	return slices.DeleteFunc(w.below(datastore), func(p string) bool { return !strings.HasSuffix(p, "/") })
}

// create creates a cache of photon-5.
func (w *world) create(name string, at ...vmv1alpha1.VirtualMachineImageCacheLocation) {
	w.t.Helper()
	w.createOf(name, "photon-5", at...)
}

// createOf creates a cache of an item. The name may start with that of its library.
func (w *world) createOf(name, item string, at ...vmv1alpha1.VirtualMachineImageCacheLocation) {
	w.t.Helper()
	c := &vmv1alpha1.VirtualMachineImageCache{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.ContentLibrary = vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: item}
	if library, name, ok := strings.Cut(item, "/"); ok {
		c.Spec.ContentLibrary = vmv1alpha1.ContentLibraryImageSource{Library: library, Item: name}
	}
	c.Spec.Locations = at
	if _, err := w.VmV1alpha1().VirtualMachineImageCaches().Create(w.t.Context(), c, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// on returns a location.
func on(datastore string) vmv1alpha1.VirtualMachineImageCacheLocation {
	return vmv1alpha1.VirtualMachineImageCacheLocation{Datastore: datastore}
}

// get returns a cache, or nil if it does not exist.
func (w *world) get(name string) *vmv1alpha1.VirtualMachineImageCache {
	w.t.Helper()
	c, err := w.VmV1alpha1().VirtualMachineImageCaches().Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return c
}

// until waits until a cache meets a condition.
func (w *world) until(name, what string, cond func(*vmv1alpha1.VirtualMachineImageCache) bool) *vmv1alpha1.VirtualMachineImageCache {
	w.t.Helper()
	var c *vmv1alpha1.VirtualMachineImageCache
	defer func() {
		if w.t.Failed() && c != nil {
			text, _ := json.MarshalIndent(c.Status, "", " ")
			w.t.Logf("%s: %s\nevents: %q", name, text, w.events.of())
		}
	}()
	simulated.Eventually(w.t, name+" "+what, func() bool { c = w.get(name); return c != nil && cond(c) })
	return c
}

func ready(c *vmv1alpha1.VirtualMachineImageCache) bool {
	return isTrue(c, vmv1alpha1.ConditionReady)
}

func isTrue(c *vmv1alpha1.VirtualMachineImageCache, kind string) bool {
	return conditions.IsTrue(c.Status.Conditions, kind)
}

// datastorePaths converts paths in LocalDS_0 to datastore paths.
func datastorePaths(paths []string) (out []string) {
	for _, p := range paths {
		out = append(out, "[LocalDS_0] "+p)
	}
	return out
}

// delete deletes a cache.
func (w *world) delete(name string) {
	w.t.Helper()
	if err := w.VmV1alpha1().VirtualMachineImageCaches().Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// awaitDeleted waits until a cache is deleted.
func (w *world) awaitDeleted(name string) {
	w.t.Helper()
	simulated.Eventually(w.t, name+" is deleted", func() bool { return w.get(name) == nil })
}

// journal keeps the reasons of events.
type journal struct {
	mu      sync.Mutex
	reasons []string
}

func (j *journal) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reasons = append(j.reasons, reason)
}

func (j *journal) of() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.reasons)
}
