// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
	"github.com/slipway-dev/slipway/cmd/virtctl/verbs/install"
	"github.com/slipway-dev/slipway/test/clitest"
)

// removableCluster has a server and objects, which can be deleted.
type removableCluster struct {
	objects map[string]*unstructured.Unstructured
	// foreground are the resources that were deleted in the foreground.
	foreground []string
	// held is until when the StatefulSets are being deleted.
	held time.Time
}

// pathOf returns the path of an object.
func pathOf(o *unstructured.Unstructured) string {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	path := "/apis/" + resource.Group + "/" + resource.Version
	if resource.Group == "" {
		path = "/api/" + resource.Version
	}
	if o.GetNamespace() != "" {
		path += "/namespaces/" + o.GetNamespace()
	}
	return path + "/" + resource.Resource + "/" + o.GetName()
}

// serverSet returns the StatefulSet of the server.
func serverSet() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "slipway-apiserver", "namespace": "slipway-system"}}}
}

// installedWith returns a cluster with a server and these objects.
func installedWith(objects ...*unstructured.Unstructured) *removableCluster {
	api := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1alpha1.vm.slipway.dev"}}}
	c := &removableCluster{objects: map[string]*unstructured.Unstructured{}}
	for _, o := range append(objects, api, serverSet()) {
		c.objects[pathOf(o)] = o
	}
	return c
}

// ofKind returns the objects of a kind.
func (c *removableCluster) ofKind(kind string) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range c.objects {
		if o.GetKind() == kind {
			all = append(all, o)
		}
	}
	return all
}

