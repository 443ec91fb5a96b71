// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

const (
	deadline  = 2 * time.Minute
	namespace = "slipway-system"
)

// hostCluster compares resourceVersions, which the fake does not by itself.
func hostCluster(objects ...runtime.Object) *fake.Clientset {
	host := fake.NewClientset(objects...)
	var mu sync.Mutex
	version := 0
	host.PrependReactor("*", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		write, ok := a.(clienttesting.CreateAction) // or an update, which has the same methods
		if !ok {
			return false, nil, nil
		}
		m := write.GetObject().(*corev1.ConfigMap).DeepCopy()
		version++
		given := m.ResourceVersion
		m.ResourceVersion = fmt.Sprint(version)
		resource := corev1.SchemeGroupVersion.WithResource("configmaps")
		if a.GetVerb() == "create" {
			return true, m, host.Tracker().Create(resource, m, m.Namespace)
		}
		known, err := host.Tracker().Get(resource, m.Namespace, m.Name)
		if err != nil {
			return true, nil, err
		}
		if known.(*corev1.ConfigMap).ResourceVersion != given {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), m.Name, fmt.Errorf("changed"))
		}
		return true, m, host.Tracker().Update(resource, m, m.Namespace)
	})
	return host
}

// replicas are those of a test.
type replicas struct {
	*testing.T
	host  *fake.Clientset
	dir   string
	ports ports.Set
	// size is how many there shall be.
	size atomic.Int64
	// quotas are those of replicas, in bytes; others have the default.
	quotas map[string]int64
	// log is where they log.
	log klog.Logger
	mu  sync.Mutex
	all map[string]*Member
}

func newReplicas(t *testing.T, size int) *replicas {
	t.Helper()
	dir, err := os.MkdirTemp("", "members-") // short, for the paths of sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	chosen, err := ports.Load(filepath.Join(dir, "ports"), nil, "r-0", "r-1", "r-2")
	if err != nil {
		t.Fatal(err)
	}
	r := &replicas{T: t, host: hostCluster(), dir: dir, ports: chosen, log: klog.Background(), all: map[string]*Member{}}
	r.size.Store(int64(size))
	t.Cleanup(func() {
		r.size.Store(3)
		for _, m := range r.all {
			m.Close()
		}
	})
	return r
}

func (r *replicas) options(name string) Options {
	return Options{
		Etcd: embedded.Options{Dir: filepath.Join(r.dir, name), UnsafeNoFsync: true, QuotaBytes: r.quotas[name]},
		Name: name, Address: r.ports.Address(name), Listen: r.ports.Address(name),
		Host: r.host, Namespace: namespace,
		Wanted: func(context.Context) (func(string) bool, error) {
			size := r.size.Load()
			return func(name string) bool { return name < fmt.Sprintf("r-%d", size) }, nil
		},
		Alone: func(context.Context) (bool, error) { return r.size.Load() == 1, nil },
	}
}

// start starts replicas together.
func (r *replicas) start(names ...string) {
	r.Helper()
	ctx, cancel := context.WithTimeout(klog.NewContext(r.Context(), r.log), deadline)
	defer cancel()
	var starting sync.WaitGroup
	for _, name := range names {
		starting.Go(func() {
			m, err := Start(ctx, r.options(name))
			if err != nil {
				r.Errorf("starting %s: %v", name, err)
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all[name] = m
		})
	}
	starting.Wait()
	if r.Failed() {
		r.FailNow()
	}
}

func (r *replicas) stop(names ...string) {
	r.Helper()
	var stopping sync.WaitGroup
	for _, name := range names {
		stopping.Go(r.all[name].Close)
	}
	stopping.Wait()
	for _, name := range names {
		delete(r.all, name)
	}
}

// lose removes what a replica had.
func (r *replicas) lose(name string) {
	r.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
		r.Fatal(err)
	}
}

func (r *replicas) put(through, key, value string) {
	r.Helper()
	client := r.all[through].Client()
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	defer cancel()
	for {
		_, err := client.Put(ctx, key, value)
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			r.Fatalf("writing %s through %s: %v", key, through, err)
		}
	}
}

// has wants every replica to read the same.
func (r *replicas) has(want map[string]string) {
	r.Helper()
	for name, m := range r.all {
		client := m.Client()
		defer func() { _ = client.Close() }()
		for key, value := range want {
			got, err := client.Get(r.Context(), key)
			if err != nil {
				r.Fatalf("%s: %v", name, err)
			}
			if text := values(got); text != value {
				r.Errorf("%s has %q for %s, want %q", name, text, key, value)
			}
		}
	}
}

func values(got *clientv3.GetResponse) string {
	var all []string
	for _, kv := range got.Kvs {
		all = append(all, string(kv.Value))
	}
	return strings.Join(all, " ")
}

