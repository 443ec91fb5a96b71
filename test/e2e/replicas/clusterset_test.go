// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bytes"
	"context"
	"errors"
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

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

const (
	// readiness is what the probe of artifacts/deploy asks for.
	readiness     = "/readyz?exclude=vcenter-session&exclude=etcd-space"
	readyInterval = 250 * time.Millisecond
	setName       = "slipway-apiserver"
)

// pod is a replica of the set, which is the first one of the environment or another.
type pod struct {
	name, dir string
	direct    *rest.Config
	spec      process.Spec

	mu      sync.Mutex
	process *process.Process // nil for the first one
}

// set is a StatefulSet whose pods are processes of this machine.
type set struct {
	*scene
	pods    []*pod
	links   *links
	service *service
}

// newSet starts one replica, whose member others may join.
func newSet(t *testing.T, slipwayArgs ...string) *set {
	t.Helper()
	return newSetWith(t, func(*localcluster.Options) {}, slipwayArgs...)
}

// newSetWith changes the options of the environment.
func newSetWith(t *testing.T, change func(*localcluster.Options), slipwayArgs ...string) *set {
	t.Helper()
	names := []string{setName + "-0", setName + "-1", setName + "-2"}
	chosen, err := ports.Load(filepath.Join(t.TempDir(), "ports"), nil, names...)
	if err != nil {
		t.Fatal(err)
	}
	s := &set{links: &links{T: t, cut: map[string]bool{}}, service: newService(t)}
	s.links.processes = s.processes
	peer := func(name string) []string {
		port := portOf(chosen.Address(name))
		return append(slices.Clone(slipwayArgs), "--etcd-name="+name, "--etcd-peer-address="+net.JoinHostPort(linkHost, port))
	}
	for _, name := range names {
		s.links.add(name, portOf(chosen.Address(name)))
	}
	s.scene = newSceneWith(t, change, peer(names[0])...)
	for i, name := range names {
		p := &pod{name: name, dir: s.SlipwayDataDir(), direct: s.direct("")}
		if i > 0 {
			port := freePort(t)
			p.dir, p.direct = filepath.Join(s.dir, name), s.direct("https://"+net.JoinHostPort("127.0.0.1", port))
			p.spec = process.Spec{
				Name: name, Path: filepath.Join(s.bin, slipway), LogFile: filepath.Join(localcluster.LogDir(s.dir), name+".log"),
				Args: append(append(s.arguments(slipway), "--secure-port="+port, "--data-dir="+p.dir), peer(name)...), StopTimeout: 30 * time.Second,
			}
		}
		s.pods = append(s.pods, p)
	}
	s.scaled(1)
	s.serve()
	t.Cleanup(func() {
		for _, p := range s.pods[1:] {
			if p.process != nil {
				_ = p.process.Kill()
			}
			if t.Failed() {
				data, _ := os.ReadFile(p.spec.LogFile)
				t.Logf("the end of the log of %s:\n%s", p.name, data[max(0, len(data)-4000):])
			}
		}
	})
	return s
}

