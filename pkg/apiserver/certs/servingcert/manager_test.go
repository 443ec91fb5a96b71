// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/apiservices"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
)

const (
	namespace = "slipway-system"
	service   = "slipway-apiserver"
	inCluster = "slipway-apiserver.slipway-system.svc"
	ours      = "v1alpha1.vm.slipway.dev"
)

// begin is the start time of the servers.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// host is a management cluster with an APIService.
type host struct {
	*testing.T
	kube    *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	clock   *clocktesting.FakeClock
}

func newHost(t *testing.T, change func(map[string]any)) *host {
	api := map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": ours, "annotations": map[string]any{}},
		"spec": map[string]any{"service": map[string]any{"namespace": namespace, "name": service}},
	}
	change(api)
	kinds := map[schema.GroupVersionResource]string{apiservices.Resource: "APIServiceList"}
	return &host{
		T: t, kube: fake.NewClientset(), clock: clocktesting.NewFakeClock(begin),
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, &unstructured.Unstructured{Object: api}),
	}
}

func unchanged(map[string]any) {}

// replica returns a server of the management cluster.
func (h *host) replica() *Manager {
	return New(Options{Host: h.kube, Dynamic: h.dynamic, Namespace: namespace, Service: service, Names: []string{"localhost", "127.0.0.1"}, APIServices: []string{ours, "v1.gone"}, Clock: h.clock})
}

func (h *host) reconcile(m *Manager) {
	h.Helper()
	if err := m.reconcile(h.Context()); err != nil {
		h.Fatal(err)
	}
}

// bundle returns spec.caBundle of the APIService.
func (h *host) bundle() []byte {
	h.Helper()
	api, err := h.dynamic.Resource(apiservices.Resource).Get(h.Context(), ours, metav1.GetOptions{})
	if err != nil {
		h.Fatal(err)
	}
	text, _, err := unstructured.NestedString(api.Object, "spec", "caBundle")
	if err != nil {
		h.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		h.Fatal(err)
	}
	return data
}

// served returns the certificate of a replica after it has verified it for all names with the bundle of the
// APIService.
func (h *host) served(m *Manager) *x509.Certificate {
	h.Helper()
	cert, key := m.CurrentCertKeyContent()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		h.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(h.bundle())
	for _, name := range []string{inCluster, "localhost", "127.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: h.clock.Now()}); err != nil {
			h.Errorf("%s at %s: %v", name, h.clock.Now(), err)
		}
	}
	return pair.Leaf
}

func TestServingCert_IsTrustedByTheAPIService(t *testing.T) {
	h := newHost(t, unchanged)
	a, b := h.replica(), h.replica()
	for _, m := range []*Manager{a, b} {
		if err := m.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.reconcile(m)
	}
	if h.served(a).Equal(h.served(b)) {
		t.Error("two replicas have the same key")
	}
	if n := bytes.Count(h.bundle(), []byte("BEGIN")); n != 1 {
		t.Errorf("the APIService trusts %d CAs, want one", n)
	}
}

// notices counts notifications.
type notices int

// Enqueue implements dynamiccertificates.Listener.
func (n *notices) Enqueue() { *n++ }

func TestServingCert_IsRenewedAfterAThirdOfItsValidity(t *testing.T) {
	h := newHost(t, unchanged)
	m := h.replica()
	h.reconcile(m)
	first := h.served(m)
	var told notices
	m.AddListener(&told)

	h.clock.Step(authority.RenewAfter - time.Minute)
	h.reconcile(m)
	if !h.served(m).Equal(first) || told != 0 {
		t.Error("the certificate was renewed too early")
	}
	h.clock.Step(time.Minute)
	h.reconcile(m)
	if h.served(m).Equal(first) || told != 1 {
		t.Errorf("the certificate was not renewed, or its server was notified %d times", told)
	}
	if left := first.NotAfter.Sub(h.clock.Now()); left < authority.LeafValidity/2 {
		t.Errorf("the old certificate is valid for only %s", left)
	}
}

func TestServingCert_IsTrustedWhileTheAuthorityIsReplaced(t *testing.T) {
	h := newHost(t, unchanged)
	a, b := h.replica(), h.replica()
	h.reconcile(a)
	before := h.bundle()
	h.clock.SetTime(begin.Add(authority.Validity * 2 / 3).Add(-24 * time.Hour))
	for range 4 {
		for range 3 { // once for each change of the Secret, and once more
			h.reconcile(a)
			h.served(a)
			h.reconcile(b)
			h.served(b)
			h.served(a)
		}
		h.clock.Step(24 * time.Hour)
	}
	after := parsed(t, h)
	if !bytes.Contains(after.Trusted, bytes.TrimSpace(before)) || bytes.Count(after.Trusted, []byte("BEGIN")) != 2 {
		t.Error("the old CA is not trusted together with the new one")
	}
	if h.served(a).CheckSignatureFrom(certificate(t, before)) == nil {
		t.Error("the old CA still issues certificates")
	}
}

func TestServingCert_CorrectsTheBundle(t *testing.T) {
	for name, write := range map[string]func(spec map[string]any){
		"another CA":      func(spec map[string]any) { spec["caBundle"] = base64.StdEncoding.EncodeToString([]byte("x")) },
		"no bundle":       func(spec map[string]any) { delete(spec, "caBundle") },
		"no verification": func(spec map[string]any) { spec["insecureSkipTLSVerify"] = true; delete(spec, "caBundle") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, unchanged)
			m := h.replica()
			h.reconcile(m)
			client := h.dynamic.Resource(apiservices.Resource)
			api, err := client.Get(t.Context(), ours, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			write(api.Object["spec"].(map[string]any))
			if _, err := client.Update(t.Context(), api, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			h.reconcile(m)
			h.served(m)
			if api, err = client.Get(t.Context(), ours, metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if insecure, _, _ := unstructured.NestedBool(api.Object, "spec", "insecureSkipTLSVerify"); insecure {
				t.Error("the APIService disables verification")
			}
		})
	}
}

func TestServingCert_DoesNotChangeOtherBundles(t *testing.T) {
	for name, change := range map[string]func(map[string]any){
		"of another Service": func(api map[string]any) {
			api["spec"].(map[string]any)["service"].(map[string]any)["name"] = "another"
		},
		"without a Service": func(api map[string]any) { delete(api["spec"].(map[string]any), "service") },
		"of cert-manager": func(api map[string]any) {
			api["metadata"].(map[string]any)["annotations"] = map[string]any{"cert-manager.io/inject-ca-from": "slipway-system/slipway-apiserver"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, change)
			h.reconcile(h.replica())
			if got := h.bundle(); len(got) > 0 {
				t.Errorf("got the bundle\n%s", got)
			}
		})
	}
}

func TestServingCert_IsKeptIfTheSecretIsBroken(t *testing.T) {
	h := newHost(t, unchanged)
	m := h.replica()
	h.reconcile(m)
	before := h.served(m)
	secrets := h.kube.CoreV1().Secrets(namespace)
	secret, err := secrets.Get(t.Context(), SecretName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret.Data["tls.key"] = nil
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.reconcile(t.Context()); err == nil {
		t.Error("no error for a broken Secret")
	}
	if !h.served(m).Equal(before) {
		t.Error("the certificate has changed")
	}
}

func parsed(t *testing.T, h *host) *authority.Authority {
	t.Helper()
	a, err := authority.Load(t.Context(), h.kube, namespace, SecretName)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func certificate(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no certificate: %s", text)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