// eventually waits until the members of a replica are these, all of them full ones.
func (r *replicas) members(of string, want ...string) {
	r.Helper()
	var got []string
	for began := time.Now(); time.Since(began) < deadline; {
		got = nil
		for _, m := range r.all[of].Members() {
			name := m.Name
			if m.Learner {
				name += " learns"
			}
			got = append(got, name)
		}
		if fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
	r.Fatalf("the members are %v, want %v", got, want)
}

func (r *replicas) record() *record {
	r.Helper()
	got, err := records{r.host, namespace}.read(r.Context())
	if err != nil || got == nil {
		r.Fatalf("the record: %v (error %v)", got, err)
	}
	return got
}

func TestThreeReplicasThatStartTogetherAreOneClusterAndOutliveEach(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	all := []string{"r-0", "r-1", "r-2"}
	r.start(all...)
	r.members("r-0", all...)
	cluster := r.record().cluster
	want := map[string]string{}
	for i, down := range all {
		other := all[(i+1)%3]
		r.stop(down)
		key := "/without-" + down
		r.put(other, key, "v")
		want[key] = "v"
		r.start(down)
		r.has(want)
	}
	if now := r.record().cluster; now != cluster {
		t.Errorf("the cluster is %x, before %x", now, cluster)
	}
}

func TestAReplicaThatLostItsVolumeJoinsAnewAlsoWhenItFounded(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	all := []string{"r-0", "r-1", "r-2"}
	r.start(all...)
	r.put("r-1", "/kept", "v")
	for _, name := range []string{r.record().founder.name, "r-2"} {
		r.stop(name)
		r.lose(name)
		r.start(name)
		r.members(name, all...)
		r.has(map[string]string{"/kept": "v"})
	}
}

func TestOneReplicaGrowsToThreeAndShrinksToOneWithoutAStop(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 1)
	r.start("r-0")
	r.put("r-0", "/n", "1")
	r.size.Store(3)
	r.start("r-1", "r-2")
	r.members("r-0", "r-0", "r-1", "r-2")
	r.put("r-2", "/n", "3")
	r.has(map[string]string{"/n": "3"})
	r.size.Store(1)
	r.stop("r-1", "r-2")
	r.members("r-0", "r-0")
	r.put("r-0", "/n", "1 again")
	r.has(map[string]string{"/n": "1 again"})

	r.size.Store(3) // the volumes of before are still there
	r.start("r-1", "r-2")
	r.members("r-0", "r-0", "r-1", "r-2")
	r.has(map[string]string{"/n": "1 again"})
}

func TestALoneMemberOfBeforeIsTheFirstOfACluster(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	lone, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(r.dir, "r-0"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	client := lone.Client()
	if _, err := client.Put(t.Context(), "/old", "v"); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	lone.Close()
	known := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "slipway-store"}, Data: map[string]string{"id": "mine", "revision": "2"}}
	if err := r.host.Tracker().Add(known); err != nil {
		t.Fatal(err)
	}
	r.start("r-0", "r-1", "r-2")
	r.has(map[string]string{"/old": "v"})
}

func TestTheMemberThatIsLeftRecoversWhenItIsToldByTheIDOfTheCluster(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	r.start("r-0", "r-1", "r-2")
	r.put("r-0", "/kept", "v")
	r.has(map[string]string{"/kept": "v"}) // also the one that will be left
	r.stop("r-0", "r-1", "r-2")
	dir := filepath.Join(r.dir, "r-1")
	if _, err := embedded.Start(t.Context(), embedded.Options{Dir: dir, UnsafeNoFsync: true}); err == nil || !strings.Contains(err.Error(), "one of 3 members") {
		t.Errorf("starting one of three alone: %v", err)
	}
	if err := Recover(dir, "abc"); err == nil || !strings.Contains(err.Error(), "not of abc") {
		t.Errorf("recovery of another cluster: %v", err)
	}
	if err := Recover(dir, hex(r.record().cluster)); err != nil {
		t.Fatal(err)
	}
	r.start("r-1")
	r.members("r-1", "r-1")
	r.has(map[string]string{"/kept": "v"})
	r.put("r-1", "/since", "v")

	r.start("r-0", "r-2") // their data is of before
	r.members("r-1", "r-0", "r-1", "r-2")
	r.has(map[string]string{"/kept": "v", "/since": "v"})
}

func TestARecoveryIsRefusedWhileTheOthersHaveAQuorum(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	r.start("r-0", "r-1", "r-2")
	r.stop("r-1")
	if err := Recover(filepath.Join(r.dir, "r-1"), hex(r.record().cluster)); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), r.options("r-1"))
	if err == nil || !strings.Contains(err.Error(), "2 of 2 other members answer") {
		t.Errorf("Start = %v, want that the others have a quorum", err)
	}
	r.members("r-0", "r-0", "r-1", "r-2")
	r.start("r-1") // nobody can remove the order in a container that does not start
	r.members("r-1", "r-0", "r-1", "r-2")
}

func TestALostQuorumNamesWhoIsMissingAndEndsWatches(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 3)
	r.start("r-0", "r-1", "r-2")
	client := r.all["r-0"].Client()
	defer func() { _ = client.Close() }()
	watching := client.Watch(t.Context(), "/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	if first := <-watching; !first.Created {
		t.Fatalf("the watch begins with %+v", first)
	}
	r.put("r-1", "/seen", "v")
	if next := <-watching; len(next.Events) != 1 || string(next.Events[0].Kv.Key) != "/seen" {
		t.Errorf("the watch tells %+v", next)
	}
	r.stop("r-1", "r-2")
	var err error
	for began := time.Now(); err == nil && time.Since(began) < deadline; {
		err = r.all["r-0"].Quorum()
	}
	for _, name := range []string{"no quorum: no answer from", "r-1 at " + r.ports.Address("r-1"), "r-2 at " + r.ports.Address("r-2")} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Quorum = %v, want %q", err, name)
		}
	}
	for told := range watching {
		if told.Err() == nil {
			t.Errorf("the watch tells %+v without a quorum", told)
		}
	}
	r.start("r-1")
	if err := r.all["r-0"].Quorum(); err != nil {
		t.Errorf("Quorum = %v with two of three", err)
	}
}