// serve makes the APIServices go to the replicas that are ready.
func (s *set) serve() {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	s.Cleanup(stop)
	for _, p := range s.pods {
		config := rest.CopyConfig(p.direct)
		config.Timeout = time.Second
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			s.Fatal(err)
		}
		look := func() {
			ready := false
			if resp, err := client.Get(config.Host + readiness); err == nil {
				ready = resp.StatusCode == http.StatusOK
				_ = resp.Body.Close()
			}
			s.service.set(strings.TrimPrefix(config.Host, "https://"), ready)
		}
		look()
		go func() {
			for ctx.Err() == nil {
				look()
				select {
				case <-ctx.Done():
				case <-time.After(readyInterval):
				}
			}
		}()
	}
	client, err := dynamic.NewForConfig(s.RestConfig())
	if err != nil {
		s.Fatal(err)
	}
	services := client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	for _, group := range []string{"vm", "instancetype", "cluster"} {
		patch := fmt.Appendf(nil, `{"spec":{"service":{"port":%d}}}`, s.service.port())
		if _, err := services.Patch(s.Context(), "v1alpha1."+group+".slipway.dev", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *set) processes() map[string]int {
	all := map[string]int{}
	for i := range s.pods {
		if pid := s.pid(i); pid != 0 {
			all[s.pods[i].name] = pid
		}
	}
	return all
}

// pid is 0 for one that does not run.
func (s *set) pid(i int) int {
	p := s.pods[i]
	if i == 0 {
		return s.PID(slipway)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil || !p.process.Running() {
		return 0
	}
	return p.process.PID()
}

// scaled says how many replicas there are to be.
func (s *set) scaled(n int32) {
	s.Helper()
	sets := s.host().AppsV1().StatefulSets("slipway-system")
	made := s.deployed()
	made.Spec.Replicas = &n
	_, err := sets.Create(s.Context(), made, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = sets.Patch(s.Context(), setName, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n), metav1.PatchOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// deployed is the StatefulSet of the deployment.
func (s *set) deployed() *appsv1.StatefulSet {
	s.Helper()
	data, err := artifacts.Deploy.ReadFile("deploy/base/50-deployment.yaml")
	if err != nil {
		s.Fatal(err)
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var made appsv1.StatefulSet
		if err := decoder.Decode(&made); err != nil {
			s.Fatalf("looking for the StatefulSet: %v", err)
		}
		if made.Kind == "StatefulSet" {
			return &made
		}
	}
}

// start starts replicas, and waits until they are ready.
func (s *set) start(which ...int) {
	s.Helper()
	for _, i := range which {
		if i == 0 {
			if err := s.RestartSlipway(s.Context()); err != nil {
				s.Fatal(err)
			}
			continue
		}
		s.begin(i)
	}
	for _, i := range which {
		s.ready(i)
	}
}

// begin starts replicas that are not the first one.
func (s *set) begin(which ...int) {
	s.Helper()
	for _, i := range which {
		p := s.pods[i]
		started, err := process.Start(p.spec)
		if err != nil {
			s.Fatal(err)
		}
		p.mu.Lock()
		p.process = started
		p.mu.Unlock()
	}
}

func (s *set) ready(i int) {
	s.Helper()
	s.eventually(s.pods[i].name+" is ready", func() error {
		if s.pid(i) == 0 {
			s.Fatalf("%s has ended", s.pods[i].name)
		}
		if code, _, text := s.ask(s.pods[i].direct, readiness); code != http.StatusOK {
			return fmt.Errorf("it answers %d: %s", code, text)
		}
		return nil
	})
}

func (s *set) kill(i int) {
	s.Helper()
	var err error
	if i == 0 {
		err = s.KillSlipway()
	} else {
		err = s.pods[i].process.Kill()
	}
	if err != nil {
		s.Fatal(err)
	}
}

// stop stops one as kubelet does.
func (s *set) stop(i int) {
	s.Helper()
	if i == 0 {
		s.endsCleanly()
	} else if err := s.pods[i].process.Stop(); err != nil {
		s.Fatal(err)
	}
}

// revived is ready for a replica that may end itself when it wakes, because another one has
// its Leases: kubelet starts it again.
func (s *set) revived(i int) {
	s.Helper()
	s.eventually(s.pods[i].name+" is ready or has ended", func() error {
		if code, _, text := s.ask(s.pods[i].direct, readiness); s.pid(i) != 0 && code != http.StatusOK {
			return fmt.Errorf("it answers %d: %s", code, text)
		}
		return nil
	})
	if s.pid(i) != 0 {
		return
	}
	s.Logf("%s has ended by itself and is started again", s.pods[i].name)
	if i == 0 {
		<-s.Failed()
	}
	s.start(i)
}

// leader is the replica whose member leads.
func (s *set) leader() (leader int) {
	s.Helper()
	s.eventually("a member leads", func() error {
		leader = slices.IndexFunc(s.pods, func(p *pod) bool {
			_, _, text := s.ask(p.direct, "/metrics")
			return strings.Contains(text, "\netcd_server_is_leader 1")
		})
		if leader < 0 {
			return errors.New("none does")
		}
		return nil
	})
	return leader
}