func (c *removableCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	status := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Reason: reason, Code: int32(code)})
	}
	const served = "/apis/vm.slipway.dev/v1alpha1"
	kinds := map[string]string{served + "/vcenters": "VCenter", served + "/virtualmachines": "VirtualMachine"}
	o := c.objects[r.URL.Path]
	switch kind := kinds[r.URL.Path]; {
	case r.URL.Path == served:
		_, _ = io.WriteString(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"vm.slipway.dev/v1alpha1","resources":[{"name":"vcenters","verbs":["list"]},{"name":"virtualmachines","verbs":["list"]}]}`)
	case kind != "":
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": kind + "List", "apiVersion": "vm.slipway.dev/v1alpha1", "items": append([]*unstructured.Unstructured{}, c.ofKind(kind)...)})
	case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/statefulsets/") && time.Now().Before(c.held):
		waits := serverSet()
		waits.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
		_ = json.NewEncoder(w).Encode(waits)
	case o == nil:
		status(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method == http.MethodDelete:
		var options metav1.DeleteOptions
		if err := json.NewDecoder(r.Body).Decode(&options); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if options.PropagationPolicy != nil {
			c.foreground = append(c.foreground, path.Base(path.Dir(r.URL.Path))+" "+string(*options.PropagationPolicy))
		}
		delete(c.objects, r.URL.Path)
		status(http.StatusOK, "")
	default:
		_ = json.NewEncoder(w).Encode(o)
	}
}

// uninstall runs virtctl uninstall. synctest must be on.
func (c *removableCluster) uninstall(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return clitest.RunInBubble(t.Context(), t, c, append([]string{"uninstall", "--timeout=1m"}, args...)...)
}

// ofServer is an object of the server that a user has applied.
func ofServer(kind, name, manager string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("vm.slipway.dev/v1alpha1")
	o.SetKind(kind)
	o.SetName(name)
	o.SetUID(types.UID(name))
	o.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "kubectl-edit", Operation: metav1.ManagedFieldsOperationUpdate}, {Manager: manager, Operation: metav1.ManagedFieldsOperationApply},
	})
	return o
}

func TestUninstall_DeletesItsVCenterFirstAndRefusesIfOtherObjectsExist(t *testing.T) {
	ours := ofServer("VCenter", "default", "virtctl-install")
	machine := ofServer("VirtualMachine", "web", "kubectl")
	machine.SetNamespace("dev")
	for name, c := range map[string]struct {
		objects []*unstructured.Unstructured
		leave   bool
		refused string
		kept    bool
	}{
		"of install":                    {objects: []*unstructured.Unstructured{ours}},
		"of install, left":              {objects: []*unstructured.Unstructured{ours}, leave: true, kept: true},
		"of a user":                     {objects: []*unstructured.Unstructured{ofServer("VCenter", "default", "kubectl")}, refused: "objects still exist: 1 vcenters; delete", kept: true},
		"of install, another one":       {objects: []*unstructured.Unstructured{ours, ofServer("VCenter", "east", "argocd")}, refused: "objects still exist: 1 vcenters; delete", kept: true},
		"of install, and a VM":          {objects: []*unstructured.Unstructured{ours, machine}, refused: "objects still exist: 1 virtualmachines; delete", kept: true},
		"of install, a VM that is left": {objects: []*unstructured.Unstructured{ours, machine}, leave: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, args := installedWith(c.objects...), []string(nil)
				if c.leave {
					args = []string{"--leave-objects"}
				}
				code, out, errOut := cluster.uninstall(t, args...)
				if c.refused != "" && (code != 1 || !strings.Contains(errOut, c.refused) || out != "") {
					t.Errorf("exit code %d, %q, want a refusal that says %q before anything is done:\n%s", code, errOut, c.refused, out)
				}
				if c.refused == "" && code != 0 {
					t.Error(errOut)
				}
				if left := cluster.ofKind("VCenter"); (len(left) > 0) != c.kept {
					t.Errorf("%d VCenters are left; want them kept: %v", len(left), c.kept)
				}
				if !c.kept && !strings.HasPrefix(out, "vcenter/default deleted\napiservice/") {
					t.Errorf("it goes in another order than the VCenter, the API:\n%s", out)
				}
			})
		})
	}
}

// ofComponents returns the objects that components add to the base.
func ofComponents(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	_, added, err := deployment.Removable()
	if err != nil {
		t.Fatal(err)
	}
	return added
}

func TestUninstall_DeletesObjectsThatComponentsCreated(t *testing.T) {
	for args, kept := range map[string]int{"--leave-objects=false": 0, "--leave-objects": 3} {
		synctest.Test(t, func(t *testing.T) {
			made := ofComponents(t)
			cluster := installedWith(made...)
			code, out, errOut := cluster.uninstall(t, args)
			if code != 0 {
				t.Fatal(errOut)
			}
			var left []string
			for _, o := range made {
				if cluster.objects[pathOf(o)] != nil {
					left = append(left, install.Called(o))
				}
			}
			if server, etcd := strings.Index(out, "statefulset/slipway-apiserver deleted"), strings.Index(out, "statefulset/slipway-etcd deleted"); server < 0 || etcd < server {
				t.Errorf("etcd is deleted before the server:\n%s", out)
			}
			if len(left) != kept || !strings.Contains(out, "clusterrolebinding/slipway-metrics deleted\n") {
				t.Errorf("with %s %v is left, want %d definitions:\n%s", args, left, kept, out)
			}
		})
	}
}

func TestUninstall_LeavesOnlyStatefulSetsToTheGarbageCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := installedWith(ofComponents(t)...)
		if code, _, errOut := cluster.uninstall(t); code != 0 {
			t.Fatal(errOut)
		}
		if want := []string{"statefulsets Foreground", "statefulsets Foreground"}; !slices.Equal(cluster.foreground, want) {
			t.Errorf("deleted with a policy are %v, want %v", cluster.foreground, want)
		}
	})
}

func TestUninstall_ReportsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := installedWith()
		cluster.held = time.Now().Add(10 * time.Second)
		code, out, errOut := cluster.uninstall(t)
		if want := "waiting for the deletion of statefulset/slipway-apiserver, blocked by finalizers: foregroundDeletion\n"; code != 0 || errOut != want || !strings.Contains(out, "statefulset/slipway-apiserver deleted\n") {
			t.Errorf("exit code %d, it tells %q, want %q; and\n%s", code, errOut, want, out)
		}

		cluster.held = cluster.held.Add(time.Hour)
		cluster.objects[pathOf(serverSet())] = serverSet()
		code, _, errOut = cluster.uninstall(t)
		if want := "error: partially uninstalled; run the command again (--timeout 1m0s): waiting for the deletion of statefulset/slipway-apiserver, blocked by finalizers: foregroundDeletion\n"; code != 3 || !strings.HasSuffix(errOut, want) {
			t.Errorf("exit code %d, %q, want %q", code, errOut, want)
		}
	})
}
