// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	hostfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/bootstrap"
	"github.com/slipway-dev/slipway/pkg/controller/vm/claims"
	"github.com/slipway-dev/slipway/pkg/controller/vm/group"
	"github.com/slipway-dev/slipway/pkg/controller/vm/image"
	"github.com/slipway-dev/slipway/pkg/controller/vm/imagecache"
	"github.com/slipway-dev/slipway/pkg/controller/vm/instance"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/controller/vm/synchronizer"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// testKey is the key of the virtual machine that most tests use.
var testKey = types.NamespacedName{Namespace: "ns", Name: "vm"}

// fresh returns a virtual machine as the server stores it when it is created.
func fresh(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	vm := &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", UID: "uid-vm", Generation: 1, Finalizers: []string{vmv1alpha1.VirtualMachineFinalizer}},
		Spec: vmv1alpha1.VirtualMachineSpec{
			PowerState: vmv1alpha1.PoweredOn,
			CPU:        &vmv1alpha1.VirtualMachineCPU{Sockets: 1},
			Memory:     &vmv1alpha1.VirtualMachineMemory{Guest: &memory},
			Image:      &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "photon"},
			Network:    &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}},
			Firmware:   &vmv1alpha1.VirtualMachineFirmware{UUID: "11111111-2222-3333-4444-555555555555"},
		},
	}
	for _, f := range change {
		f(vm)
	}
	return vm
}

func photon() *vmv1alpha1.VirtualMachineImage {
	return &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "photon"}}
}

// syncFunc is a synchronizer function.
type syncFunc func(*vmv1alpha1.VirtualMachine, *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error)

// singleSync is a chain with one synchronizer.
type singleSync struct {
	sync   syncFunc
	reader instancetype.Reader
}

func (l singleSync) Sync(
	ctx context.Context, vm *vmv1alpha1.VirtualMachine, vmi *vmv1alpha1.VirtualMachineInstance,
) (synchronizer.Result, error) {
	out, err := l.sync(vm, vmi)
	if out == nil {
		out = vm
	}
	effective, effectiveErr := instancetype.Effective(out, instancetype.Gather(ctx, out, l.reader))
	return synchronizer.Result{VM: out, Effective: effective}, errors.Join(err, effectiveErr)
}

// syncs replaces the synchronizers by one function.
func (h *harness) syncs(f syncFunc) { h.chain = singleSync{f, h.reader} }

// scripted is a provider with the responses of a test.
type scripted struct {
	provider.Provider
	update func(*provider.Request) (<-chan error, error)
	remove func(*provider.Request) error
	// removed is the result of a deletion.
	removed  provider.Result
	seen     func(*provider.Request)
	requests []*provider.Request
	reverted *provider.StoredSnapshotRecord
	// size is the size that vSphere shows, or nil if it shows none.
	size    *vmv1alpha1.VirtualMachineResources
	deletes int
	blocked int
	forgot  []types.NamespacedName
	unread  bool
}

func (s *scripted) IsUnread(*vmv1alpha1.VirtualMachine) bool { return s.unread }

func (s *scripted) Forget(key types.NamespacedName) { s.forgot = append(s.forgot, key) }

func (s *scripted) CreateOrUpdateVirtualMachineAsync(_ context.Context, req *provider.Request) (provider.Result, error) {
	kept := *req
	kept.VM = req.VM.DeepCopy()
	s.requests = append(s.requests, &kept)
	if s.update == nil {
		return provider.Result{Settled: true, Reverted: s.reverted}, nil
	}
	result, err := resultOf(req, s.update)
	result.Observation.Resources = s.size
	return result, err
}

func (s *scripted) CreateOrUpdateVirtualMachine(_ context.Context, req *provider.Request) (provider.Result, error) {
	s.blocked++
	r, err := s.CreateOrUpdateVirtualMachineAsync(context.Background(), req)
	if r.Ended != nil {
		err = <-r.Ended
		r.Ended = nil
	}
	return r, err
}

func (s *scripted) DeleteVirtualMachine(_ context.Context, req *provider.Request) (provider.Result, error) {
	s.deletes++
	if s.remove == nil {
		return provider.Result{}, nil
	}
	return s.removed, s.remove(req)
}

// ReportVirtualMachine returns the result of applying seen to the status.
func (s *scripted) ReportVirtualMachine(_ context.Context, req *provider.Request) (provider.Result, error) {
	if s.seen == nil {
		return provider.Result{}, nil
	}
	return resultOf(req, func(req *provider.Request) (<-chan error, error) { s.seen(req); return nil, nil })
}

