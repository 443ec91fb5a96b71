// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// newVCenter returns a valid VCenter, to which change is applied.
func newVCenter(change func(*vmv1alpha1.VCenter)) *vmv1alpha1.VCenter {
	obj := &vmv1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "default", ResourceVersion: "1"},
		Spec: vmv1alpha1.VCenterSpec{
			URL: "https://vc.example.com/sdk", CredentialsSecretRef: vmv1alpha1.VCenterSecretReference{Name: "vcenter"},
		},
	}
	change(obj)
	return obj
}

func certificate(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestValidateVCenter(t *testing.T) {
	good := certificate(t)
	key := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: []byte("secret")})
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.VCenter)
		want   []string
	}{
		"valid":                               {func(*vmv1alpha1.VCenter) {}, nil},
		"with authorities":                    {func(v *vmv1alpha1.VCenter) { v.Spec.CABundle = append(append([]byte("\n"), good...), good...) }, nil},
		"with a SHA-1":                        {func(v *vmv1alpha1.VCenter) { v.Spec.Thumbprint = strings.Repeat("AB:", 19) + "ab" }, nil},
		"with a SHA-256":                      {func(v *vmv1alpha1.VCenter) { v.Spec.Thumbprint = strings.Repeat("ab", 32) }, nil},
		"another name":                        {func(v *vmv1alpha1.VCenter) { v.Name = "second" }, nil},
		"a name that is too long for a Lease": {func(v *vmv1alpha1.VCenter) { v.Name = strings.Repeat("a", 64) }, []string{"Invalid metadata.name"}},
		"a namespace":                         {func(v *vmv1alpha1.VCenter) { v.Namespace = "dev" }, []string{"Forbidden metadata.namespace"}},
		"empty":                               {func(v *vmv1alpha1.VCenter) { v.Spec = vmv1alpha1.VCenterSpec{} }, []string{"Required spec.url", "Required spec.credentialsSecretRef.name"}},
		"without TLS":                         {func(v *vmv1alpha1.VCenter) { v.Spec.URL = "http://vc.example.com/sdk" }, []string{"Invalid spec.url"}},
		"without a host":                      {func(v *vmv1alpha1.VCenter) { v.Spec.URL = "https://:443/sdk" }, []string{"Invalid spec.url"}},
		"an invalid URL":                      {func(v *vmv1alpha1.VCenter) { v.Spec.URL = "https://vc\u007f/sdk%" }, []string{"Invalid spec.url"}},
		"with a query":                        {func(v *vmv1alpha1.VCenter) { v.Spec.URL += "?a=b" }, []string{"Invalid spec.url"}},
		"with bad authorities":                {func(v *vmv1alpha1.VCenter) { v.Spec.CABundle = []byte("none") }, []string{"Invalid spec.caBundle"}},
		"with a key":                          {func(v *vmv1alpha1.VCenter) { v.Spec.CABundle = append(good, key...) }, []string{"Invalid spec.caBundle"}},
		"with half a certificate":             {func(v *vmv1alpha1.VCenter) { v.Spec.CABundle = good[:len(good)/2] }, []string{"Invalid spec.caBundle"}},
		"with a short thumbprint":             {func(v *vmv1alpha1.VCenter) { v.Spec.Thumbprint = "ab:cd" }, []string{"Invalid spec.thumbprint"}},
		"caBundle and thumbprint": {func(v *vmv1alpha1.VCenter) { v.Spec.CABundle, v.Spec.Thumbprint = good, strings.Repeat("ab", 20) },
			[]string{"Forbidden spec.thumbprint"}},
		"with a bad name of a Secret": {func(v *vmv1alpha1.VCenter) { v.Spec.CredentialsSecretRef.Name = "other/secret" }, []string{"Invalid spec.credentialsSecretRef.name"}},
	} {
		t.Run(name, func(t *testing.T) { check(t, tc.want, ValidateVCenter(newVCenter(tc.change))) })
	}
}

func TestValidateVCenter_ErrorsDoNotContainPassword(t *testing.T) {
	for _, url := range []string{"https://root:hunter2@vc/sdk", "https://root:hunter2@vc/%zz"} {
		errs := ValidateVCenter(newVCenter(func(v *vmv1alpha1.VCenter) { v.Spec.URL = url }))
		check(t, []string{"Invalid spec.url"}, errs)
		if text := errs.ToAggregate().Error(); strings.Contains(text, "hunter2") {
			t.Errorf("the error contains the password: %s", text)
		}
	}
}

func TestValidateVCenterUpdate(t *testing.T) {
	old := newVCenter(func(v *vmv1alpha1.VCenter) { v.Spec.URL = "http://before-the-rules/sdk" })
	labelled := old.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	check(t, nil, ValidateVCenterUpdate(labelled, old))
	moved := old.DeepCopy()
	moved.Spec.URL = "http://moved/sdk"
	check(t, []string{"Invalid spec.url"}, ValidateVCenterUpdate(moved, old))
	moved.Spec.URL = "https://moved/sdk"
	check(t, nil, ValidateVCenterUpdate(moved, old))
}
