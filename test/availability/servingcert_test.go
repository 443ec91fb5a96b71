// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-dev/slipway/pkg/apiserver/certs/authority"
	"github.com/slipway-dev/slipway/pkg/apiserver/certs/servingcert"
	"github.com/slipway-dev/slipway/test/localcluster"
)

var apiServiceNames = []string{"v1alpha1.vm.slipway.dev", "v1alpha1.instancetype.slipway.dev", "v1alpha1.cluster.slipway.dev"}

func (s *scene) apiServices() dynamic.ResourceInterface {
	s.Helper()
	client, err := dynamic.NewForConfig(s.RestConfig())
	if err != nil {
		s.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
}

// trusted waits until every APIService has exactly this CA bundle.
func (s *scene) trusted(bundle []byte) {
	s.Helper()
	s.eventually("the APIServices have the CA bundle of the Secret", func() error {
		for _, name := range apiServiceNames {
			api, err := s.apiServices().Get(s.Context(), name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, _, _ := unstructured.NestedString(api.Object, "spec", "caBundle"); got != base64.StdEncoding.EncodeToString(bundle) {
				return fmt.Errorf("%s has another caBundle, of %d characters", name, len(got))
			}
		}
		return nil
	})
}

func (s *scene) servingAuthority() *corev1.Secret {
	s.Helper()
	secret, err := s.host().CoreV1().Secrets("slipway-system").Get(s.Context(), servingcert.SecretName, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return secret
}

// authorityHas changes keys of the Secret of the certificate authority.
func (s *scene) authorityHas(data map[string][]byte) {
	s.Helper()
	secret := s.servingAuthority()
	for key, value := range data {
		secret.Data[key] = value
	}
	if _, err := s.host().CoreV1().Secrets("slipway-system").Update(s.Context(), secret, metav1.UpdateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// dials connects to a replica as the management cluster does, and verifies its certificate.
func (s *set) dials(i int, bundle []byte) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.servers[i].direct.Host, "https://"), &tls.Config{RootCAs: roots, ServerName: "slipway-apiserver.slipway-system.svc"})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.servers[i].name, err)
	}
	defer func() { _ = c.Close() }()
	return c.ConnectionState().PeerCertificates[0], nil
}

// dialling connects to all replicas until its stop function is called, which returns the number of connections and the
// errors.
func (s *set) dialling(bundle []byte) (stop func() (int, []error)) {
	ctx, cancel := context.WithCancel(s.Context())
	var running sync.WaitGroup
	var made int
	var errs []error
	running.Go(func() {
		for ; ctx.Err() == nil; <-time.After(loadPause) {
			for i := range s.servers {
				if _, err := s.dials(i, bundle); err != nil {
					errs = append(errs, err)
				}
				made++
			}
		}
	})
	return func() (int, []error) {
		cancel()
		running.Wait()
		return made, errs
	}
}

// succeeds checks that the load has requests while f runs, and that none of them fails.
func (l *load) succeeds(what string, f func()) {
	l.Helper()
	l.during(what, func() {
		f()
		l.flows()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.failures) > 0 {
			l.Errorf("%s: %v", what, l.failures)
		}
	})
}

func TestServingCertificate_IsManagedAndRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	s := newSetWith(t, newEtcd(t, 1), func(o *localcluster.Options) { o.ManagedCertificate = true })
	first := s.servingAuthority().Data["ca.crt"]
	s.trusted(first)
	for i := range s.servers {
		if _, err := s.dials(i, first); err != nil {
			t.Error(err)
		}
	}

	// The next authority was created two days ago and is already trusted. It issues certificates as soon as it is the
	// next one.
	next, err := authority.New("slipway-system", servingcert.SecretName, time.Now().Add(-2*authority.TrustPeriod))
	if err != nil {
		t.Fatal(err)
	}
	both := append(bytes.Clone(first), next.Data["ca.crt"]...)
	l := newLoad(t, s.RestConfig())
	l.flows()
	stop := s.dialling(both)
	l.succeeds("another authority is trusted", func() {
		s.authorityHas(map[string][]byte{"ca.crt": both})
		s.trusted(both)
	})
	block, _ := pem.Decode(next.Data["tls.crt"])
	issuer, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	l.succeeds("certificates of the new authority", func() {
		s.authorityHas(map[string][]byte{authority.NextCertKey: next.Data["tls.crt"], authority.NextKeyKey: next.Data["tls.key"]})
		for i := range s.servers {
			s.eventually(s.servers[i].name+" serves one", func() error {
				cert, err := s.dials(i, both)
				if err != nil {
					return err
				}
				return cert.CheckSignatureFrom(issuer)
			})
		}
	})
	l.succeeds("the first authority is trusted no more", func() { // and new connections are opened
		s.authorityHas(map[string][]byte{"ca.crt": next.Data["ca.crt"]})
		s.trusted(next.Data["ca.crt"])
	})
	if made, errs := stop(); len(errs) > 0 || made < 30 {
		t.Errorf("of %d connections to the replicas %d failed: %v", made, len(errs), errs)
	}
	l.check()

	// Another client changes the CA bundle of the APIServices.
	bad := fmt.Appendf(nil, `{"spec":{"caBundle":%q}}`, base64.StdEncoding.EncodeToString(first))
	for _, name := range apiServiceNames {
		if _, err := s.apiServices().Patch(t.Context(), name, types.MergePatchType, bad, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.trusted(next.Data["ca.crt"])
	s.eventually("the management cluster forwards requests again", func() error {
		if code, _, text := s.ask(s.RestConfig(), "/apis/vm.slipway.dev/v1alpha1/virtualmachines"); code != http.StatusOK {
			return fmt.Errorf("it answers %d: %s", code, text)
		}
		return nil
	})
}
