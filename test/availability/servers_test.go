// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

const (
	// readiness is the path of the readiness probe in artifacts/deploy.
	readiness     = "/readyz?exclude=vcenter-session&exclude=etcd-space"
	readyInterval = 250 * time.Millisecond
)

// server is one of the replicas of slipway-apiserver. The environment starts the first one.
type server struct {
	name   string
	direct *rest.Config
	// links are the links to the etcd members.
	links []*link
	spec  process.Spec

	mu      sync.Mutex
	process *process.Process // nil for the first one
}

// set has three servers behind a service, and their shared etcd cluster.
type set struct {
	*scene
	etcd    *etcd
	servers []*server
	service *service
}

// newSet starts the servers with additional args and waits until they are ready.
func newSet(t *testing.T, etcd *etcd, args ...string) *set {
	t.Helper()
	return newSetWith(t, etcd, func(*localcluster.Options) {}, args...)
}

// newSetWith starts the servers in an environment with changed options.
func newSetWith(t *testing.T, etcd *etcd, change func(*localcluster.Options), args ...string) *set {
	t.Helper()
	s := &set{etcd: etcd, service: newService(t)}
	for i := range 3 {
		r := &server{name: fmt.Sprintf("%s-%d", slipway, i)}
		for _, address := range etcd.addresses() {
			r.links = append(r.links, newLink(t, address))
		}
		s.servers = append(s.servers, r)
	}
	own := func(r *server) []string {
		var urls []string
		for _, k := range r.links {
			urls = append(urls, "http://"+k.address())
		}
		return append([]string{"--etcd-servers=" + strings.Join(urls, ","), "--etcd-unsafe-no-fsync=false"}, args...)
	}
	s.scene = newSceneWith(t, change, own(s.servers[0])...)
	for i, r := range s.servers {
		r.direct = s.direct("")
		if i == 0 {
			continue
		}
		// Repeated --etcd-servers flags are added.
		shared := slices.DeleteFunc(s.arguments(slipway), func(a string) bool { return strings.HasPrefix(a, "--etcd-servers=") })
		port := freePort(t)
		r.direct = s.direct("https://" + net.JoinHostPort("127.0.0.1", port))
		r.spec = process.Spec{
			Name: r.name, Path: filepath.Join(s.bin, slipway), LogFile: filepath.Join(localcluster.LogDir(s.dir), r.name+".log"),
			Args: append(append(shared, "--secure-port="+port), own(r)...), StopTimeout: 30 * time.Second,
		}
	}
	t.Cleanup(func() {
		for _, r := range s.servers[1:] {
			if r.process != nil {
				_ = r.process.Kill()
			}
			if t.Failed() {
				data, _ := os.ReadFile(r.spec.LogFile)
				t.Logf("the end of the log of %s:\n%s", r.name, data[max(0, len(data)-4000):])
			}
		}
	})
	s.begin(1, 2)
	for i := range s.servers {
		s.ready(i)
	}
	s.serve()
	return s
}

// serve points the APIServices to the service, which probes the servers for readiness.
func (s *set) serve() {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	s.Cleanup(stop)
	for _, r := range s.servers {
		config := rest.CopyConfig(r.direct)
		config.Timeout = time.Second
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			s.Fatal(err)
		}
		probe := func() {
			ready := false
			if resp, err := client.Get(config.Host + readiness); err == nil {
				ready = resp.StatusCode == http.StatusOK
				_ = resp.Body.Close()
			}
			s.service.set(strings.TrimPrefix(config.Host, "https://"), ready)
		}
		probe()
		go func() {
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
				case <-time.After(readyInterval):
					probe()
				}
			}
		}()
	}
	for _, name := range apiServiceNames {
		patch := fmt.Appendf(nil, `{"spec":{"service":{"port":%d}}}`, s.service.port())
		if _, err := s.apiServices().Patch(s.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			s.Fatal(err)
		}
	}
}

// pid returns the process ID, or 0 if the server does not run.
func (s *set) pid(i int) int {
	r := s.servers[i]
	if i == 0 {
		return s.PID(slipway)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil || !r.process.Running() {
		return 0
	}
	return r.process.PID()
}

// start starts servers, and waits until they are ready.
func (s *set) start(which ...int) {
	s.Helper()
	for _, i := range which {
		if i > 0 {
			s.begin(i)
		} else if err := s.RestartSlipway(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
	for _, i := range which {
		s.ready(i)
	}
}

// begin starts servers other than the first one.
func (s *set) begin(which ...int) {
	s.Helper()
	for _, i := range which {
		started, err := process.Start(s.servers[i].spec)
		if err != nil {
			s.Fatal(err)
		}
		s.servers[i].mu.Lock()
		s.servers[i].process = started
		s.servers[i].mu.Unlock()
	}
}

func (s *set) ready(i int) {
	s.Helper()
	s.eventually(s.servers[i].name+" is ready", func() error {
		if s.pid(i) == 0 {
			s.Fatalf("%s has ended", s.servers[i].name)
		}
		if code, _, text := s.ask(s.servers[i].direct, readiness); code != http.StatusOK {
			return fmt.Errorf("it answers %d: %s", code, text)
		}
		return nil
	})
}

func (s *set) kill(i int) {
	s.Helper()
	err := error(nil)
	if i == 0 {
		err = s.KillSlipway()
	} else {
		err = s.servers[i].process.Kill()
	}
	if err != nil {
		s.Fatal(err)
	}
}

// stop stops a server as kubelet does.
func (s *set) stop(i int) {
	s.Helper()
	if i == 0 {
		s.endsCleanly()
	} else if err := s.servers[i].process.Stop(); err != nil {
		s.Fatal(err)
	}
}

// revived waits until a server is ready and restarts it if it ends. A server ends when another one holds its Leases,
// and kubelet would restart it.
func (s *set) revived(i int) {
	s.Helper()
	s.eventually(s.servers[i].name+" is ready or has ended", func() error {
		if code, _, text := s.ask(s.servers[i].direct, readiness); s.pid(i) != 0 && code != http.StatusOK {
			return fmt.Errorf("it answers %d: %s", code, text)
		}
		return nil
	})
	if s.pid(i) != 0 {
		return
	}
	s.Logf("%s has ended and is started again", s.servers[i].name)
	if i == 0 {
		<-s.Failed()
	}
	s.start(i)
}

// isolate cuts a server off from etcd until the returned function is called.
func (s *set) isolate(i int) (heal func()) {
	var all []func()
	for _, k := range s.servers[i].links {
		all = append(all, k.cut())
	}
	return func() {
		for _, heal := range all {
			heal()
		}
	}
}
