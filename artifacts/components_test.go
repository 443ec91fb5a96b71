// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package artifacts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// typed converts an object to a Go type.
func typed[T any](t *testing.T, u *unstructured.Unstructured) *T {
	t.Helper()
	if u == nil {
		t.Fatal("object not found")
	}
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return object
}

// monitor contains the tested fields of a ServiceMonitor.
type monitor struct {
	Spec struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port          string `json:"port"`
			Scheme        string `json:"scheme"`
			HonorLabels   bool   `json:"honorLabels"`
			Authorization struct {
				Credentials corev1.SecretKeySelector `json:"credentials"`
			} `json:"authorization"`
			TLSConfig struct {
				ServerName string `json:"serverName"`
				CA         struct {
					Secret corev1.SecretKeySelector `json:"secret"`
				} `json:"ca"`
			} `json:"tlsConfig"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// host is the name of the server in the management cluster, for which its certificate is issued.
const host = "slipway-apiserver.slipway-system.svc"

func TestServiceMonitor_UsesAnAccountForMetrics(t *testing.T) {
	all := built(t, overlays+"monitoring")
	service := typed[corev1.Service](t, all["Service slipway-apiserver"])
	m := typed[monitor](t, all["ServiceMonitor slipway-apiserver"]).Spec
	if diff := cmp.Diff(service.Labels, m.Selector.MatchLabels); diff != "" || len(service.Labels) == 0 {
		t.Errorf("the monitor selects another Service (-Service +selector):\n%s", diff)
	}
	if len(m.Endpoints) != 1 {
		t.Fatalf("%d endpoints, want one", len(m.Endpoints))
	}
	e := m.Endpoints[0]
	if e.Port != service.Spec.Ports[0].Name || e.Scheme != "https" || e.TLSConfig.ServerName != host {
		t.Errorf("the endpoint is port %q with scheme %q and server name %q", e.Port, e.Scheme, e.TLSConfig.ServerName)
	}
	if !e.HonorLabels {
		t.Error("the label namespace is overwritten, but dashboards and alerts need the namespace of the virtual machine")
	}
	if ca := e.TLSConfig.CA.Secret; ca.Name != "slipway-serving-ca" || ca.Key != "ca.crt" {
		t.Errorf("the CA is %s of %s, want the one that the server writes", ca.Key, ca.Name)
	}
	token := typed[corev1.Secret](t, all["Secret "+e.Authorization.Credentials.Name])
	account := typed[corev1.ServiceAccount](t, all["ServiceAccount "+token.Annotations[corev1.ServiceAccountNameKey]])
	if token.Type != corev1.SecretTypeServiceAccountToken || e.Authorization.Credentials.Key != corev1.ServiceAccountTokenKey || account.Namespace != token.Namespace {
		t.Errorf("the credentials are %s of a Secret of type %s", e.Authorization.Credentials.Key, token.Type)
	}
}

func TestMonitoring_ObjectsMatchTheFiles(t *testing.T) {
	all := built(t, overlays+"monitoring")
	text, err := os.ReadFile("monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Groups []any }
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	got, _, err := unstructured.NestedSlice(all["PrometheusRule slipway"].Object, "spec", "groups")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Groups, got); diff != "" || len(got) == 0 {
		t.Errorf("run make generate (-alerts.yaml +PrometheusRule):\n%s", diff)
	}
	dashboards := typed[corev1.ConfigMap](t, all["ConfigMap slipway-dashboards"])
	if dashboards.Labels["grafana_dashboard"] == "" {
		t.Errorf("Grafana ignores a ConfigMap with the labels %v", dashboards.Labels)
	}
	files, err := filepath.Glob("monitoring/dashboards/*.json")
	if err != nil || len(files) != len(dashboards.Data) {
		t.Errorf("%d dashboards of %d files, %v", len(dashboards.Data), len(files), err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || string(text) != dashboards.Data["slipway-"+filepath.Base(file)] {
			t.Errorf("%s in the ConfigMap differs from the file: %v", file, err)
		}
	}
}

func TestCertManager_CertificateIsTrustedByTheAPIServices(t *testing.T) {
	type certificate struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			SecretName string   `json:"secretName"`
			DNSNames   []string `json:"dnsNames"`
			IsCA       bool     `json:"isCA"`
			IssuerRef  struct {
				Name string `json:"name"`
			} `json:"issuerRef"`
		} `json:"spec"`
	}
	type issuer struct {
		Spec struct {
			CA struct {
				SecretName string `json:"secretName"`
			} `json:"ca"`
		} `json:"spec"`
	}
	all := built(t, overlays+"cert-manager")
	c := typed[certificate](t, all["Certificate slipway-apiserver"])
	if !slices.Contains(c.Spec.DNSNames, host) {
		t.Errorf("the certificate is for %v, want %s", c.Spec.DNSNames, host)
	}
	ca := typed[certificate](t, all["Certificate "+c.Spec.IssuerRef.Name])
	if by := typed[issuer](t, all["Issuer "+c.Spec.IssuerRef.Name]).Spec.CA.SecretName; by != ca.Spec.SecretName || !ca.Spec.IsCA {
		t.Errorf("the issuer uses Secret %s, but the CA (%t) is in %s", by, ca.Spec.IsCA, ca.Spec.SecretName)
	}
	volumes := typed[appsv1.StatefulSet](t, all["StatefulSet slipway-apiserver"]).Spec.Template.Spec.Volumes
	if len(volumes) != 1 || volumes[0].Secret == nil || volumes[0].Secret.SecretName != c.Spec.SecretName {
		t.Errorf("the server mounts %v, want the Secret %s", volumes, c.Spec.SecretName)
	}
	services := 0
	for name, o := range all {
		if strings.HasPrefix(name, "APIService ") {
			services++
			if from := o.GetAnnotations()["cert-manager.io/inject-ca-from"]; from != c.Metadata.Namespace+"/"+c.Metadata.Name {
				t.Errorf("%s trusts %q", name, from)
			}
		}
	}
	if services != 3 {
		t.Errorf("%d APIServices, want 3", services)
	}
}

// A rule with a port name that the pods do not have would match no port.
func TestNetworkPolicies_AllowTheDeclaredPorts(t *testing.T) {
	all := built(t, overlays+"etcd")
	deny := typed[networkingv1.NetworkPolicy](t, all["NetworkPolicy slipway-default-deny"]).Spec
	if len(deny.PodSelector.MatchLabels)+len(deny.PodSelector.MatchExpressions)+len(deny.Ingress) > 0 || !slices.Equal(deny.PolicyTypes, []networkingv1.PolicyType{"Ingress"}) {
		t.Errorf("slipway-default-deny must not allow anything: %+v", deny)
	}
	labels := map[string]map[string]string{}
	for _, name := range []string{"slipway-apiserver", "slipway-etcd"} {
		labels[name] = typed[appsv1.StatefulSet](t, all["StatefulSet "+name]).Spec.Template.Labels
	}
	for name, want := range map[string][]string{
		"slipway-apiserver": {"https from everywhere"},
		"slipway-etcd":      {"client from slipway-apiserver", "peer from slipway-etcd", "metrics from everywhere"},
	} {
		template := typed[appsv1.StatefulSet](t, all["StatefulSet "+name]).Spec.Template
		policy := typed[networkingv1.NetworkPolicy](t, all["NetworkPolicy "+name]).Spec
		if !maps.Equal(policy.PodSelector.MatchLabels, template.Labels) {
			t.Errorf("the policy %s selects other pods: %v", name, policy.PodSelector.MatchLabels)
		}
		var allowed, ports []string
		for _, rule := range policy.Ingress {
			from := "everywhere"
			for _, peer := range rule.From {
				for other := range labels {
					if peer.NamespaceSelector == nil && maps.Equal(peer.PodSelector.MatchLabels, labels[other]) {
						from = other
					}
				}
			}
			for _, port := range rule.Ports {
				allowed = append(allowed, port.Port.String()+" from "+from)
				ports = append(ports, port.Port.String())
			}
		}
		if diff := cmp.Diff(want, allowed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, port := range template.Spec.Containers[0].Ports {
			if !slices.Contains(ports, port.Name) {
				t.Errorf("%s: port %s is not allowed", name, port.Name)
			}
		}
	}
	egress := typed[networkingv1.NetworkPolicy](t, built(t, overlays+"egress")["NetworkPolicy slipway-egress"]).Spec
	if !slices.Equal(egress.PolicyTypes, []networkingv1.PolicyType{"Egress"}) || len(egress.PodSelector.MatchLabels) > 0 {
		t.Errorf("unexpected egress policy: %+v", egress)
	}
}

// etcd compares the names in a member's certificate with the address of the connection, so the certificate must
// contain each member. The certificate of the server must not contain names.
func TestEtcdCertManager_CertificatesFitTheMembers(t *testing.T) {
	all := together(t, "etcd", "etcd-cert-manager")
	members := typed[appsv1.StatefulSet](t, all["StatefulSet slipway-etcd"])
	var want []string
	for i := range *members.Spec.Replicas {
		want = append(want, fmt.Sprintf("%s-%d.%s.slipway-system.svc", members.Name, i, members.Spec.ServiceName))
	}
	for name, names := range map[string][]string{"slipway-etcd": want, "slipway-etcd-client": nil} {
		got, _, err := unstructured.NestedStringSlice(all["Certificate "+name].Object, "spec", "dnsNames")
		if diff := cmp.Diff(names, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	secretOf := func(certificate string) string {
		name, _, _ := unstructured.NestedString(all["Certificate "+certificate].Object, "spec", "secretName")
		return name
	}
	volumeOf := func(set, volume string) string {
		for _, v := range typed[appsv1.StatefulSet](t, all["StatefulSet "+set]).Spec.Template.Spec.Volumes {
			if v.Name == volume {
				return v.Secret.SecretName
			}
		}
		return ""
	}
	if a, b := secretOf("slipway-etcd"), volumeOf("slipway-etcd", "tls"); a != b {
		t.Errorf("the members mount %q, want %q", b, a)
	}
	if a, b := secretOf("slipway-etcd-client"), volumeOf("slipway-apiserver", "etcd"); a != b {
		t.Errorf("the server mounts %q, want %q", b, a)
	}
}
