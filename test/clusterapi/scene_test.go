// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/jsonpath"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// Kinds of Cluster API.
var (
	capi         = schema.GroupVersion{Group: "cluster.x-k8s.io", Version: "v1beta2"}
	clusters     = capi.WithResource("clusters")
	capiMachines = capi.WithResource("machines")
	deployments  = capi.WithResource("machinedeployments")
	healthChecks = capi.WithResource("machinehealthchecks")
)

// scene is the cluster of the example, in its own namespace.
type scene struct {
	*testing.T
	namespace string
	vms       vmclient.VmV1alpha1Interface
	// endpoint is the address of the workload cluster.
	endpoint *url.URL
}

// newScene applies the example, which has no workers yet, and starts letJoin.
func newScene(t *testing.T) *scene {
	t.Helper()
	namespace, err := env.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "demo-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(env.Host.RestConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t, namespace: namespace.Name, vms: client.VmV1alpha1()}
	quickstart, _, _ := strings.Cut(s.example("../../artifacts/examples/quickstart.yaml"), "---\napiVersion: vm.slipway.dev/v1alpha1\nkind: VirtualMachine\n")
	s.must(env.Host.Apply(t.Context(), []byte(quickstart)))

	// Cluster API only watches Secrets with the label.
	kubeconfig := env.Work.Secret(s.namespace, "demo")
	kubeconfig.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": "demo"}
	_, err = env.core.CoreV1().Secrets(s.namespace).Create(t.Context(), kubeconfig, metav1.CreateOptions{})
	s.must(err)
	s.endpoint, err = url.Parse(env.Work.RestConfig().Host)
	s.must(err)
	s.must(env.Host.Apply(t.Context(), []byte(strings.NewReplacer("replicas: 2", "replicas: 0",
		"192.0.2.10:6443", s.endpoint.Host, "192.0.2.10", s.endpoint.Hostname(), "port: 6443", "port: "+s.endpoint.Port()).Replace(
		s.example("../../artifacts/examples/cluster-api.yaml")))))
	s.letJoin()
	return s
}

// in returns the scene for a subtest.
func (s *scene) in(t *testing.T) *scene {
	step := *s
	step.T = t
	return &step
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// example reads an example for the namespace of the scene.
func (s *scene) example(name string) string {
	s.Helper()
	data, err := os.ReadFile(name)
	s.must(err)
	return strings.ReplaceAll(string(data), "namespace: default", "namespace: "+s.namespace)
}

func (s *scene) of(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return env.objects.Resource(resource).Namespace(s.namespace)
}

// list returns the objects of a kind that a label selector selects.
func (s *scene) list(resource schema.GroupVersionResource, selector string) []unstructured.Unstructured {
	s.Helper()
	list, err := s.of(resource).List(s.Context(), metav1.ListOptions{LabelSelector: selector})
	s.must(err)
	return list.Items
}

// patch changes an object as a user does.
func (s *scene) patch(resource schema.GroupVersionResource, name, patch string) {
	s.Helper()
	_, err := s.of(resource).Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

func (s *scene) remove(resource schema.GroupVersionResource, name string) {
	s.Helper()
	s.must(s.of(resource).Delete(s.Context(), name, metav1.DeleteOptions{}))
}

// read returns the result of a JSONPath in an object, or "" if there is none.
func (s *scene) read(u *unstructured.Unstructured, path string) string {
	s.Helper()
	j := jsonpath.New(path).AllowMissingKeys(true)
	s.must(j.Parse("{" + path + "}"))
	var out bytes.Buffer
	s.must(j.Execute(&out, u.Object))
	return out.String()
}

// wants waits until fields of an object have values: path, value, path, value.
func (s *scene) wants(resource schema.GroupVersionResource, name string, pairs ...string) {
	s.Helper()
	eventually(s.T, fmt.Sprintf("%s %s has %q", resource.Resource, name, pairs), func(ctx context.Context) error {
		u, err := s.of(resource).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := 0; i < len(pairs); i += 2 {
			if got := s.read(u, pairs[i]); got != pairs[i+1] {
				status, _ := json.Marshal(u.Object["status"])
				return fmt.Errorf("%s is %q; status: %s", pairs[i], got, status)
			}
		}
		return nil
	})
}

// awaitDeleted waits until an object is deleted.
func (s *scene) awaitDeleted(resource schema.GroupVersionResource, name string) {
	s.Helper()
	eventually(s.T, resource.Resource+" "+name+" is deleted", func(ctx context.Context) error {
		u, err := s.of(resource).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			status, _ := json.Marshal(u.Object["status"])
			return fmt.Errorf("it exists: %s", status)
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// workers returns the virtual machines of the deployment that are not being deleted.
func (s *scene) workers(ctx context.Context) ([]vmv1alpha1.VirtualMachine, error) {
	list, err := s.vms.VirtualMachines(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: "nodepool=workers"})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// settled waits until there are this many workers with nodes, and all others are deleted.
func (s *scene) settled(replicas int) []vmv1alpha1.VirtualMachine {
	s.Helper()
	n := fmt.Sprint(replicas)
	s.wants(deployments, "demo-workers", ".spec.replicas", n, ".status.replicas", n, ".status.availableReplicas", n, ".status.upToDateReplicas", n)
	var vms []vmv1alpha1.VirtualMachine
	eventually(s.T, n+" workers are left", func(ctx context.Context) (err error) {
		if vms, err = s.workers(ctx); err == nil && len(vms) != replicas {
			err = fmt.Errorf("%d virtual machines", len(vms))
		}
		if err != nil {
			return err
		}
		nodes, err := env.Work.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil && len(nodes.Items) != replicas+1 {
			err = fmt.Errorf("%d nodes, want those of %d workers and of the control plane", len(nodes.Items), replicas)
		}
		return err
	})
	return vms
}
