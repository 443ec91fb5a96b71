// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestKubeconfig_KeepsTheNamespaceOfItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "admin.kubeconfig")
	write := func(host, wantNamespace string) {
		t.Helper()
		if err := writeKubeconfig(path, &rest.Config{Host: host}); err != nil {
			t.Fatal(err)
		}
		k, err := clientcmd.LoadFromFile(path)
		if err != nil {
			t.Fatal(err)
		}
		context := k.Contexts[k.CurrentContext]
		if context.Namespace != wantNamespace || k.Clusters[context.Cluster].Server != host {
			t.Errorf("namespace %q of %s, want %q of %s", context.Namespace, k.Clusters[context.Cluster].Server, wantNamespace, host)
		}
	}
	write("https://127.0.0.1:1", "")
	// As "kubectl config set-context --current --namespace=team-a" does.
	k, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	k.Contexts[k.CurrentContext].Namespace = "team-a"
	if err := clientcmd.WriteToFile(*k, path); err != nil {
		t.Fatal(err)
	}
	write("https://127.0.0.1:2", "team-a")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("https://127.0.0.1:3", "")
}
