// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestSecretNamespaces_AreTheOnlyOnesWhoseSecretsAreRead(t *testing.T) {
	namespaces := []string{"slipway-system", "vcenters", "team-a", "team-b", "kube-system"}
	for name, tc := range map[string]struct {
		flag []string
		want string
	}{
		"by default":        {nil, "slipway-system vcenters team-a team-b kube-system"},
		"of one namespace":  {[]string{"team-a"}, "slipway-system vcenters team-a"},
		"of two namespaces": {[]string{"team-a", "team-b"}, "slipway-system vcenters team-a team-b"},
	} {
		t.Run(name, func(t *testing.T) {
			real := fake.NewClientset()
			for _, ns := range namespaces {
				if err := real.Tracker().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}}); err != nil {
					t.Fatal(err)
				}
			}
			o := &Options{SecretNamespaces: tc.flag, VCenter: VCenterOptions{SecretsNamespace: "slipway-system", CredentialsSecret: "vcenters/c"}}
			host := o.limitSecrets(real)
			var got []string
			for _, ns := range namespaces {
				_, err := host.CoreV1().Secrets(ns).Get(t.Context(), "s", metav1.GetOptions{})
				switch {
				case err == nil:
					got = append(got, ns)
				case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `namespace "`+ns+`": the namespace is not in --secret-namespaces`):
					t.Errorf("%s: %v, want an error that names the flag", ns, err)
				}
			}
			if text := strings.Join(got, " "); text != tc.want || len(real.Actions()) != len(got) {
				t.Errorf("Secrets of %s were read by %d requests, want those of %s", text, len(real.Actions()), tc.want)
			}
			if _, err := host.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("other objects: %v", err)
			}
		})
	}
}
