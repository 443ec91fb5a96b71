// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/artifacts"
	"github.com/slipway-dev/slipway/test/kustomized"
)

func objects(t *testing.T, o Options) (host, served []*unstructured.Unstructured) {
	t.Helper()
	host, served, err := Objects(o)
	if err != nil {
		t.Fatal(err)
	}
	return host, served
}

func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	i := slices.IndexFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind && u.GetName() == name })
	if i < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return all[i]
}

func server(t *testing.T, all []*unstructured.Unstructured) *appsv1.StatefulSet {
	t.Helper()
	set := &appsv1.StatefulSet{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, all, "StatefulSet", Name).Object, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// texts are objects as they are printed.
func texts(t *testing.T, objects []*unstructured.Unstructured) []string {
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

// What is not chosen is what kubectl apply would make of artifacts/deploy.
func TestWithoutChoicesItIsTheDeployment(t *testing.T) {
	got, served := objects(t, Options{Replicas: 3})
	want, err := artifacts.Objects(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if len(served) > 0 {
		t.Errorf("%d objects of the server's kinds", len(served))
	}
	if diff := cmp.Diff(texts(t, want), texts(t, got)); diff != "" {
		t.Errorf("(-artifacts/deploy +installation):\n%s", diff)
	}
}

func TestOneReplicaHasNobodyElseToWaitFor(t *testing.T) {
	host, _ := objects(t, Options{Replicas: 1, Image: "registry.example.com/slipway-apiserver@sha256:0123", ServerArgs: []string{"--vcenter-datastore=vsan", "--secure", "--shutdown-delay-duration=1s"}})
	set := server(t, host)
	c := set.Spec.Template.Spec.Containers[0]
	want := []string{
		"--secure-port=8443", "--shutdown-delay-duration=1s", "--data-dir=/data", "--etcd-name=$(POD_NAME)",
		"--etcd-peer-address=$(POD_NAME).slipway-etcd.slipway-system.svc:2380", "--vcenter-datastore=vsan", "--secure",
	}
	if diff := cmp.Diff(want, c.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if *set.Spec.Replicas != 1 || c.Image != "registry.example.com/slipway-apiserver@sha256:0123" {
		t.Errorf("%d replicas of %s", *set.Spec.Replicas, c.Image)
	}
	if publish, _, _ := unstructured.NestedBool(find(t, host, "Service", Name).Object, "spec", "publishNotReadyAddresses"); !publish {
		t.Error("users are not told why the only replica is not ready")
	}
	host, _ = objects(t, Options{Replicas: 1})
	if args := server(t, host).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--shutdown-delay-duration=0s") {
		t.Errorf("it serves on when it is told to stop: %v", args)
	}
}

func TestAnExternalEtcdTakesThePlaceOfTheVolume(t *testing.T) {
	host, _ := objects(t, Options{Replicas: 3, EtcdServers: []string{"https://a:2379", "https://b:2379"}, EtcdCA: []byte("CA"), EtcdCert: []byte("CERT"), EtcdKey: []byte("KEY")})
	set := server(t, host)
	c := set.Spec.Template.Spec.Containers[0]
	want := []string{
		"--secure-port=8443", "--shutdown-delay-duration=10s", "--etcd-servers=https://a:2379,https://b:2379",
		"--etcd-cafile=/etcd/ca.crt", "--etcd-certfile=/etcd/tls.crt", "--etcd-keyfile=/etcd/tls.key",
	}
	if diff := cmp.Diff(want, c.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if len(set.Spec.VolumeClaimTemplates) > 0 || len(c.VolumeMounts) != 1 || c.VolumeMounts[0].MountPath != "/etcd" {
		t.Errorf("volumes %v, mounted %v", set.Spec.VolumeClaimTemplates, c.VolumeMounts)
	}
	data, _, _ := unstructured.NestedStringMap(find(t, host, "Secret", "slipway-etcd-client").Object, "data")
	if diff := cmp.Diff(map[string]string{"ca.crt": "Q0E=", "tls.crt": "Q0VSVA==", "tls.key": "S0VZ"}, data); diff != "" {
		t.Errorf("the Secret (-want +got):\n%s", diff)
	}
}

// What flags choose is what overlays of artifacts/deploy have, so that the two cannot drift.
func TestFlagsMakeWhatOverlaysAre(t *testing.T) {
	const servers = "https://etcd.example.com:2379"
	for overlay, o := range map[string]Options{
		"single":        {Replicas: 1},
		"external-etcd": {Replicas: 3, EtcdServers: []string{servers}, EtcdCA: []byte("CA"), EtcdCert: []byte("CERT"), EtcdKey: []byte("KEY")},
	} {
		host, _ := objects(t, o)
		host = slices.DeleteFunc(host, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Secret" }) // it is made beforehand
		all, err := kustomized.Build("../../../artifacts/deploy/overlays/" + overlay)
		if err != nil {
			t.Fatal(err)
		}
		set := server(t, all)
		c := &set.Spec.Template.Spec.Containers[0]
		c.Args = replaced(c.Args, "--etcd-servers", servers)
		c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "ETCD_SERVERS" })
		if diff := cmp.Diff(set, server(t, host)); diff != "" {
			t.Errorf("the server (-overlay %s +installation):\n%s", overlay, diff)
		}
		others := func(objects []*unstructured.Unstructured) []string {
			rest := texts(t, slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == "StatefulSet" }))
			slices.Sort(rest)
			return rest
		}
		if diff := cmp.Diff(others(all), others(host)); diff != "" {
			t.Errorf("(-overlay %s +installation):\n%s", overlay, diff)
		}
	}
}

func TestAVCenterComesAfterTheServerAndItsSecretBefore(t *testing.T) {
	host, served := objects(t, Options{Replicas: 3, VCenter: &VCenter{URL: "https://vc.example.com/sdk", Username: "slipway", Password: "secret", Thumbprint: strings.Repeat("ab", 32)}})
	if len(served) != 1 || served[0].GetKind() != "VCenter" || served[0].GetName() != "default" {
		t.Fatalf("served: %v", served)
	}
	name, _, _ := unstructured.NestedString(served[0].Object, "spec", "credentialsSecretRef", "name")
	secret := find(t, host, "Secret", name)
	data, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	if diff := cmp.Diff(map[string]string{"username": "c2xpcHdheQ==", "password": "c2VjcmV0"}, data); diff != "" {
		t.Errorf("the Secret (-want +got):\n%s", diff)
	}
	if host[0].GetKind() != "Namespace" || host[1] != secret {
		t.Errorf("the first objects are %s and %s", host[0].GetKind(), host[1].GetKind())
	}
}

func TestWhatIsWrongIsNamedWithItsFlagAndWhatIsAllowed(t *testing.T) {
	vcenter := func(change func(*VCenter)) Options {
		v := &VCenter{URL: "https://vc.example.com/sdk", Username: "u", Password: "p"}
		change(v)
		return Options{Replicas: 3, VCenter: v}
	}
	for want, o := range map[string]Options{
		`--replicas 2: must be 1 or 3`:                                 {Replicas: 2},
		`--image "a b": must be the reference of an image`:             {Replicas: 3, Image: "a b"},
		`--etcd-servers "a:2379": must have the form https://`:         {Replicas: 3, EtcdServers: []string{"a:2379"}},
		`give --etcd-servers, too`:                                     {Replicas: 3, EtcdCA: []byte("x")},
		`--etcd-certfile and --etcd-keyfile belong together`:           {Replicas: 3, EtcdServers: []string{"https://a:2379"}, EtcdKey: []byte("x")},
		`--server-arg "v=2": must be a flag of slipway-apiserver`:      {Replicas: 3, ServerArgs: []string{"v=2"}},
		`--server-arg "--data-dir=/x": the installation sets --data-d`: {Replicas: 3, ServerArgs: []string{"--data-dir=/x"}},
		`use --etcd-servers of virtctl install`:                        {Replicas: 3, ServerArgs: []string{"--etcd-servers=x"}},
		`--vcenter-url "http://vc/sdk": must have the form https://`:   vcenter(func(v *VCenter) { v.URL = "http://vc/sdk" }),
		`--vcenter-url: must not hold credentials`:                     vcenter(func(v *VCenter) { v.URL = "https://u:p@vc/sdk" }),
		`--vcenter-ca-file: must hold certificates in PEM`:             vcenter(func(v *VCenter) { v.CA = []byte("x") }),
		`--vcenter-thumbprint "zz": `:                                  vcenter(func(v *VCenter) { v.Thumbprint = "zz" }),
		`use --vcenter-username and --vcenter-password-file`:           vcenter(func(v *VCenter) { v.Password = "" }),
	} {
		if _, _, err := Objects(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	err := (&Options{Replicas: 2, Image: "a b"}).Validate()
	if err == nil || !strings.Contains(err.Error(), "--replicas") || !strings.Contains(err.Error(), "--image") {
		t.Errorf("not all is named at once: %v", err)
	}
}
