// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

var (
	vcenterResource = schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "vcenters"}
	machineResource = schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "virtualmachines"}
	setResource     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
)

// installedWith is the uninstallation from a cluster with a server and these objects of its.
func installedWith(t *testing.T, objects ...*unstructured.Unstructured) (u *uninstall, client *dynamicfake.FakeDynamicClient, out, errOut *bytes.Buffer) {
	t.Helper()
	api := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": kindAPIService, "metadata": map[string]any{"name": "v1alpha1.vm.slipway.dev"}}}
	set := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "slipway-apiserver", "namespace": "slipway-system"}}}
	all := []runtime.Object{api, set}
	for _, o := range objects {
		all = append(all, o)
	}
	client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		vcenterResource: "VCenterList", machineResource: "VirtualMachineList",
	}, all...)
	list := metav1.Verbs{"list"}
	served := discovery.ToDiscoveryInterfaceWithContext(&fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{{
		GroupVersion: "vm.slipway.dev/v1alpha1", APIResources: []metav1.APIResource{{Name: "vcenters", Verbs: list}, {Name: "virtualmachines", Verbs: list}},
	}}}})
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return &uninstall{
		f: command{cli.NewFactory(nil, genericiooptions.IOStreams{Out: out, ErrOut: cli.Terminal{Out: errOut}})}, timeout: time.Minute, client: client, discovery: served,
	}, client, out, errOut
}

// ofServer is an object of the server's that somebody has applied.
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

func TestUninstallTakesTheVCenterOfInstallAwayFirstAndRefusesForAllElse(t *testing.T) {
	ours := ofServer("VCenter", "default", installManager)
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
		"of a user":                     {objects: []*unstructured.Unstructured{ofServer("VCenter", "default", "kubectl")}, refused: "there are objects: 1 vcenters; delete", kept: true},
		"of install, another one":       {objects: []*unstructured.Unstructured{ours, ofServer("VCenter", "east", "argocd")}, refused: "there are objects: 1 vcenters; delete", kept: true},
		"of install, and a VM":          {objects: []*unstructured.Unstructured{ours, machine}, refused: "there are objects: 1 virtualmachines; delete", kept: true},
		"of install, a VM that is left": {objects: []*unstructured.Unstructured{ours, machine}, leave: true, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			u, client, out, _ := installedWith(t, c.objects...)
			u.leaveObjects = c.leave
			err := u.run(t.Context())
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || out.String() != "") {
				t.Errorf("%v, want a refusal that says %q before anything is done:\n%s", err, c.refused, out)
			}
			if c.refused == "" && err != nil {
				t.Error(err)
			}
			list, err := client.Resource(vcenterResource).List(t.Context(), metav1.ListOptions{})
			if err != nil || (len(list.Items) > 0) != c.kept {
				t.Errorf("%d VCenters are left, %v; want them kept: %v", len(list.Items), err, c.kept)
			}
			if !c.kept && !strings.HasPrefix(out.String(), "vcenter/default deleted\napiservice/") {
				t.Errorf("it goes in another order than the VCenter, the API:\n%s", out)
			}
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

func TestUninstallRemovesWhatComponentsHaveMade(t *testing.T) {
	for leave, kept := range map[bool]int{false: 0, true: 3} {
		made := ofComponents(t)
		u, client, out, _ := installedWith(t, made...)
		u.leaveObjects = leave
		if err := u.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, o := range made {
			resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
			if _, err := client.Resource(resource).Namespace(o.GetNamespace()).Get(t.Context(), o.GetName(), metav1.GetOptions{}); err == nil {
				left = append(left, Called(o))
			}
		}
		if server, etcd := strings.Index(out.String(), "statefulset/slipway-apiserver deleted"), strings.Index(out.String(), "statefulset/slipway-etcd deleted"); server < 0 || etcd < server {
			t.Errorf("etcd is deleted before the server:\n%s", out)
		}
		if len(left) != kept || !strings.Contains(out.String(), "clusterrolebinding/slipway-metrics deleted\n") {
			t.Errorf("with --leave-objects=%v %v is left, want %d definitions:\n%s", leave, left, kept, out)
		}
	}
}

func TestUninstallLeavesOnlyTheSetsToTheGarbageCollector(t *testing.T) {
	u, client, _, _ := installedWith(t, ofComponents(t)...)
	if err := u.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var foreground []string
	for _, action := range client.Actions() {
		if d, ok := action.(clienttesting.DeleteAction); ok && d.GetDeleteOptions().PropagationPolicy != nil {
			foreground = append(foreground, d.GetResource().Resource+" "+string(*d.GetDeleteOptions().PropagationPolicy))
		}
	}
	if want := []string{"statefulsets Foreground", "statefulsets Foreground"}; !slices.Equal(foreground, want) {
		t.Errorf("deleted with a policy are %v, want %v", foreground, want)
	}
}

func TestUninstallTellsWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, client, out, errOut := installedWith(t)
		ends := time.Now().Add(10 * time.Second)
		client.PrependReactor("get", "statefulsets", func(clienttesting.Action) (bool, runtime.Object, error) {
			waits := &unstructured.Unstructured{}
			waits.SetFinalizers([]string{metav1.FinalizerDeleteDependents})
			return time.Now().Before(ends), waits, nil
		})
		if err := u.run(t.Context()); err != nil {
			t.Error(err)
		}
		if want := "waiting until statefulset/slipway-apiserver is gone, which these finalizers hold: foregroundDeletion\n"; errOut.String() != want || !strings.Contains(out.String(), "statefulset/slipway-apiserver deleted\n") {
			t.Errorf("it tells %q, want %q; and\n%s", errOut, want, out)
		}

		ends = ends.Add(time.Hour)
		if _, err := client.Resource(setResource).Namespace("slipway-system").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": map[string]any{"name": "slipway-apiserver", "namespace": "slipway-system"},
		}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		err := u.run(t.Context())
		if want := "uninstalled in part, run it again (--timeout 1m0s): waiting until statefulset/slipway-apiserver is gone, which these finalizers hold: foregroundDeletion"; err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	})
}
