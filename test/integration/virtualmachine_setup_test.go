// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/runtime"
	hostfake "k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/controller/revision"
	vmcontroller "github.com/slipway-dev/slipway/pkg/controller/vm"
	"github.com/slipway-dev/slipway/pkg/controller/vm/addressclaim"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere"
	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/reasons"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

func TestMain(m *testing.M) { simulated.Main(m) }

// vmWorld is a server, a vCenter and a controller.
type vmWorld struct {
	// Interface is a user's client.
	versioned.Interface
	t    *testing.T
	host *hostfake.Clientset
	// apiWrites counts the requests of the controller that are not reads.
	apiWrites *counter
	events    *vmJournal
	ready     vcenter.Ready
	// policy is the reference policy for instance types at the next start.
	policy synchronizer.Policy
	// blocking specifies whether the workers of the next start wait for vSphere.
	blocking bool
	// stop stops controller and provider. start starts new ones.
	stop  func()
	start func()
}

func newVMWorld(t *testing.T, options ...func(*vmWorld)) *vmWorld {
	t.Helper()
	ready := simulated.Start(t)
	host := hostfake.NewClientset()
	server := framework.StartStandaloneIn(t, t.TempDir(), func(o *app.Options) { o.Host = host })
	reasons.FollowIn(t, server.Config())
	w := &vmWorld{Interface: server.Client(t), t: t, host: host, apiWrites: &counter{}, events: &vmJournal{}, ready: ready}
	for _, set := range options {
		set(w)
	}
	w.start = func() { w.stop = w.run(server) }
	w.start()
	return w
}

// run starts a provider and a controller and returns a function that stops both.
func (w *vmWorld) run(server *framework.Server) func() {
	w.t.Helper()
	driver, err := vsphere.New(vsphere.Config{
		URL: w.ready.URL, CAFile: w.ready.CAFile, Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", MaxWait: 5,
		Credentials: func(context.Context) (string, string, error) {
			return vcenter.DefaultUsername, vcenter.DefaultPassword, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	platform := engine.New(engine.Options{Driver: driver, MissingGrace: time.Second})
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &countWrites{next, w.apiWrites} })
	client := framework.Client(w.t, config)
	informers := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithTransform(controller.StripManagedFields))
	clusters, err := clusterapi.New(informers, nil, w.host.Discovery())
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := vmcontroller.New(vmcontroller.Deps{
		Client: client, Informers: informers,
		Host: w.host, Provider: platform, Recorder: w.events, Addresses: addressclaim.New(nil, w.host.Discovery()), Machines: clusters, Queue: controller.QueueOptions{Aging: 2 * time.Second, Fairness: true},
		Policy: w.policy, Blocking: w.blocking,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	collector, err := revision.New(revision.Deps{Client: client, Informers: informers})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { platform.Run(ctx) })
	all.Go(func() {
		if err := c.Run(ctx); err != nil {
			w.t.Errorf("the controller ended with: %v", err)
		}
	})
	all.Go(func() {
		if err := collector.Run(ctx); err != nil {
			w.t.Errorf("the collector of revisions ended with: %v", err)
		}
	})
	stop := sync.OnceFunc(func() { cancel(); all.Wait() })
	w.t.Cleanup(stop)
	// Until then virtual machines report that they wait for vCenter, which is an additional write.
	simulated.Eventually(w.t, "the provider has read vCenter", func() bool { return platform.Healthy(ctx) == nil })
	return stop
}

// inVCenter returns the names of the virtual machines in vCenter, without templates.
func (w *vmWorld) inVCenter() []string {
	w.t.Helper()
	client, err := vsphereclient.Login(w.t.Context(), w.ready.URL, w.ready.CAFile, vcenter.DefaultUsername, vcenter.DefaultPassword)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = client.Logout(context.WithoutCancel(w.t.Context())) }()
	var vms []mo.VirtualMachine
	if err := vsphereclient.Everything(w.t.Context(), client, "VirtualMachine", []string{"name", "config.template"}, &vms); err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, vm := range vms {
		if vm.Config == nil || !vm.Config.Template {
			names = append(names, vm.Name)
		}
	}
	return names
}

// counter counts by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

// total returns the sum of the counts with the prefix.
func (c *counter) total(prefix string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := 0
	for name, n := range c.n {
		if strings.HasPrefix(name, prefix) {
			sum += n
		}
	}
	return sum
}

// countWrites counts requests that are not reads, as "resource/name METHOD".
type countWrites struct {
	next http.RoundTripper
	to   *counter
}

func (c *countWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		parts := strings.Split(r.URL.Path, "/")
		c.to.add(strings.Join(parts[min(6, len(parts)):], "/") + " " + r.Method)
	}
	return c.next.RoundTrip(r)
}

// vmJournal keeps the reasons of events by object.
type vmJournal struct {
	mu      sync.Mutex
	reasons map[string][]string
}

func (j *vmJournal) Eventf(regarding, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.reasons == nil {
		j.reasons = map[string][]string{}
	}
	name := regarding.(*vmv1alpha1.VirtualMachine).Name
	j.reasons[name] = append(j.reasons[name], reason)
}

func (j *vmJournal) of(name string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.reasons[name]...)
}
