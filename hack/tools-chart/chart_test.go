// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type object = map[string]any

// rendered are the objects of the chart, by kind and name, as helm template gives them.
func rendered(namespace string, values object) (map[string]object, error) {
	chart, err := loader.Load("../../artifacts/chart/slipway")
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "slipway", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]object{}
	for name, text := range files {
		if filepath.Ext(name) == ".yaml" {
			if err := decode([]byte(text), objects); err != nil {
				return nil, err
			}
		}
	}
	return objects, nil
}

func decode(text []byte, into map[string]object) error {
	for d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := object{}
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(o) > 0 {
			into[o["kind"].(string)+" "+o["metadata"].(object)["name"].(string)] = o
		}
	}
}

// deployed are the objects of artifacts/deploy/base, but for the namespace, which is there before
// anything is installed by Helm.
func deployed(t *testing.T) map[string]object {
	t.Helper()
	files, err := filepath.Glob("../../artifacts/deploy/base/[0-9]*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("manifests: %v, %v", files, err)
	}
	objects := map[string]object{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err == nil {
			err = decode(text, objects)
		}
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	delete(objects, "Namespace slipway-system")
	if len(objects) < 20 {
		t.Fatalf("only %d objects", len(objects))
	}
	return objects
}

const set = "StatefulSet slipway-apiserver"

func podOf(objects map[string]object) object {
	return objects[set]["spec"].(object)["template"].(object)["spec"].(object)
}

func containerOf(objects map[string]object) object {
	return podOf(objects)["containers"].([]any)[0].(object)
}

func TestTheChartAsItIsIsWhatArtifactsDeployHas(t *testing.T) {
	got, err := rendered("slipway-system", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deployed(t), got); diff != "" {
		t.Errorf("(-artifacts/deploy +chart):\n%s", diff)
	}
}

func TestAVCenterOfTheChartIsNamedByFlags(t *testing.T) {
	got, err := rendered("slipway-system", object{"vcenter": object{"url": "https://vcenter.example.com/sdk", "caConfigMap": "authority"}})
	if err != nil {
		t.Fatal(err)
	}
	want := deployed(t)
	add(containerOf(want), "args", "--vcenter-url=https://vcenter.example.com/sdk", "--vcenter-credentials-secret=slipway-system/vcenter-credentials", "--vcenter-ca-file=/vcenter-ca/ca.crt")
	add(containerOf(want), "volumeMounts", object{"name": "vcenter-ca", "mountPath": "/vcenter-ca", "readOnly": true})
	add(podOf(want), "volumes", object{"name": "vcenter-ca", "configMap": object{"name": "authority"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-artifacts/deploy with flags +chart):\n%s", diff)
	}
}

func TestEveryValueOfTheChartIsWhereItBelongs(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	toleration := object{"key": "control-plane", "operator": "Exists"}
	got, err := rendered("slipway-system", object{
		"image":        object{"repository": "registry.example.com/s", "digest": digest, "pullPolicy": "Always", "pullSecrets": []any{object{"name": "login"}}},
		"replicas":     5,
		"vcenter":      object{"url": "https://vc/sdk", "credentialsSecret": "other"},
		"persistence":  object{"size": "5Gi", "storageClass": "fast"},
		"resources":    object{"limits": object{"memory": "8Gi"}},
		"nodeSelector": object{"disk": "ssd"},
		"tolerations":  []any{toleration},
		"extraArgs":    []any{"--v=4", "--x=a: #b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := deployed(t)
	spec, pod, container := want[set]["spec"].(object), podOf(want), containerOf(want)
	container["image"], container["imagePullPolicy"] = "registry.example.com/s@"+digest, "Always"
	container["resources"] = object{"requests": object{"cpu": "200m", "memory": "512Mi"}, "limits": object{"memory": "8Gi"}}
	pod["imagePullSecrets"], pod["nodeSelector"], pod["tolerations"] = []any{object{"name": "login"}}, object{"disk": "ssd"}, []any{toleration}
	spec["replicas"] = float64(5)
	claim := spec["volumeClaimTemplates"].([]any)[0].(object)["spec"].(object)
	claim["storageClassName"], claim["resources"] = "fast", object{"requests": object{"storage": "5Gi"}}
	add(container, "args", "--vcenter-url=https://vc/sdk", "--vcenter-credentials-secret=slipway-system/other", "--v=4", "--x=a: #b")
	if diff := cmp.Diff(want, got, cmp.Transformer("numbers", func(n int64) float64 { return float64(n) })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestACertificateOfYourOwnIsMountedAndTrusted(t *testing.T) {
	annotations := object{"cert-manager.io/inject-ca-from": "slipway-system/slipway-apiserver"}
	got, err := rendered("slipway-system", object{"tls": object{"secret": "own", "caBundle": "Y2E=", "annotations": annotations}})
	if err != nil {
		t.Fatal(err)
	}
	want := deployed(t)
	container, pod := containerOf(want), podOf(want)
	add(container, "args", "--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key")
	add(container, "volumeMounts", object{"name": "tls", "mountPath": "/tls", "readOnly": true})
	add(pod, "volumes", object{"name": "tls", "secret": object{"secretName": "own"}})
	services := 0
	for name, o := range want {
		if strings.HasPrefix(name, "APIService ") {
			services++
			o["metadata"].(object)["annotations"], o["spec"].(object)["caBundle"] = annotations, "Y2E="
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || services != 3 {
		t.Errorf("%d APIServices (-want +got):\n%s", services, diff)
	}
}

func TestAnExternalEtcdTakesThePlaceOfTheEmbeddedOneAndItsVolumes(t *testing.T) {
	got, err := rendered("slipway-system", object{"replicas": 2, "etcd": object{"servers": []any{"https://a:2379", "https://b:2379"}, "tlsSecret": "etcd-client"}})
	if err != nil {
		t.Fatal(err)
	}
	want := deployed(t)
	drop(containerOf(want), "args", func(arg any) bool {
		return slices.ContainsFunc([]string{"--data-dir=", "--etcd-"}, func(p string) bool { return strings.HasPrefix(arg.(string), p) })
	})
	args := append(containerOf(want)["args"].([]any), "--etcd-servers=https://a:2379,https://b:2379",
		"--etcd-cafile=/etcd-tls/ca.crt", "--etcd-certfile=/etcd-tls/tls.crt", "--etcd-keyfile=/etcd-tls/tls.key")
	if diff := cmp.Diff(any(args), containerOf(got)["args"]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if claims := got[set]["spec"].(object)["volumeClaimTemplates"]; claims != nil {
		t.Errorf("it has volumes of its own: %v", claims)
	}
	mounts, volumes := containerOf(got)["volumeMounts"].([]any), podOf(got)["volumes"].([]any)
	if slices.ContainsFunc(mounts, named("data")) || !slices.ContainsFunc(mounts, named("etcd-tls")) || !slices.ContainsFunc(volumes, named("etcd-tls")) {
		t.Errorf("mounts %v of volumes %v", mounts, volumes)
	}
}

// overlay are the objects of an overlay of artifacts/deploy, but for the namespace.
func overlay(t *testing.T, name string) map[string]object {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../artifacts/deploy/overlays/"+name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	if err := decode(text, objects); err != nil {
		t.Fatal(err)
	}
	delete(objects, "Namespace slipway-system")
	return objects
}

// The chart and the component of artifacts/deploy make one replica of the same.
func TestOneReplicaOfTheChartIsThatOfTheOverlay(t *testing.T) {
	got, err := rendered("slipway-system", object{"replicas": 1})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(overlay(t, "single"), got); diff != "" {
		t.Errorf("(-overlay +chart):\n%s", diff)
	}
}

// The chart and the component of artifacts/deploy turn on the same.
func TestSnapshotsOfTheChartAreThoseOfTheOverlay(t *testing.T) {
	got, err := rendered("slipway-system", object{"snapshots": object{"enabled": true}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(overlay(t, "snapshots"), got); diff != "" {
		t.Errorf("(-overlay +chart):\n%s", diff)
	}
	other := object{"enabled": true, "size": "50Gi", "storageClass": "cheap", "interval": "1h", "retention": 48}
	if got, err = rendered("slipway-system", object{"snapshots": other}); err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{"--etcd-snapshot-interval=1h", "--etcd-snapshot-retention=48"} {
		if !slices.Contains(containerOf(got)["args"].([]any), any(arg)) {
			t.Errorf("no %s in %v", arg, containerOf(got)["args"])
		}
	}
	claim := got[set]["spec"].(object)["volumeClaimTemplates"].([]any)[1].(object)["spec"]
	wanted := object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "50Gi"}}, "storageClassName": "cheap"}
	if diff := cmp.Diff(any(wanted), claim); diff != "" {
		t.Errorf("the volume (-want +got):\n%s", diff)
	}
}

func TestValuesThatCannotWorkAreRefusedByName(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		values    object
		want      string
	}{
		"namespace":           {"default", nil, `namespace "default": Slipway has its Leases`},
		"two replicas":        {"slipway-system", object{"replicas": 2}, "replicas 2: want an odd number"},
		"no replica":          {"slipway-system", object{"replicas": 0}, "replicas"},
		"unknown":             {"slipway-system", object{"replica": 1}, "replica"},
		"digest":              {"slipway-system", object{"image": object{"digest": "v1"}}, "digest"},
		"password in URL":     {"slipway-system", object{"vcenter": object{"url": "https://u:p@vc/sdk"}}, "url"},
		"URL without TLS":     {"slipway-system", object{"vcenter": object{"url": "http://vc/sdk"}}, "url"},
		"CA of nothing":       {"slipway-system", object{"vcenter": object{"caConfigMap": "ca"}}, "vcenter.caConfigMap is given without vcenter.url"},
		"CA of the managed":   {"slipway-system", object{"tls": object{"caBundle": "Y2E="}}, "tls.caBundle or tls.annotations is given without tls.secret"},
		"certificates alone":  {"slipway-system", object{"etcd": object{"tlsSecret": "x"}}, "etcd.tlsSecret is given without etcd.servers"},
		"snapshots of others": {"slipway-system", object{"snapshots": object{"enabled": true}, "etcd": object{"servers": []any{"https://a:2379"}}}, "snapshots.enabled is given with etcd.servers"},
		"no interval":         {"slipway-system", object{"snapshots": object{"interval": "often"}}, "interval"},
		"no flag":             {"slipway-system", object{"extraArgs": []any{"v=4"}}, "extraArgs"},
	} {
		if _, err := rendered(tc.namespace, tc.values); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

func named(name string) func(any) bool {
	return func(item any) bool { return item.(object)["name"] == name }
}

// add appends to a list that may be missing.
func add(o object, list string, items ...any) {
	all, _ := o[list].([]any)
	o[list] = append(all, items...)
}

func drop(o object, list string, gone func(any) bool) {
	o[list] = slices.DeleteFunc(o[list].([]any), gone)
	if len(o[list].([]any)) == 0 {
		delete(o, list)
	}
}
