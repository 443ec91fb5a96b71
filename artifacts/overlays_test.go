// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-dev/slipway/artifacts/kustomized"
)

const overlays = "deploy/overlays/"

// built returns the objects of a directory by kind and name.
func built(t *testing.T, dir string) map[string]*unstructured.Unstructured {
	t.Helper()
	return builtFrom(t, ".", "resources: [../"+dir+"]\n")
}

// builtFrom returns the objects of a kustomization next to the directories of root.
func builtFrom(t *testing.T, root, kustomization string) map[string]*unstructured.Unstructured {
	t.Helper()
	all, err := kustomized.Build(os.DirFS(root), kustomization)
	if err != nil {
		t.Fatal(err)
	}
	return named(t, all)
}

// together returns the objects of the base with components.
func together(t *testing.T, components ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	return builtFrom(t, ".", "resources: [../deploy/base]\ncomponents: [../deploy/components/"+strings.Join(components, ", ../deploy/components/")+"]\n")
}

func named(t *testing.T, all []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for _, o := range all {
		name := o.GetKind() + " " + o.GetName()
		if objects[name] != nil {
			t.Errorf("duplicate %s", name)
		}
		objects[name] = o
	}
	return objects
}

// facts returns the fields of an object, one per line, for comparison. List items with a name are identified by it;
// other lists are compared in any order.
func facts(path string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		var all []string
		for key, inner := range v {
			all = append(all, facts(path+"."+key, inner)...)
		}
		if len(v) == 0 {
			return []string{path + ": {}"}
		}
		return all
	case []any:
		var all []string
		for _, item := range v {
			at := path + "[]"
			if m, ok := item.(map[string]any); ok {
				if metadata, ok := m["metadata"].(map[string]any); ok {
					m = metadata
				}
				if m["name"] != nil {
					at = fmt.Sprintf("%s[%v]", path, m["name"])
				}
			}
			all = append(all, facts(at, item)...)
		}
		return all
	}
	text, _ := json.Marshal(value) // cannot fail: value was decoded from JSON
	return []string{path + ": " + string(text)}
}

// differences returns the fields that only base or only other contains. An object that only other contains is one
// entry.
func differences(base, other map[string]*unstructured.Unstructured) []string {
	var all []string
	for name, o := range other {
		if base[name] == nil {
			all = append(all, "+ "+name)
			continue
		}
		was, is := facts("", base[name].Object), facts("", o.Object)
		for _, fact := range is {
			if !slices.Contains(was, fact) {
				all = append(all, "+ "+name+" "+fact)
			}
		}
		for _, fact := range was {
			if !slices.Contains(is, fact) {
				all = append(all, "- "+name+" "+fact)
			}
		}
	}
	for name := range base {
		if other[name] == nil {
			all = append(all, "- "+name)
		}
	}
	slices.Sort(all)
	return all
}

