// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

const validKubeconfig = `apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {server: "https://192.0.2.10:6443/k8s", certificate-authority-data: Q0E=, tls-server-name: api}
users:
- name: u
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t, as: other}
contexts:
- name: x
  context: {cluster: c, user: u}
current-context: x
`

func TestParseKubeconfig_ReturnsTheClientConfiguration(t *testing.T) {
	got, err := parseKubeconfig([]byte(validKubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	want := &rest.Config{
		Host: "https://192.0.2.10:6443/k8s", BearerToken: "t", Impersonate: rest.ImpersonationConfig{UserName: "other"},
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: "api", CAData: []byte("CA"), CertData: []byte("CERT"), KeyData: []byte("KEY"),
		},
	}
	if diff := cmp.Diff(want.String()+want.Host, got.String()+got.Host); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.BearerToken != "t" || string(got.KeyData) != "KEY" || string(got.CAData) != "CA" || string(got.CertData) != "CERT" {
		t.Errorf("credentials are %q %q %q %q", got.BearerToken, got.KeyData, got.CAData, got.CertData)
	}
}

func TestParseKubeconfig_RejectsProgramsAndFiles(t *testing.T) {
	replaced := func(old, by string) string { return strings.Replace(validKubeconfig, old, by, 1) }
	user := func(fields string) string { return replaced("token: t,", fields+",") }
	// unusedUser has a user that no context refers to.
	unusedUser := strings.Replace(validKubeconfig, "contexts:", "- name: spare\n  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh}}\ncontexts:", 1)
	for name, test := range map[string]struct{ kubeconfig, want string }{
		"a program":                   {user("exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh}"), `user "u" has exec`},
		"a program of an unused user": {unusedUser, `user "spare" has exec`},
		"a plugin":                    {user("auth-provider: {name: oidc}"), `user "u" has auth-provider`},
		"a file with a token":         {user("tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token"), `user "u" has tokenFile`},
		"a file with a certificate":   {replaced("client-certificate-data: Q0VSVA==", "client-certificate: /etc/passwd"), `user "u" has client-certificate`},
		"a file with a key":           {replaced("client-key-data: S0VZ", "client-key: /etc/shadow"), `user "u" has client-key`},
		"a file with a CA":            {replaced("certificate-authority-data: Q0E=", "certificate-authority: ca.pem"), `cluster "c" has certificate-authority`},
		"a proxy":                     {replaced("tls-server-name: api", "proxy-url: 'socks5://169.254.169.254'"), `cluster "c" has proxy-url`},
		"no verification":             {replaced("certificate-authority-data: Q0E=", "insecure-skip-tls-verify: true"), `cluster "c" has insecure-skip-tls-verify`},
		"no encryption":               {replaced("https://", "http://"), "the scheme must be https"},
		"another scheme":              {replaced("https://", "file:///"), "must be a URL"},
		"no server":                   {replaced("https://192.0.2.10:6443/k8s", ""), "must be a URL"},
		"a user in the server":        {replaced("https://", "https://a:b@"), "only scheme, host, port and path"},
		"no context":                  {replaced("current-context: x", "current-context: other"), `current-context is "other"`},
		"a context without cluster":   {replaced("cluster: c,", "cluster: d,"), `cluster "d", which does not exist`},
		"a context without user":      {replaced("user: u}", "user: v}"), `user "v", which does not exist`},
		"empty":                       {"", `current-context is ""`},
		"not YAML":                    {"password: [hunter2", "it is not a kubeconfig in YAML or JSON"},
		"too large":                   {validKubeconfig + "#" + strings.Repeat("x", maxKubeconfig), "bytes; the maximum is 65536"},
	} {
		config, err := parseKubeconfig([]byte(test.kubeconfig))
		if config != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error quotes the Secret: %v", name, err)
		}
	}
}