// resultOf returns the changes that update makes to the status of a copy, as a result.
func resultOf(req *provider.Request, update func(*provider.Request) (<-chan error, error)) (provider.Result, error) {
	after := *req
	after.VM = req.VM.DeepCopy()
	end, err := update(&after)
	st := after.VM.Status
	r := provider.Result{Ended: end, Settled: end == nil && compared(err), Compared: true, RestartRequired: st.RestartRequired}
	r.Observation = &provider.Observation{
		PowerState: st.PowerState, UniqueID: st.UniqueID, BiosUUID: st.BiosUUID, InstanceUUID: st.InstanceUUID,
		HardwareVersion: st.HardwareVersion, Guest: st.Guest, Network: st.Network, Storage: st.Storage,
		Volumes: st.Volumes, NodeName: st.NodeName, LastRestart: st.LastRestartTime,
	}
	for _, c := range st.Conditions {
		if was := findCondition(req.VM, c.Type); was == nil || *was != c {
			r.Conditions = append(r.Conditions, c)
		}
	}
	return r, err
}

// compared reports whether a provider that returns err has compared the virtual machine with its spec.
func compared(err error) bool {
	for _, before := range []error{
		provider.ErrReconcileInProgress, provider.ErrTooManyCreates, provider.ErrPaused, provider.ErrUnknownState,
	} {
		if errors.Is(err, before) {
			return false
		}
	}
	_, later := provider.AsRequeue(err)
	return err == nil || later || provider.IsNoRequeue(err)
}

// ended returns the channel of an operation that has already ended.
func ended(err error) <-chan error {
	c := make(chan error, 1)
	c <- err
	close(c)
	return c
}

// journal is an event recorder that stores "type reason: note".
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%s %s: %s", kind, reason, fmt.Sprintf(note, args...)))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// harness runs single reconciles with caches that the test fills.
type harness struct {
	*reconciler
	t        testing.TB
	api      *api
	host     *hostfake.Clientset
	provider *scripted
	events   *journal
	pools    *pools
	machines *fakeMachines
	reader   *objectReader
	clock    time.Time
	// behind disables the refresh of the caches before every reconcile.
	behind bool
	caches map[string]cache.Indexer
	// sizes is the cache of instance types. It is empty unless the test fills it.
	sizes cache.Indexer
	// revisionCache is the read-through cache of revisions.
	revisionCache cache.Indexer
}

func newHarness(t testing.TB, objects ...runtime.Object) *harness {
	t.Helper()
	h := &harness{
		t:        t,
		api:      newAPI(t, objects...),
		host:     hostfake.NewClientset(),
		provider: &scripted{},
		events:   &journal{},
		pools:    &pools{},
		machines: &fakeMachines{},
		clock:    time.Unix(1_700_000_000, 0),
	}
	informers := externalversions.NewSharedInformerFactory(h.api, 0)
	vms := informers.Vm().V1alpha1()
	h.caches = map[string]cache.Indexer{
		"virtualmachines":             vms.VirtualMachines().Informer().GetIndexer(),
		"virtualmachineinstances":     vms.VirtualMachineInstances().Informer().GetIndexer(),
		"virtualmachineimages":        vms.VirtualMachineImages().Informer().GetIndexer(),
		"clustervirtualmachineimages": vms.ClusterVirtualMachineImages().Informer().GetIndexer(),
		"virtualmachineclasses":       vms.VirtualMachineClasses().Informer().GetIndexer(),
		"virtualmachinesnapshots":     vms.VirtualMachineSnapshots().Informer().GetIndexer(),
		"virtualmachineimagecaches":   vms.VirtualMachineImageCaches().Informer().GetIndexer(),
		"virtualmachinegroups":        vms.VirtualMachineGroups().Informer().GetIndexer(),
	}
	if err := vms.VirtualMachines().Informer().AddIndexers(indexers); err != nil {
		t.Fatal(err)
	}
	if err := vms.VirtualMachineImageCaches().Informer().AddIndexers(imagecache.Indexers); err != nil {
		t.Fatal(err)
	}
	copies := controller.NewStore[*vmv1alpha1.VirtualMachineImageCache](vms.VirtualMachineImageCaches().Informer(), true)
	h.sizes = informers.Instancetype().V1alpha1().VirtualMachineInstancetypes().Informer().GetIndexer()
	h.revisionCache = informers.Instancetype().V1alpha1().ControllerRevisions().Informer().GetIndexer()
	revisions := newRevisionStore(h.api.InstancetypeV1alpha1(), informers, h.host.AppsV1())
	stored, client := controller.NewStore[*vmv1alpha1.VirtualMachine](vms.VirtualMachines().Informer(), false), h.api.VmV1alpha1()
	h.reader = newObjectReader(h.api.InstancetypeV1alpha1(), informers, revisions, h.host.CoreV1())
	volumes, err := claims.NewVolumes(h.host, stored)
	if err != nil {
		t.Fatal(err)
	}
	volumes.Synced = nil // The test fills the caches.
	h.reconciler = &reconciler{
		vms:        stored,
		shard:      controller.Undivided{},
		vcenterOf:  func(vm *vmv1alpha1.VirtualMachine) string { return vm.Name },
		now:        func() time.Time { return h.clock },
		writer:     writer{vms: stored, client: client, echoes: newEchoes(), revisions: revisions, recorder: h.events, metrics: newCreateMetrics()},
		machines:   h.machines,
		group:      group.Reconciler{Groups: vms.VirtualMachineGroups().Lister(), VMs: stored},
		addresses:  claims.Addresses{Pools: h.pools},
		volumes:    volumes,
		image:      image.Reconciler{Reader: h.reader, VMs: stored},
		bootstrap:  bootstrap.Reconciler{Secrets: secretsOf(h.host)},
		imageCache: imagecache.Reconciler{Caches: copies, Client: client, Reader: h.reader, Default: vmv1alpha1.FastDeployOff},
		revert:     revert.Reconciler{VMs: stored, Client: client, Snapshots: vms.VirtualMachineSnapshots().Lister(), Reader: h.reader, Revisions: revisions},
		instance: instance.Reconciler{
			Instances: controller.NewStore[*vmv1alpha1.VirtualMachineInstance](vms.VirtualMachineInstances().Informer(), true), Client: client,
		},
		provider:        h.provider,
		namespaceLabels: func(string) map[string]string { return nil },
		revisions:       revisions,
	}
	h.syncs(func(vm *vmv1alpha1.VirtualMachine, _ *vmv1alpha1.VirtualMachineInstance) (*vmv1alpha1.VirtualMachine, error) {
		return vm, nil
	})
	h.refresh()
	return h
}