func TestBase_IsTheDefaultInstallation(t *testing.T) {
	objects, err := Objects(func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	want := named(t, objects)
	for _, dir := range []string{"deploy", "deploy/base"} {
		got := built(t, dir)
		if diff := differences(want, got); len(diff) > 0 || len(got) != len(objects) {
			t.Errorf("kubectl apply -k artifacts/%s applies %d objects, want %d; (-files +kustomization):\n%s", dir, len(got), len(objects), strings.Join(diff, "\n"))
		}
	}
}

func TestOverlays_DifferFromTheBaseAsExpected(t *testing.T) {
	const (
		pod       = "StatefulSet slipway-apiserver .spec.template.spec."
		container = pod + "containers[slipway-apiserver]."
	)
	base := built(t, "deploy/base")
	external := []string{
		"- " + container + `args[]: "--data-dir=/data"`,
		"- " + container + `args[]: "--shutdown-delay-duration=0s"`, "+ " + container + `args[]: "--shutdown-delay-duration=10s"`,
		"+ " + container + `args[]: "--etcd-servers=$(ETCD_SERVERS)"`,
		"+ " + container + `args[]: "--etcd-cafile=/etcd/ca.crt"`,
		"+ " + container + `args[]: "--etcd-certfile=/etcd/tls.crt"`,
		"+ " + container + `args[]: "--etcd-keyfile=/etcd/tls.key"`,
		"+ " + container + `env[ETCD_SERVERS].name: "ETCD_SERVERS"`,
		"- " + container + `volumeMounts[data].mountPath: "/data"`, "- " + container + `volumeMounts[data].name: "data"`,
		"+ " + container + `volumeMounts[etcd].mountPath: "/etcd"`, "+ " + container + `volumeMounts[etcd].name: "etcd"`, "+ " + container + "volumeMounts[etcd].readOnly: true",
		"+ " + pod + `volumes[etcd].name: "etcd"`, "+ " + pod + `volumes[etcd].secret.secretName: "slipway-etcd-client"`,
		"- StatefulSet slipway-apiserver .spec.replicas: 1", "+ StatefulSet slipway-apiserver .spec.replicas: 2",
		`- StatefulSet slipway-apiserver .spec.volumeClaimTemplates[data].metadata.name: "data"`,
		`- StatefulSet slipway-apiserver .spec.volumeClaimTemplates[data].spec.accessModes[]: "ReadWriteOnce"`,
		`- StatefulSet slipway-apiserver .spec.volumeClaimTemplates[data].spec.resources.requests.storage: "20Gi"`,
		"- Service slipway-apiserver .spec.publishNotReadyAddresses: true", "+ PodDisruptionBudget slipway-apiserver",
	}
	for name, want := range map[string][]string{
		"external-etcd": append([]string{
			"+ " + container + `env[ETCD_SERVERS].valueFrom.secretKeyRef.key: "servers"`,
			"+ " + container + `env[ETCD_SERVERS].valueFrom.secretKeyRef.name: "slipway-etcd-client"`,
		}, external...),
		"etcd": append([]string{
			"+ " + container + `env[ETCD_SERVERS].value: "https://slipway-etcd-0.slipway-etcd.slipway-system.svc:2379,https://slipway-etcd-1.slipway-etcd.slipway-system.svc:2379,https://slipway-etcd-2.slipway-etcd.slipway-system.svc:2379"`,
			"+ Service slipway-etcd", "+ StatefulSet slipway-etcd", "+ PodDisruptionBudget slipway-etcd", "+ NetworkPolicy slipway-etcd",
		}, external...),
		"cert-manager": {
			"- ClusterRoleBinding slipway-apiserver:certificate", "- RoleBinding slipway-apiserver:certificate",
			"+ Certificate slipway-apiserver", "+ Certificate slipway-ca", "+ Issuer slipway-ca", "+ Issuer slipway-self-signed",
			`+ APIService v1alpha1.cluster.slipway.dev .metadata.annotations.cert-manager.io/inject-ca-from: "slipway-system/slipway-apiserver"`,
			`+ APIService v1alpha1.instancetype.slipway.dev .metadata.annotations.cert-manager.io/inject-ca-from: "slipway-system/slipway-apiserver"`,
			`+ APIService v1alpha1.vm.slipway.dev .metadata.annotations.cert-manager.io/inject-ca-from: "slipway-system/slipway-apiserver"`,
			"+ " + container + `args[]: "--tls-cert-file=/tls/tls.crt"`, "+ " + container + `args[]: "--tls-private-key-file=/tls/tls.key"`,
			"+ " + container + `volumeMounts[tls].mountPath: "/tls"`, "+ " + container + `volumeMounts[tls].name: "tls"`, "+ " + container + "volumeMounts[tls].readOnly: true",
			"+ " + pod + `volumes[tls].name: "tls"`, "+ " + pod + `volumes[tls].secret.secretName: "slipway-apiserver-tls"`,
		},
		"monitoring": {
			"+ ClusterRole slipway-metrics", "+ ClusterRoleBinding slipway-metrics", "+ ConfigMap slipway-dashboards", "+ PrometheusRule slipway",
			"+ Secret slipway-metrics", "+ ServiceAccount slipway-metrics", "+ ServiceMonitor slipway-apiserver",
		},
		"egress": {"+ NetworkPolicy slipway-egress"},
		"secret-namespaces": {
			"- ClusterRoleBinding slipway-apiserver:secrets", "+ RoleBinding slipway-apiserver:secrets",
			"+ " + container + `args[]: "--secret-namespaces=slipway-system"`, "+ " + container + `args[]: "--secret-namespaces=team-a"`,
		},
		"snapshots": {
			"+ " + container + `args[]: "--etcd-snapshot-dir=/snapshots"`,
			"+ " + container + `args[]: "--etcd-snapshot-interval=6h"`, "+ " + container + `args[]: "--etcd-snapshot-retention=28"`,
			"+ " + container + `volumeMounts[snapshots].mountPath: "/snapshots"`, "+ " + container + `volumeMounts[snapshots].name: "snapshots"`,
			`+ StatefulSet slipway-apiserver .spec.volumeClaimTemplates[snapshots].metadata.name: "snapshots"`,
			`+ StatefulSet slipway-apiserver .spec.volumeClaimTemplates[snapshots].spec.accessModes[]: "ReadWriteOnce"`,
			`+ StatefulSet slipway-apiserver .spec.volumeClaimTemplates[snapshots].spec.resources.requests.storage: "20Gi"`,
		},
	} {
		slices.Sort(want)
		if diff := cmp.Diff(want, differences(base, built(t, overlays+name))); diff != "" {
			t.Errorf("overlay %s (-want +got):\n%s", name, diff)
		}
	}
	all, err := os.ReadDir(overlays)
	if err != nil || len(all) != 7 {
		t.Errorf("%d overlays, %v: this test must contain each overlay", len(all), err)
	}
}

// A component must not remove entries that another component adds to the same list.
func TestComponents_CanBeCombined(t *testing.T) {
	base := built(t, "deploy/base")
	for _, components := range [][]string{
		{"external-etcd", "snapshots", "monitoring", "cert-manager", "egress"},
		{"snapshots", "etcd", "monitoring", "cert-manager", "egress"},
	} {
		got := together(t, components...)
		var want []string
		for _, name := range components {
			want = append(want, differences(base, built(t, overlays+name))...)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, differences(base, got)); diff != "" {
			t.Errorf("%v (-each +together):\n%s", components, diff)
		}
		if ca := typed[monitor](t, got["ServiceMonitor slipway-apiserver"]).Spec.Endpoints[0].TLSConfig.CA.Secret.Name; ca != "slipway-apiserver-tls" {
			t.Errorf("Prometheus trusts the CA in Secret %q, want that of cert-manager", ca)
		}
	}
}

// documentedKustomization returns the kustomization in docs/how-to/operate/install-with-manifests.md.
func documentedKustomization(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/how-to/operate/install-with-manifests.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.Contains(block, "kind: Kustomization\n") {
			return strings.ReplaceAll(block, "../artifacts/", "../")
		}
	}
	t.Fatal("docs/how-to/operate/install-with-manifests.md has no kustomization")
	return ""
}

