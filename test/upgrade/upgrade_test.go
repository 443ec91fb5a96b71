// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/test/localcluster"
	kinds "github.com/slipway-dev/slipway/test/schema"
)

var (
	older  = flag.String("older", "", "an older slipway-apiserver")
	binDir = flag.String("bin", "../../bin", "directory of the programs of now")
)

const (
	program   = "slipway-apiserver"
	namespace = "default"
	soon      = 2 * time.Minute
)

var vms = schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "virtualmachines"}

// scene is an environment that runs either the older server or this one.
type scene struct {
	*testing.T
	cluster *localcluster.Cluster
	client  dynamic.Interface
	bin     string
	now     string
}

// newScene starts the environment with the older server.
func newScene(t *testing.T) *scene {
	bin, err := filepath.Abs(*binDir)
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, bin: t.TempDir(), now: filepath.Join(bin, program)}
	programs, err := os.ReadDir(bin)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		if err := os.Symlink(filepath.Join(bin, p.Name()), filepath.Join(s.bin, p.Name())); err != nil {
			t.Fatal(err)
		}
	}
	s.take(*older)
	dir, err := os.MkdirTemp("", "upgrade") // short, for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if s.cluster, err = localcluster.Start(t.Context(), localcluster.Options{DataDir: dir, BinDir: s.bin, UnsafeNoFsync: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if s.client, err = dynamic.NewForConfig(s.cluster.RestConfig()); err != nil {
		t.Fatal(err)
	}
	return s
}

// take copies a server to the path from which the environment starts it.
func (s *scene) take(path string) {
	s.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		s.Fatal(err)
	}
	link := filepath.Join(s.bin, program)
	if err := os.Remove(link); err != nil {
		s.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		s.Fatal(err)
	}
}

// becomes restarts the environment with another server on the same store.
func (s *scene) becomes(path string) {
	s.Helper()
	s.take(path)
	if err := s.cluster.RestartSlipway(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// has waits until a VM has a value in a field. An empty value means any.
func (s *scene) has(name, want string, path ...string) *unstructured.Unstructured {
	s.Helper()
	var vm *unstructured.Unstructured
	var last string
	err := wait.PollUntilContextTimeout(s.Context(), 200*time.Millisecond, soon, true, func(ctx context.Context) (done bool, err error) {
		if vm, err = s.client.Resource(vms).Namespace(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			last = err.Error()
			return false, nil
		}
		got, _, _ := unstructured.NestedString(vm.Object, path...)
		last = got
		return got != "" && (want == "" || got == want), nil
	})
	if err != nil {
		s.Fatalf("VM %s: %s is %q, want %q", name, strings.Join(path, "."), last, want)
	}
	return vm
}

// power sets the desired power state of a VM.
func (s *scene) power(name, state string) {
	s.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"powerState":%q}}`, state)
	if _, err := s.client.Resource(vms).Namespace(namespace).Patch(s.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
	s.has(name, state, "status", "powerState")
}

// made creates an object of every kind of the server and returns them.
func (s *scene) made() map[string]*unstructured.Unstructured {
	s.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, kind := range kinds.Kinds {
		if kind.Only != "" || kind.Name == "ControllerRevision" {
			continue // the environment needs it, or it is garbage-collected without references
		}
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal([]byte(kind.Object("of-"+strings.ToLower(kind.Name), "")), object); err != nil {
			s.Fatal(err)
		}
		got, err := s.resource(kind).Create(s.Context(), object, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) {
			s.Logf("the older server has no %s", kind.Name)
			continue
		}
		if err != nil {
			s.Errorf("making a %s: %v", kind.Name, err)
			continue
		}
		all[kind.Name] = got
	}
	return all
}

func (s *scene) resource(kind kinds.Kind) dynamic.ResourceInterface {
	r := s.client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: "v1alpha1", Resource: kind.Resource})
	if kind.Cluster {
		return r
	}
	return r.Namespace(namespace)
}

// checkObjects checks that every object exists with its UID and spec.
func (s *scene) checkObjects(before map[string]*unstructured.Unstructured) {
	s.Helper()
	for _, kind := range kinds.Kinds {
		was := before[kind.Name]
		if was == nil {
			continue
		}
		is, err := s.resource(kind).Get(s.Context(), was.GetName(), metav1.GetOptions{})
		if err != nil {
			s.Errorf("reading the %s: %v", kind.Name, err)
			continue
		}
		if diff := cmp.Diff(was.Object["spec"], is.Object["spec"]); diff != "" || is.GetUID() != was.GetUID() || is.GetGeneration() != was.GetGeneration() {
			s.Errorf("the %s is another one, of generation %d, was %d (-before +now):\n%s", kind.Name, is.GetGeneration(), was.GetGeneration(), diff)
		}
	}
}

// web2 is a VM like that of the quick start.
func (s *scene) web2() {
	s.Helper()
	first := s.has("web-1", "", "status", "uniqueID")
	vm := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "vm.slipway.dev/v1alpha1", "kind": "VirtualMachine", "metadata": map[string]any{"name": "web-2"}}}
	spec := map[string]any{}
	for _, field := range []string{"instancetype", "preference", "image"} {
		spec[field] = first.Object["spec"].(map[string]any)[field]
	}
	vm.Object["spec"] = spec
	if _, err := s.client.Resource(vms).Namespace(namespace).Create(s.Context(), vm, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func TestUpgrade_AndDowngradeServeTheSameStore(t *testing.T) {
	if *older == "" {
		t.Log("NOT RUN: make test-upgrade builds the older server")
		return
	}
	s := newScene(t)
	if err := s.cluster.Apply(t.Context(), artifacts.Quickstart); err != nil {
		t.Fatal(err)
	}
	first := s.has("web-1", "", "status", "network", "primaryIP4")
	before := s.made()
	same := func(what string) {
		t.Helper()
		is := s.has("web-1", "PoweredOn", "status", "powerState")
		for _, path := range [][]string{{"status", "uniqueID"}, {"status", "instancetypeRef", "controllerRevisionRef", "name"}, {"spec", "firmware", "uuid"}} {
			want, _, _ := unstructured.NestedString(first.Object, path...)
			if got, _, _ := unstructured.NestedString(is.Object, path...); got != want || got == "" {
				t.Errorf("%s: %s of web-1 is %q, was %q", what, strings.Join(path, "."), got, want)
			}
		}
		s.checkObjects(before)
	}

	s.becomes(s.now)
	same("served by this one")
	s.power("web-1", "PoweredOff")
	s.power("web-1", "PoweredOn")
	s.web2()
	s.has("web-2", "", "status", "network", "primaryIP4")

	s.becomes(*older)
	same("served by the older one again")
	second := s.has("web-2", "PoweredOn", "status", "powerState")
	s.power("web-2", "PoweredOff")

	s.becomes(s.now)
	same("served by this one again")
	if is := s.has("web-2", "PoweredOff", "status", "powerState"); is.GetUID() != second.GetUID() {
		t.Errorf("web-2 is another one")
	}
	for _, name := range []string{"web-1", "web-2"} {
		if err := s.client.Resource(vms).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, soon, true, func(ctx context.Context) (bool, error) {
		_, first := s.client.Resource(vms).Namespace(namespace).Get(ctx, "web-1", metav1.GetOptions{})
		_, second := s.client.Resource(vms).Namespace(namespace).Get(ctx, "web-2", metav1.GetOptions{})
		return apierrors.IsNotFound(first) && apierrors.IsNotFound(second), nil
	}); err != nil {
		t.Errorf("the VMs are not deleted: %v", err)
	}
}
