// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster"
)

// store is an external etcd that keeps its address when its data is replaced.
type store struct {
	t    *testing.T
	dir  string
	etcd *embedded.Server
	// url is the address for servers. It uses TCP, as an etcd on another host.
	url string
}

func newStore(t *testing.T) *store {
	t.Helper()
	dir, err := os.MkdirTemp("", "slipway-store-") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	s := &store{t: t, dir: dir}
	t.Cleanup(func() {
		s.etcd.Close()
		_ = os.RemoveAll(dir)
	})
	s.start()
	s.url = "http://" + newLink(t, strings.TrimPrefix(s.etcd.Endpoint(), "unix://")).address()
	return s
}

// data returns the current data directory, or one that is kept for later, by name.
func (s *store) data(name string) string { return filepath.Join(s.dir, name) }

func (s *store) start() {
	s.t.Helper()
	etcd, err := embedded.Start(s.t.Context(), embedded.Options{Dir: s.data("now"), UnsafeNoFsync: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.etcd = etcd
}

// replace stops etcd, lets a function change its directory, and starts it again.
func (s *store) replace(replace func() error) {
	s.t.Helper()
	s.etcd.Close()
	if err := replace(); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

// effects returns the number of calls so far that change vSphere.
func (s *scene) effects() map[string]int {
	s.Helper()
	var all map[string]int
	s.order(http.MethodGet, "/calls", &all)
	maps.DeleteFunc(all, func(method string, _ int) bool {
		changes := strings.HasSuffix(method, "_Task") && !strings.HasPrefix(method, "Search") || strings.HasPrefix(method, "Unregister")
		return !changes
	})
	return all
}

// dependent creates a ConfigMap that the management cluster's garbage collector deletes after its owner is deleted.
func (s *scene) dependent(name string, owner metav1.OwnerReference) {
	s.Helper()
	_, err := s.host().CoreV1().ConfigMaps(namespace).Create(s.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{owner}}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

// collects waits until the garbage collector has processed all earlier objects, and checks that it has kept the
// dependents.
func (s *scene) collects(number string, left ...string) {
	s.Helper()
	maps, name := s.host().CoreV1().ConfigMaps(namespace), "orphan-"+number
	s.dependent("in-doubt-"+number, metav1.OwnerReference{APIVersion: "vm.slipway.dev/v1alpha1", Kind: "VirtualMachine", Name: "unknown", UID: types.UID("5f0f1d0a-0000-4000-8000-10000000000" + number)})
	s.dependent(name, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "unknown", UID: types.UID("5f0f1d0a-0000-4000-8000-20000000000" + number)})
	s.eventually("the garbage collector has deleted "+name, func() error {
		_, err := maps.Get(s.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it exists: %w", err)
	})
	for _, name := range append(left, "in-doubt-"+number) {
		if _, err := maps.Get(s.Context(), name, metav1.GetOptions{}); err != nil {
			s.Errorf("a dependent of a VM: %v", err)
		}
	}
}

// neverServed requests a VM from both replicas until it is stopped, and checks that none answers NotFound.
func (s *scene) neverServed(o *other, name string) (stop func()) {
	s.Helper()
	ended, asking := make(chan struct{}), sync.WaitGroup{}
	for _, host := range []string{"", o.direct.Host} {
		direct := s.direct(host)
		asking.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(time.Millisecond):
				}
				if code, _, text := s.ask(direct, "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines/"+name); code == http.StatusNotFound {
					s.Errorf("%s serves another store: %s", direct.Host, text)
					return
				}
			}
		})
	}
	return func() { close(ended); asking.Wait() }
}

// bothEnd waits until both replicas have exited and logged the reason.
func (s *scene) bothEnd(o *other, reason string) {
	s.Helper()
	const says = "the store is not served any more: it was replaced while it was served: "
	select {
	case err := <-s.Failed():
		if !strings.Contains(err.Error(), says+reason) {
			s.Errorf("the first replica ended: %v, want %q", err, says+reason)
		}
	case <-time.After(deadline):
		s.Fatal("the first replica still runs with another store")
	}
	select {
	case <-o.Done():
		if err := o.Failure(); err == nil || !strings.Contains(err.Error(), says+reason) {
			s.Errorf("the second replica ended: %v, want %q", err, says+reason)
		}
	case <-time.After(deadline):
		s.Fatal("the second replica still runs with another store")
	}
}