func TestDocumentedKustomization_ChangesImageArgumentAndComponent(t *testing.T) {
	const container = " StatefulSet slipway-apiserver .spec.template.spec.containers[slipway-apiserver]."
	const unreleased, file = "slipway-apiserver:v0.1.0", "deploy/base/50-deployment.yaml"
	released := "registry.example.org/published:v0.1.0@sha256:" + strings.Repeat("a", 64)
	for _, image := range []string{unreleased, released} {
		root := t.TempDir()
		err := os.CopyFS(filepath.Join(root, "deploy"), os.DirFS("deploy"))
		var text []byte
		if err == nil {
			text, err = os.ReadFile(file)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, file), []byte(strings.Replace(string(text), "image: "+unreleased, "image: "+image, 1)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		base := builtFrom(t, root, "resources: [../deploy/base]\n")
		want := append(differences(base, builtFrom(t, root, "resources: [../deploy/overlays/egress]\n")),
			"+"+container+`image: "registry.example.com/slipway-apiserver:v0.1.0"`, "-"+container+`image: "`+image+`"`,
			"+"+container+`args[]: "--vcenter-datastore=vsan"`)
		slices.Sort(want)
		if diff := cmp.Diff(want, differences(base, builtFrom(t, root, documentedKustomization(t)))); diff != "" {
			t.Errorf("with the image %s (-want +got):\n%s", image, diff)
		}
	}
}
