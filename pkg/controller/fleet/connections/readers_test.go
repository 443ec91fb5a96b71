// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/fleet/vcenterevents"
	versionedfake "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/lease"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestMain(m *testing.M) { simulated.Main(m) }

// replica is a server that manages no vCenter. VCenter one describes a simulated vCenter.
type replica struct {
	*testing.T
	*Manager
	ready vcenter.Ready
	cache cache.Indexer
	one   *vmv1alpha1.VCenter
}

func newReplica(t *testing.T) *replica {
	t.Helper()
	ready := simulated.Start(t)
	authority, err := os.ReadFile(ready.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	informers := externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "one"},
		Data:       map[string][]byte{"username": []byte(vcenter.DefaultUsername), "password": []byte(vcenter.DefaultPassword)},
	}
	v := newManager(t, Options{Informers: informers, Host: kubefake.NewSimpleClientset(secret)})
	v.zones.synced = nil
	r := &replica{T: t, Manager: v, ready: ready, cache: informers.Vm().V1alpha1().VCenters().Informer().GetIndexer(), one: &vmv1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "one", UID: "uid"},
		Spec:       vmv1alpha1.VCenterSpec{URL: ready.URL, CABundle: authority, CredentialsSecretRef: vmv1alpha1.VCenterSecretReference{Name: "one"}},
	}}
	r.must(r.cache.Add(r.one))
	r.must(informers.Vm().V1alpha1().Zones().Informer().GetIndexer().Add(r.zone()))
	t.Cleanup(func() { v.readers.leave("one") })
	return r
}

// newManager returns a Manager of a process without elections, unless o has its Leases.
func newManager(t *testing.T, o Options) *Manager {
	t.Helper()
	if o.Leases == nil {
		o.Leases = lease.New(nil)
	}
	if o.Informers == nil {
		o.Informers = externalversions.NewSharedInformerFactory(versionedfake.NewSimpleClientset(), 0)
	}
	if o.Host == nil {
		o.Host = kubefake.NewSimpleClientset()
	}
	o.SecretsNamespace, o.Owner, o.Events = "slipway-system", func() string { return "" }, vcenterevents.New(o.Host, "test")
	v, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (r *replica) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *replica) zone() *vmv1alpha1.Zone {
	return &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: vmv1alpha1.ZoneSpec{
		VCenter: "one", Datacenter: "DC0", Cluster: "DC0_C0", Folder: "/DC0/vm/slipway", DefaultNetwork: "prod",
		Networks: []vmv1alpha1.ZoneNetwork{{Name: "prod", Network: "VM Network"}}, Storage: vmv1alpha1.ZoneStorage{Datastores: []string{"LocalDS_0", "LocalDS_1"}},
	}}
}

// ask requests an offer of the zone.
func (r *replica) ask() provider.ZoneCheck {
	r.Helper()
	return r.offer(r.Context(), r.zone(), &provider.Request{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Memory: &vmv1alpha1.VirtualMachineMemory{Guest: ptr.To(resource.MustParse("1Gi"))}}, Image: &vmv1alpha1.VirtualMachineImage{Spec: vmv1alpha1.VirtualMachineImageSpec{
		ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "photon-5"},
	}}}, VM: &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "vm", UID: "vm"}}, PrerequisitesReady: true, Now: time.Now()})
}

// calls returns the calls of vCenter so far.
func (r *replica) calls() map[string]int {
	r.Helper()
	var all map[string]int
	r.must(json.Unmarshal(simulated.Control(r.T, r.ready, http.MethodGet, "/calls"), &all))
	return all
}

func TestReaders_DoNotChangeTheVCenterOfAnotherReplica(t *testing.T) {
	r := newReplica(t)
	for range 2 {
		if o := r.ask(); o.Refusal != nil || o.CheckErr != nil || o.Free.Memory == 0 || o.Rating == 0 {
			t.Fatalf("offer %+v", o)
		}
	}
	if n := r.calls()["Login"]; n != 1 {
		t.Errorf("%d logins for two requests, want one", n)
	}

	next := r.one.DeepCopy()
	next.Spec.CABundle = append(next.Spec.CABundle, '\n')
	r.must(r.cache.Update(next))
	if o := r.ask(); o.CheckErr != nil {
		t.Errorf("after a change of the VCenter: %v", o.CheckErr)
	}
	if calls := r.calls(); calls["Login"] != 2 || calls["Logout"] != 1 {
		t.Errorf("after a change of the VCenter %d logins and %d logouts, want 2 and 1", calls["Login"], calls["Logout"])
	}

	r.must(r.cache.Delete(next))
	var unusable *provider.NotUsableError
	if o := r.ask(); !errors.As(o.Refusal, &unusable) || !unusable.Missing || !strings.Contains(o.Refusal.Error(), `there is no VCenter "one"`) {
		t.Errorf("without the VCenter: %+v", o)
	}
	r.readers.leave("one")
	calls := r.calls()
	if calls["Logout"] != 2 {
		t.Errorf("%d logouts at the end, want 2", calls["Logout"])
	}
	for call, n := range calls {
		if n > 0 && (strings.HasSuffix(call, "_Task") || strings.HasPrefix(call, "Create") && call != "CreateContainerView" && call != "CreateFilter" && call != "CreatePropertyCollector" ||
			strings.Contains(call, "deploy") || strings.HasPrefix(call, "Destroy") && !strings.HasPrefix(call, "DestroyProperty") && call != "DestroyView") {
			t.Errorf("%d calls of %s, which changes something", n, call)
		}
	}
}

func TestReaders_ReadImagesOfAnotherReplicasVCenter(t *testing.T) {
	r := newReplica(t)
	names := func() (out []string, err error) {
		items, err := r.Images().Items(t.Context(), "slipway")
		for _, i := range items {
			if i.Name == "photon-5" {
				out = append(out, i.VCenter+"/"+i.Name)
			}
		}
		return out, err
	}
	r.leases.Contend(t.Context(), ControllersLease, false)
	if got, err := names(); len(got) != 0 || !errors.Is(err, provider.ErrNotInUse) {
		t.Errorf("just after the start: %v, %v, want no results", got, err)
	}
	if n := r.calls()["Login"]; n != 0 {
		t.Errorf("%d logins just after the start", n)
	}
	r.leases = lease.New(nil) // started long ago
	got, err := names()
	if diff := cmp.Diff([]string{"one/photon-5"}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	items, err := r.Images().Items(t.Context(), "slipway")
	r.must(err)
	for _, i := range items {
		if i.Name != "photon-5" {
			continue
		}
		if d, err := r.Images().DescribeItem(t.Context(), i); err != nil || d.Status.GuestID == "" {
			t.Errorf("description %+v, %v", d, err)
		}
	}
}
