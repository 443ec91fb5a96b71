// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

type object = map[string]any

// rendered returns the objects of the chart by kind and name, as rendered by helm template.
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

// kustomized returns the objects of a kustomization next to artifacts/deploy, without the namespace, which must exist
// before the installation with Helm.
func kustomized(t *testing.T, resource string, components ...string) map[string]object {
	t.Helper()
	text := "resources: [../deploy/" + resource + "]\n"
	if len(components) > 0 {
		text += "components: [../deploy/components/" + strings.Join(components, ", ../deploy/components/") + "]\n"
	}
	files := filesys.MakeFsInMemory()
	err := files.WriteFile("/own/kustomization.yaml", []byte(text))
	if err == nil {
		err = filepath.WalkDir("../../artifacts/deploy", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return files.WriteFile(strings.TrimPrefix(path, "../../artifacts"), data)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/own")
	if err != nil {
		t.Fatal(err)
	}
	yamls, err := rendered.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	if err := decode(yamls, objects); err != nil {
		t.Fatal(err)
	}
	delete(objects, "Namespace slipway-system")
	if len(objects) < 20 {
		t.Fatalf("only %d objects", len(objects))
	}
	return objects
}

func deployed(t *testing.T) map[string]object { return kustomized(t, "base") }

const set = "StatefulSet slipway-apiserver"

func podOf(objects map[string]object) object {
	return objects[set]["spec"].(object)["template"].(object)["spec"].(object)
}

func containerOf(objects map[string]object) object {
	return podOf(objects)["containers"].([]any)[0].(object)
}

// same ignores empty fields and the order of arguments, mounts and volumes.
var same = cmp.Options{
	cmpopts.IgnoreMapEntries(func(_ string, value any) bool {
		list, ok := value.([]any)
		return value == nil || ok && len(list) == 0
	}),
	cmpopts.SortSlices(func(a, b any) bool { return fmt.Sprint(a) < fmt.Sprint(b) }),
}

func TestChart_DefaultValuesMatchTheBase(t *testing.T) {
	got, err := rendered("slipway-system", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deployed(t), got, same); diff != "" {
		t.Errorf("(-artifacts/deploy +chart):\n%s", diff)
	}
}

func TestChart_SetsVCenterFlags(t *testing.T) {
	got, err := rendered("slipway-system", object{"vcenter": object{"url": "https://vcenter.example.com/sdk", "caConfigMap": "authority"}})
	if err != nil {
		t.Fatal(err)
	}
	want := deployed(t)
	add(containerOf(want), "args", "--vcenter-url=https://vcenter.example.com/sdk", "--vcenter-credentials-secret=slipway-system/vcenter-credentials", "--vcenter-ca-file=/vcenter-ca/ca.crt")
	add(containerOf(want), "volumeMounts", object{"name": "vcenter-ca", "mountPath": "/vcenter-ca", "readOnly": true})
	add(podOf(want), "volumes", object{"name": "vcenter-ca", "configMap": object{"name": "authority"}})
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("(-artifacts/deploy with flags +chart):\n%s", diff)
	}
}

func TestChart_SetsFieldsFromValues(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	toleration := object{"key": "control-plane", "operator": "Exists"}
	got, err := rendered("slipway-system", object{
		"image":        object{"repository": "registry.example.com/s", "digest": digest, "pullPolicy": "Always", "pullSecrets": []any{object{"name": "login"}}},
		"vcenter":      object{"url": "https://vc/sdk", "credentialsSecret": "other"},
		"persistence":  object{"size": "5Gi", "storageClass": "fast"},
		"resources":    object{"limits": object{"memory": "8Gi"}},
		"nodeSelector": object{"disk": "ssd"},
		"tolerations":  []any{toleration},
		"extraArgs":    []any{"--v=4", "--x=a: #b"},
		"affinity":     object{"nodeAffinity": object{"x": "y"}}, "topologySpreadConstraints": []any{object{"maxSkew": 2.0}},
		"priorityClassName": "own", "podAnnotations": object{"team": "a"}, "serviceAccount": object{"annotations": object{"team": "b"}}, "extraEnv": []any{object{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := deployed(t)
	spec, pod, container := want[set]["spec"].(object), podOf(want), containerOf(want)
	container["image"], container["imagePullPolicy"] = "registry.example.com/s@"+digest, "Always"
	container["resources"] = object{"requests": object{"cpu": "200m", "memory": "512Mi"}, "limits": object{"memory": "8Gi"}}
	pod["imagePullSecrets"], pod["nodeSelector"], pod["tolerations"] = []any{object{"name": "login"}}, object{"disk": "ssd"}, []any{toleration}
	pod["affinity"], pod["topologySpreadConstraints"], pod["priorityClassName"] = object{"nodeAffinity": object{"x": "y"}}, []any{object{"maxSkew": 2.0}}, "own"
	spec["template"].(object)["metadata"].(object)["annotations"] = object{"team": "a"}
	want["ServiceAccount slipway-apiserver"]["metadata"].(object)["annotations"] = object{"team": "b"}
	container["env"] = []any{object{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}}
	claim := spec["volumeClaimTemplates"].([]any)[0].(object)["spec"].(object)
	claim["storageClassName"], claim["resources"] = "fast", object{"requests": object{"storage": "5Gi"}}
	add(container, "args", "--vcenter-url=https://vc/sdk", "--vcenter-credentials-secret=slipway-system/other", "--v=4", "--x=a: #b")
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChart_OwnCertificateIsMountedAndTrusted(t *testing.T) {
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
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
		delete(want, kind+" slipway-apiserver:certificate")
	}
	services := 0
	for name, o := range want {
		if strings.HasPrefix(name, "APIService ") {
			services++
			o["metadata"].(object)["annotations"], o["spec"].(object)["caBundle"] = annotations, "Y2E="
		}
	}
	if diff := cmp.Diff(want, got, same); diff != "" || services != 3 {
		t.Errorf("%d APIServices (-want +got):\n%s", services, diff)
	}
}

// withServers replaces the variable in the components by its value, as the chart does.
func withServers(t *testing.T, objects map[string]object) map[string]object {
	t.Helper()
	container := containerOf(objects)
	servers, _ := container["env"].([]any)[0].(object)["value"].(string)
	if servers == "" {
		servers = "https://a:2379,https://b:2379"
	}
	delete(container, "env")
	args := container["args"].([]any)
	i := slices.Index(args, any("--etcd-servers=$(ETCD_SERVERS)"))
	if i < 0 {
		t.Fatalf("no --etcd-servers in %v", args)
	}
	args[i] = "--etcd-servers=" + servers
	return objects
}

func TestChart_ValuesMatchComponents(t *testing.T) {
	for name, tc := range map[string]struct {
		values object
		want   map[string]object
	}{
		"snapshots": {object{"snapshots": object{"enabled": true}}, kustomized(t, "base", "snapshots")},
		"external etcd": {
			object{"replicas": 2, "etcd": object{"servers": []any{"https://a:2379", "https://b:2379"}, "tlsSecret": "slipway-etcd-client"}},
			withServers(t, kustomized(t, "base", "external-etcd")),
		},
		"etcd members": {object{"replicas": 2, "etcd": object{"install": true}}, withServers(t, kustomized(t, "base", "etcd"))},
		"all": {
			object{"replicas": 2, "etcd": object{"install": true}, "snapshots": object{"enabled": true}},
			withServers(t, kustomized(t, "base", "etcd", "snapshots")),
		},
	} {
		got, err := rendered("slipway-system", tc.values)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got, same); diff != "" {
			t.Errorf("%s (-components +chart):\n%s", name, diff)
		}
	}
}

func TestChart_SecretNamespacesMatchTheOverlay(t *testing.T) {
	got, err := rendered("slipway-system", object{"secretNamespaces": []any{"team-a"}})
	if err != nil {
		t.Fatal(err)
	}
	want := kustomized(t, "overlays/secret-namespaces")
	args := containerOf(want)["args"].([]any)
	containerOf(want)["args"] = slices.DeleteFunc(args, func(arg any) bool { return arg == "--secret-namespaces=slipway-system" })
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("(-overlay +chart):\n%s", diff)
	}
}

func TestChart_DisabledFeaturesHaveNoPermissions(t *testing.T) {
	got, err := rendered("slipway-system", object{"probeNetworks": []any{"10.0.0.0/8", "fd00::/8"}, "workloadNetworks": []any{"10.0.0.0/8"}, "providers": false})
	if err != nil {
		t.Fatal(err)
	}
	want := kustomized(t, "base", "named-networks", "no-providers")
	add(containerOf(want), "args", "--probe-networks=10.0.0.0/8,fd00::/8", "--workload-networks=10.0.0.0/8")
	for _, name := range []string{"ClusterRole slipway-apiserver:addresses", "ClusterRole slipway-apiserver:providers"} {
		delete(want, name) // no binding refers to it
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("(-components +chart):\n%s", diff)
	}
}

func TestChart_EtcdMembersUseImageAndVolumeOfValues(t *testing.T) {
	got, err := rendered("slipway-system", object{
		"etcd": object{"install": true, "image": "mirror.example.com/etcd:v1"}, "persistence": object{"size": "5Gi", "storageClass": "fast"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := kustomized(t, "base", "etcd")["StatefulSet slipway-etcd"]
	spec := want["spec"].(object)
	spec["template"].(object)["spec"].(object)["containers"].([]any)[0].(object)["image"] = "mirror.example.com/etcd:v1"
	spec["volumeClaimTemplates"].([]any)[0].(object)["spec"] = object{
		"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "fast", "resources": object{"requests": object{"storage": "5Gi"}},
	}
	if diff := cmp.Diff(want, got["StatefulSet slipway-etcd"], same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestChart_SnapshotsUseScheduleAndVolumeOfValues(t *testing.T) {
	got, err := rendered("slipway-system", object{"snapshots": object{"enabled": true, "size": "50Gi", "storageClass": "cheap", "interval": "1h", "retention": 48}})
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range []string{"--etcd-snapshot-interval=1h", "--etcd-snapshot-retention=48"} {
		if !slices.Contains(containerOf(got)["args"].([]any), any(arg)) {
			t.Errorf("no %s in %v", arg, containerOf(got)["args"])
		}
	}
	claim := got[set]["spec"].(object)["volumeClaimTemplates"].([]any)[1].(object)["spec"]
	want := object{"accessModes": []any{"ReadWriteOnce"}, "resources": object{"requests": object{"storage": "50Gi"}}, "storageClassName": "cheap"}
	if diff := cmp.Diff(any(want), claim); diff != "" {
		t.Errorf("the volume (-want +got):\n%s", diff)
	}
}

func TestChart_RejectsInvalidValues(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		values    object
		want      string
	}{
		"namespace":                         {"default", nil, `namespace "default": Slipway uses Leases`},
		"two replicas":                      {"slipway-system", object{"replicas": 2}, "replicas 2: more than 1 requires etcd.install or etcd.servers"},
		"zero replicas":                     {"slipway-system", object{"replicas": 0}, "replicas"},
		"unknown":                           {"slipway-system", object{"replica": 1}, "replica"},
		"digest":                            {"slipway-system", object{"image": object{"digest": "v1"}}, "digest"},
		"password in URL":                   {"slipway-system", object{"vcenter": object{"url": "https://u:p@vc/sdk"}}, "url"},
		"URL without TLS":                   {"slipway-system", object{"vcenter": object{"url": "http://vc/sdk"}}, "url"},
		"CA without vCenter":                {"slipway-system", object{"vcenter": object{"caConfigMap": "ca"}}, "vcenter.caConfigMap is set without vcenter.url"},
		"CA without certificate":            {"slipway-system", object{"tls": object{"caBundle": "Y2E="}}, "tls.caBundle or tls.annotations is set without tls.secret"},
		"etcd certificates without servers": {"slipway-system", object{"etcd": object{"tlsSecret": "x"}}, "etcd.tlsSecret is set without etcd.servers"},
		"two kinds of etcd":                 {"slipway-system", object{"etcd": object{"install": true, "servers": []any{"https://a:2379"}}}, "etcd.install and etcd.servers or etcd.tlsSecret are mutually exclusive"},
		"invalid interval":                  {"slipway-system", object{"snapshots": object{"interval": "often"}}, "interval"},
		"invalid network":                   {"slipway-system", object{"probeNetworks": []any{"everywhere"}}, "probeNetworks"},
		"invalid namespace":                 {"slipway-system", object{"secretNamespaces": []any{"Team A"}}, "secretNamespaces"},
		"invalid flag":                      {"slipway-system", object{"extraArgs": []any{"v=4"}}, "extraArgs"},
	} {
		if _, err := rendered(tc.namespace, tc.values); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

// add appends to a list that may not exist.
func add(o object, list string, items ...any) {
	all, _ := o[list].([]any)
	o[list] = append(all, items...)
}