// refresh updates the caches from the stored objects.
func (h *harness) refresh() {
	h.t.Helper()
	for name, indexer := range h.caches {
		kind := map[string]string{"virtualmachines": "VirtualMachine", "virtualmachineinstances": "VirtualMachineInstance",
			"virtualmachineimages": "VirtualMachineImage", "clustervirtualmachineimages": "ClusterVirtualMachineImage", "virtualmachineclasses": "VirtualMachineClass",
			"virtualmachineimagecaches": "VirtualMachineImageCache", "virtualmachinegroups": "VirtualMachineGroup",
			"virtualmachinesnapshots": "VirtualMachineSnapshot"}[name]
		list, err := h.api.Tracker().List(vmv1alpha1.SchemeGroupVersion.WithResource(name), vmv1alpha1.SchemeGroupVersion.WithKind(kind), "")
		if err != nil {
			h.t.Fatalf("listing %s: %v", name, err)
		}
		var items []any
		add := func(o runtime.Object) { items = append(items, o.DeepCopyObject()) }
		switch list := list.(type) {
		case *vmv1alpha1.VirtualMachineList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.VirtualMachineInstanceList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.VirtualMachineImageList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.ClusterVirtualMachineImageList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.VirtualMachineSnapshotList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.VirtualMachineImageCacheList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.VirtualMachineGroupList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		case *vmv1alpha1.VirtualMachineClassList:
			for i := range list.Items {
				add(&list.Items[i])
			}
		}
		if err := indexer.Replace(items, ""); err != nil {
			h.t.Fatal(err)
		}
	}
}

// mustReconcile runs one reconcile and fails the test if it returns an error.
func (h *harness) mustReconcile() controller.Result {
	h.t.Helper()
	result, err := h.tryReconcile()
	if err != nil {
		h.t.Fatalf("reconcile: %v", err)
	}
	return result
}

func (h *harness) tryReconcile() (controller.Result, error) {
	h.t.Helper()
	if !h.behind {
		h.refresh()
	}
	h.clock = h.clock.Add(time.Second)
	return h.Reconcile(context.Background(), testKey)
}

// vm returns the stored virtual machine, which must exist.
func (h *harness) vm() *vmv1alpha1.VirtualMachine {
	h.t.Helper()
	vm := h.api.vm("vm")
	if vm == nil {
		h.t.Fatal("the virtual machine does not exist")
	}
	return vm
}

// condition returns "status/reason" of a condition of the stored virtual machine.
func (h *harness) condition(conditionType string) string {
	h.t.Helper()
	c := findCondition(h.vm(), conditionType)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

func (h *harness) secret(name string, data map[string][]byte) {
	h.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: data}
	if _, err := h.host.CoreV1().Secrets("ns").Create(context.Background(), secret, metav1.CreateOptions{}); err != nil {
		h.t.Fatal(err)
	}
}
