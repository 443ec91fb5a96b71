// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/artifacts/kustomized"
	"github.com/slipway-dev/slipway/cmd/virtctl/deployment"
)

// baseKustomization is of the installation without options.
const baseKustomization = "resources: [../deploy/base]\n"

func deploymentObjects(t *testing.T, o deployment.Options) (host, served []*unstructured.Unstructured) {
	t.Helper()
	host, served, err := deployment.Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	return host, served
}

func findObject(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind && u.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return all[i]
}

func serverOf(t *testing.T, all []*unstructured.Unstructured) *appsv1.StatefulSet {
	t.Helper()
	set := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(findObject(t, all, "StatefulSet", deployment.Name).Object, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// textsOf returns objects as they are printed.
func textsOf(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var all []string
	for _, u := range objects {
		data, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(data))
	}
	return all
}

func rendered(t *testing.T, kustomization string) []*unstructured.Unstructured {
	t.Helper()
	all, err := kustomized.Build(artifacts.Deploy, kustomization)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDeployment_ObjectsWithoutOptionsAreTheBase(t *testing.T) {
	got, served := deploymentObjects(t, deployment.Options{})
	if len(served) > 0 {
		t.Errorf("%d objects of the server's kinds", len(served))
	}
	if diff := cmp.Diff(textsOf(t, rendered(t, baseKustomization)), textsOf(t, got)); diff != "" {
		t.Errorf("(-artifacts/deploy +installation):\n%s", diff)
	}
}

func TestDeployment_ObjectsTakeImageReplicasAndArguments(t *testing.T) {
	host, _ := deploymentObjects(t, deployment.Options{Replicas: 1, Image: "registry.example.com/slipway-apiserver@sha256:0123", ServerArgs: []string{"--vcenter-datastore=vsan", `--x="a": b`}})
	set := serverOf(t, host)
	c := set.Spec.Template.Spec.Containers[0]
	want := []string{"--secure-port=8443", "--shutdown-delay-duration=0s", "--data-dir=/data", "--vcenter-datastore=vsan", `--x="a": b`}
	if diff := cmp.Diff(want, c.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if *set.Spec.Replicas != 1 || c.Image != "registry.example.com/slipway-apiserver@sha256:0123" {
		t.Errorf("%d replicas of %s", *set.Spec.Replicas, c.Image)
	}
}

func TestDeployment_ObjectsWithEtcdServersAreTheComponent(t *testing.T) {
	o := deployment.Options{EtcdServers: []string{"https://a:2379", "https://b:2379"}, EtcdCA: []byte("CA"), EtcdCert: []byte("CERT"), EtcdKey: []byte("KEY")}
	host, _ := deploymentObjects(t, o)
	data, _, _ := unstructured.NestedStringMap(findObject(t, host, "Secret", "slipway-etcd-client").Object, "data")
	if diff := cmp.Diff(map[string]string{"servers": "aHR0cHM6Ly9hOjIzNzksaHR0cHM6Ly9iOjIzNzk=", "ca.crt": "Q0E=", "tls.crt": "Q0VSVA==", "tls.key": "S0VZ"}, data); diff != "" {
		t.Errorf("the Secret (-want +got):\n%s", diff)
	}
	host = slices.DeleteFunc(host, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Secret" })
	if diff := cmp.Diff(textsOf(t, rendered(t, baseKustomization+"components: [../deploy/components/external-etcd]\n")), textsOf(t, host)); diff != "" {
		t.Errorf("(-component +installation):\n%s", diff)
	}
}

func TestDeployment_ObjectsWithEtcdServersHaveArgumentsOfGivenFilesOnly(t *testing.T) {
	for want, o := range map[string]deployment.Options{
		"":                           {},
		"--etcd-cafile=/etcd/ca.crt": {EtcdCA: []byte("CA")},
		"--etcd-certfile=/etcd/tls.crt --etcd-keyfile=/etcd/tls.key": {EtcdCert: []byte("CERT"), EtcdKey: []byte("KEY")},
	} {
		o.EtcdServers, o.Replicas = []string{"https://a:2379"}, 3
		host, _ := deploymentObjects(t, o)
		set := serverOf(t, host)
		got, found := strings.CutPrefix(strings.Join(set.Spec.Template.Spec.Containers[0].Args, " "), "--secure-port=8443 --shutdown-delay-duration=10s --etcd-servers=$(ETCD_SERVERS)")
		if !found || strings.TrimSpace(got) != want || *set.Spec.Replicas != 3 {
			t.Errorf("%d replicas with %q, want 3 with %q", *set.Spec.Replicas, got, want)
		}
	}
}

func TestDeployment_ObjectsOfSecretNamespacesAreTheOverlay(t *testing.T) {
	host, _ := deploymentObjects(t, deployment.Options{ServerArgs: []string{"--secret-namespaces=team-a"}})
	if diff := cmp.Diff(textsOf(t, rendered(t, "resources: [../deploy/overlays/secret-namespaces]\n")), textsOf(t, host), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("(-overlay +installation):\n%s", diff)
	}
}

func TestDeployment_ObjectsWithoutPermissionToReadNodesIfNoFlagNeedsThem(t *testing.T) {
	for args, want := range map[string]bool{
		"":                            true,
		"--probe-networks=10.0.0.0/8": true,
		"--probe-networks= --workload-networks=10.0.0.0/8":           true,
		"--probe-networks=10.0.0.0/8 --workload-networks=10.0.0.0/8": false,
	} {
		host, _ := deploymentObjects(t, deployment.Options{ServerArgs: strings.Fields(args)})
		got := slices.ContainsFunc(host, func(u *unstructured.Unstructured) bool {
			return u.GetKind() == "ClusterRoleBinding" && u.GetName() == "slipway-apiserver:addresses"
		})
		if got != want {
			t.Errorf("%q: the server may read Nodes: %t, want %t", args, got, want)
		}
	}
}

func TestDeployment_ObjectsIncludeTheVCenterAfterItsSecret(t *testing.T) {
	host, served := deploymentObjects(t, deployment.Options{VCenter: &deployment.VCenter{URL: "https://vc.example.com/sdk", Username: "slipway", Password: "secret", Thumbprint: strings.Repeat("ab", 32)}})
	if len(served) != 1 || served[0].GetKind() != "VCenter" || served[0].GetName() != "default" {
		t.Fatalf("served: %v", served)
	}
	name, _, _ := unstructured.NestedString(served[0].Object, "spec", "credentialsSecretRef", "name")
	secret := findObject(t, host, "Secret", name)
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	if diff := cmp.Diff(map[string]string{"username": "c2xpcHdheQ==", "password": "c2VjcmV0"}, data); diff != "" {
		t.Errorf("the Secret (-want +got):\n%s", diff)
	}
	if host[0].GetKind() != "Namespace" || host[1] != secret {
		t.Errorf("the first objects are %s and %s", host[0].GetKind(), host[1].GetKind())
	}
}

func TestDeployment_OptionsReportInvalidValuesWithFlagAndAllowedValues(t *testing.T) {
	vcenter := func(change func(*deployment.VCenter)) deployment.Options {
		v := &deployment.VCenter{URL: "https://vc.example.com/sdk", Username: "u", Password: "p"}
		change(v)
		return deployment.Options{VCenter: v}
	}
	for want, o := range map[string]deployment.Options{
		`--replicas 2: more than 1 requires --etcd-servers`:                                            {Replicas: 2},
		`--replicas -1: must not be negative`:                                                          {Replicas: -1},
		`--image "a b": must be an image reference like registry.example.com/slipway-apiserver:v0.1.0`: {Image: "a b"},
		`--etcd-servers "a:2379": must have the form https://`:                                         {EtcdServers: []string{"a:2379"}},
		`--etcd-cafile, --etcd-certfile and --etcd-keyfile require --etcd-servers`:                     {EtcdCA: []byte("x")},
		`--etcd-certfile and --etcd-keyfile must be set together`:                                      {EtcdServers: []string{"https://a:2379"}, EtcdKey: []byte("x")},
		`--server-arg "v=2": must be a flag of slipway-apiserver`:                                      {ServerArgs: []string{"v=2"}},
		`--server-arg "--data-dir=/x": the installation sets --data-d`:                                 {ServerArgs: []string{"--data-dir=/x"}},
		`use --etcd-servers instead`:                                                                   {ServerArgs: []string{"--etcd-servers=x"}},
		`--vcenter-url "http://vc/sdk": must have the form https://`:                                   vcenter(func(v *deployment.VCenter) { v.URL = "http://vc/sdk" }),
		`--vcenter-url: must not contain credentials`:                                                  vcenter(func(v *deployment.VCenter) { v.URL = "https://u:p@vc/sdk" }),
		`--vcenter-ca-file: must contain only certificates`:                                            vcenter(func(v *deployment.VCenter) { v.CA = []byte("x") }),
		`--vcenter-thumbprint "zz": `:                                                                  vcenter(func(v *deployment.VCenter) { v.Thumbprint = "zz" }),
		`use --vcenter-username and --vcenter-password-file`:                                           vcenter(func(v *deployment.VCenter) { v.Password = "" }),
	} {
		if _, _, err := deployment.Objects(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	err := (&deployment.Options{Replicas: 2, Image: "a b"}).Validate()
	if err == nil || !strings.Contains(err.Error(), "--replicas") || !strings.Contains(err.Error(), "--image") {
		t.Errorf("not all is named at once: %v", err)
	}
}

// Every component and deploy/cluster-api is rendered, so that none adds an object that stays.
func TestDeployment_RemovableObjectsAreThoseOfAllDirectories(t *testing.T) {
	ofBase, added, err := deployment.Removable()
	if err != nil {
		t.Fatal(err)
	}
	removed := map[string]bool{}
	for _, u := range append(ofBase, added...) {
		removed[u.GetKind()+" "+u.GetName()] = true
	}
	kustomizations := []string{"resources: [../deploy/cluster-api]\n"}
	components, err := artifacts.Deploy.ReadDir("deploy/components")
	if err != nil || len(components) < 6 {
		t.Fatalf("%d components, %v", len(components), err)
	}
	for _, c := range components {
		if c.Name() == "etcd-restore" { // it changes another component
			continue
		}
		kustomizations = append(kustomizations, baseKustomization+"components: [../deploy/components/"+c.Name()+"]\n")
	}
	for _, k := range kustomizations {
		for _, u := range rendered(t, k) {
			if !removed[u.GetKind()+" "+u.GetName()] {
				t.Errorf("%s %s of %q is not removed", u.GetKind(), u.GetName(), k)
			}
		}
	}
	if added[0].GetKind() == "Namespace" || ofBase[len(ofBase)-1].GetKind() != "Namespace" {
		t.Errorf("the namespace is not removed last")
	}
}