// refuses waits until the server reports the current and the expected store. It returns the ID with which an
// administrator accepts the store.
func (s *scene) refuses(o *other, reason string) (id string) {
	s.Helper()
	for _, config := range []string{"", o.direct.Host} {
		direct := s.direct(config)
		s.eventually(direct.Host+" refuses its store", func() error {
			code, again, text := s.ask(direct, "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines/kept")
			if code == http.StatusOK || code == http.StatusNotFound {
				s.Fatalf("%s answers %d: %s", direct.Host, code, text)
			}
			_, accept, found := strings.Cut(text, "slipway.dev/accept-store=")
			if code != http.StatusServiceUnavailable || !again || !found || !strings.Contains(text, "the store is not served: ") || !strings.Contains(text, reason) {
				return fmt.Errorf("it answers %d, Retry-After %t: %s", code, again, text)
			}
			id, _, _ = strings.Cut(accept, `"`)
			return nil
		})
		if code, _ := s.answer(direct, "/readyz/store-identity"); code != http.StatusInternalServerError {
			s.Errorf("readiness of %s: %d", direct.Host, code)
		}
	}
	return id
}

// Two replicas share an etcd. Its volume is replaced first by another one, then by an older copy, which is finally
// accepted.
func TestReplicas_DoNotServeAReplacedStore(t *testing.T) {
	t.Parallel()
	etcd := newStore(t)
	s := newScene(t, "--etcd-servers="+etcd.url, "--etcd-unsafe-no-fsync=false")
	s.make("kept")
	etcd.replace(func() error { return os.CopyFS(etcd.data("older/member-data"), os.DirFS(etcd.data("now/member-data"))) })
	s.make("since")
	o := s.other()
	s.serves(o.direct)
	vms := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace)
	kept, err := vms.Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.dependent("owned", metav1.OwnerReference{APIVersion: "vm.slipway.dev/v1alpha1", Kind: "VirtualMachine", Name: "kept", UID: kept.UID})
	before := s.effects()
	restart := func() <-chan error {
		started := make(chan error, 1)
		go func() { started <- s.RestartSlipway(t.Context()) }()
		o.start()
		return started
	}

	stop := s.neverServed(o, "kept")
	etcd.replace(func() error { return os.Rename(etcd.data("now"), etcd.data("own")) })
	s.bothEnd(o, "the store has the ID ")
	stop()
	started := restart()
	s.refuses(o, "and the management cluster expects ")
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	o.start()
	s.refuses(o, "and the management cluster expects ")
	s.collects("1", "owned")

	etcd.replace(func() error {
		return errors.Join(os.RemoveAll(etcd.data("now")), os.Rename(etcd.data("own"), etcd.data("now")))
	})
	if err := <-started; err != nil {
		t.Fatalf("the original store is not served: %v", err)
	}
	s.serves(o.direct)
	for _, name := range []string{"kept", "since"} {
		if _, err := vms.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}

	stop = s.neverServed(o, "since")
	etcd.replace(func() error {
		return errors.Join(os.Rename(etcd.data("now"), etcd.data("own")), os.Rename(etcd.data("older"), etcd.data("now")))
	})
	s.bothEnd(o, "the store ")
	stop()
	started = restart()
	id := s.refuses(o, "it is an older copy")
	s.collects("2", "owned")
	if diff := cmp.Diff(before, s.effects()); diff != "" {
		t.Errorf("vSphere was changed (-before +after):\n%s", diff)
	}

	accept := fmt.Appendf(nil, `{"metadata":{"annotations":{"slipway.dev/accept-store":%q}}}`, id)
	if _, err := s.host().CoreV1().ConfigMaps("slipway-system").Patch(t.Context(), "slipway-store", types.MergePatchType, accept, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Fatalf("the accepted store is not served: %v", err)
	}
	s.serves(o.direct)
	if _, err := vms.Get(t.Context(), "since", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a VM that the accepted store does not have: %v", err)
	}
	s.actsOnlyAfterTheRelease(o, etcd, before)
}

// actsOnlyAfterTheRelease sets the VM called kept to PoweredOff while the accepted store waits, and checks that vSphere
// is not called before the release. before is the number of calls until then.
func (s *scene) actsOnlyAfterTheRelease(o *other, etcd *store, before map[string]int) {
	s.Helper()
	s.powerOff(s.client(o.direct), "kept")
	s.awaitsRelease(s.direct(""), filepath.Join(localcluster.LogDir(s.dir), slipway+".log"))
	s.awaitsRelease(o.direct, o.spec.LogFile)
	if diff := cmp.Diff(before, s.effects()); diff != "" {
		s.Errorf("vSphere was changed before the release (-before +after):\n%s", diff)
	}
	s.released("--etcd-servers=" + etcd.url)
	s.powered("kept", vimtypes.VirtualMachinePowerStatePoweredOff)
	s.powered("since", vimtypes.VirtualMachinePowerStatePoweredOn)
	before["PowerOffVM_Task"]++
	before["ReconfigVM_Task"]++ // the record of the object
	s.did(before)
}

// did waits until this many changes were made in vSphere, and checks that no more follow.
func (s *scene) did(want map[string]int) {
	s.Helper()
	s.eventually("exactly the requested changes are made in vSphere", func() error {
		if diff := cmp.Diff(want, s.effects()); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}
