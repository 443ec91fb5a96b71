// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
)

func TestFileCredentials_AreReadAtEveryLogin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials.yaml")
	read := FileCredentials(path)
	for _, password := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte("username: root\npassword: "+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		user, got, err := read(t.Context())
		if err != nil || user != "root" || got != password {
			t.Errorf("credentials = %q, %q, %v; want root and %s", user, got, err, password)
		}
	}
}

func TestFileCredentials_ErrorDoesNotQuoteTheFile(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"not YAML":    {"hunter2: [", "keys username and password"},
		"unknown key": {"username: a\npassword: hunter2\ntoken: hunter2\n", "keys username and password"},
		"no password": {"username: hunter2\n", "password is missing"},
		"no user":     {"password: hunter2\n", "username is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "credentials.yaml")
			if err := os.WriteFile(path, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := readCredentialsFile(path)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want one that contains %q and no secret", err, tc.want)
			}
		})
	}
}

func TestSecretCredentials(t *testing.T) {
	host := fake.NewClientset(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "good"}, Data: map[string][]byte{"username": []byte("u"), "password": []byte("p")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "empty"}},
	)
	for secret, want := range map[string]string{"n/good": "", "n/empty": "username is missing", "n/none": "not found"} {
		namespace, name, _ := strings.Cut(secret, "/")
		user, password, err := SecretCredentials(host, types.NamespacedName{Namespace: namespace, Name: name})(t.Context())
		if want == "" && (err != nil || user != "u" || password != "p") {
			t.Errorf("%s: %q, %q, %v", secret, user, password, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), secret)) {
			t.Errorf("%s: error %v, want one that names the Secret and contains %q", secret, err, want)
		}
	}
}
