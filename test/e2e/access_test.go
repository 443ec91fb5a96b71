// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// editor binds a new user to the ClusterRole edit in the namespace of u.
func editor(t *testing.T, u user, name string) user {
	t.Helper()
	kubeconfig, err := environment(t).UserKubeconfig(name)
	if err != nil {
		t.Fatal(err)
	}
	u.kubectl("create", "rolebinding", name, "--clusterrole=edit", "--user="+name)
	e := user{t: t, kubeconfig: kubeconfig, namespace: u.namespace}
	eventually(t, short, name+" may edit VMs", func() error {
		_, errOut, err := e.try("", "kubectl", "auth", "can-i", "create", "virtualmachines.vm.slipway.dev")
		if err != nil {
			return fmt.Errorf("%s", errOut)
		}
		return nil
	})
	return e
}

// F156 ends with the right to refresh, which the ClusterRole edit does not give.
func TestOrdinaryUserEditsVirtualMachinesAndNothingElse(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	alice := editor(t, u, "alice")
	eventually(t, short, "alice creates a VM", func() error { // denials are cached for some seconds
		out, errOut, err := alice.try(vmManifest("hers"), "kubectl", "apply", "-f", "-")
		if err != nil {
			return fmt.Errorf("%s%s", out, errOut)
		}
		return nil
	})
	u.kubectl("wait", "--for=condition=Ready", "vm/hers", "--timeout=90s")

	alice.refused("", []string{"patch", "vm/hers", "--subresource=status", "--type=merge", "-p", `{"status":{"powerState":"PoweredOff"}}`},
		"forbidden", "virtualmachines/status")
	alice.kubectl("patch", "vm/hers", "--type=merge", "-p", `{"status":{"printableStatus":"Hacked"}}`)
	if got := alice.get("vm/hers", ".status.printableStatus"); got == "Hacked" {
		t.Error("a status write through the main resource was stored")
	}
	alice.refused("", []string{"label", "vmimage/photon-5", "a=b"}, "forbidden", "virtualmachineimages")
	alice.refused("", []string{"annotate", "vm/hers", "vmoperator.vmware.com.protected/reconcile-priority=100"}, "reconcile-priority")

	_, errOut, err := alice.try("", "virtctl", "refresh", "instancetype", "hers")
	if err == nil || !strings.Contains(errOut, "virtualmachines/refresh-instancetype") {
		t.Errorf("refresh without the right: %v %s", err, errOut)
	}
	u.kubectl("create", "rolebinding", "alice-refresh", "--clusterrole=slipway-refresh", "--user=alice")
	eventually(t, short, "alice refreshes with the right", func() error {
		out, errOut, err := alice.try("", "virtctl", "refresh", "instancetype", "hers")
		if err != nil {
			return fmt.Errorf("%s%s", out, errOut)
		}
		return nil
	})
}

func TestDirectCallsAreAuthenticatedByTheHostCluster(t *testing.T) {
	t.Parallel()
	anonymous, err := environment(t).DirectConfig("")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		header http.Header
		code   int
		says   string
	}{
		"no credentials": {nil, http.StatusForbidden, "system:anonymous"},
		"bogus token":    {http.Header{"Authorization": {"Bearer bogus"}}, http.StatusUnauthorized, "Unauthorized"},
		"forged front proxy headers": {http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}},
			http.StatusForbidden, "system:anonymous"},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := direct(t, anonymous, tc.header)
			if code != tc.code || !strings.Contains(body, tc.says) {
				t.Errorf("answer %d %s, want %d with %q", code, body, tc.code, tc.says)
			}
		})
	}
	t.Run("an ordinary user's certificate with forged headers", func(t *testing.T) {
		mallory, err := environment(t).DirectConfig("mallory")
		if err != nil {
			t.Fatal(err)
		}
		code, body := direct(t, mallory, http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}})
		if code != http.StatusForbidden || !strings.Contains(body, "mallory") {
			t.Errorf("answer %d %s, want 403 for mallory", code, body)
		}
	})
}

// serverAccount is who slipway-apiserver is to the host cluster.
const serverAccount = "system:serviceaccount:slipway-system:slipway-apiserver"

// What the server needs is shown by all the other tests, in which it has no more.
func TestServerHasOnlyTheRightsThatItNeeds(t *testing.T) {
	t.Parallel()
	u := admin(t)
	for question, want := range map[string]string{
		"get secrets":                             "yes",
		"list secrets":                            "no",
		"update secrets":                          "no",
		"patch persistentvolumeclaims":            "yes", // annotation and finalizer of those that virtual machines have
		"delete persistentvolumeclaims":           "no",
		"update persistentvolumes":                "no",
		"get controllerrevisions.apps":            "yes", // to take over those of before
		"list controllerrevisions.apps":           "no",
		"create controllerrevisions.apps":         "no",
		"update controllerrevisions.apps":         "no",
		"delete controllerrevisions.apps":         "no",
		"get virtualmachines.vm.slipway.dev":      "no",
		"delete namespaces":                       "no",
		"create leases.coordination.k8s.io":       "no", // in this namespace
		"update leases.coordination.k8s.io/other": "no",
		"create clusterrolebindings":              "no",
	} {
		out, errOut, err := u.try("", "kubectl", append([]string{"auth", "can-i", "--as=" + serverAccount}, strings.Fields(question)...)...)
		if got := strings.TrimSpace(out); got != want {
			t.Errorf("may the server %s: %q, want %q (%v %s)", question, got, want, err, errOut)
		}
	}
}

// Both pages name virtual machines of all namespaces.
func TestPagesAboutAllNamespacesAreNotForEverybody(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/debug/queue", "/metrics"} {
		for _, name := range []string{"", "mallory"} {
			config, err := environment(t).DirectConfig(name)
			if err != nil {
				t.Fatal(err)
			}
			if code, body := directAt(t, config, path, nil); code != http.StatusForbidden || strings.Contains(body, "priority") {
				t.Errorf("%s for user %q: answer %d %s, want 403", path, name, code, body)
			}
		}
	}
}

// A user who may get VMs is not asked about for each of them; who may get one gets no other.
func TestRightsOnManyObjectsAreAskedForOnce(t *testing.T) {
	const names = 300
	u := admin(t)
	config := func(name string) *rest.Config {
		c, err := environment(t).DirectConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	olga, peter := config("olga"), config("peter")
	masters, err := environment(t).DirectConfig("counter", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	at := func(c *rest.Config, name string) int {
		code, _ := directAt(t, c, "/apis/vm.slipway.dev/v1alpha1/namespaces/"+u.namespace+"/virtualmachines/"+name, nil)
		return code
	}
	// Who may get what is not there is told so.
	answers := func(c *rest.Config, name string, code int) {
		t.Helper()
		eventually(t, short, fmt.Sprintf("the answer about %s is %d", name, code), func() error {
			if got := at(c, name); got != code {
				return fmt.Errorf("the answer is %d", got)
			}
			return nil
		})
	}
	u.kubectl("create", "role", "all", "--verb=get", "--resource=virtualmachines.vm.slipway.dev")
	u.kubectl("create", "role", "one", "--verb=get", "--resource=virtualmachines.vm.slipway.dev", "--resource-name=vm-1")
	u.kubectl("create", "rolebinding", "olga", "--role=all", "--user=olga")
	u.kubectl("create", "rolebinding", "peter", "--role=one", "--user=peter")
	answers(olga, "vm-0", http.StatusNotFound)
	answers(peter, "vm-1", http.StatusNotFound)
	answers(peter, "vm-2", http.StatusForbidden)

	before := reviews(t, masters)
	for i := range names {
		if code := at(olga, fmt.Sprintf("vm-%d", i)); code != http.StatusNotFound {
			t.Fatalf("the answer about vm-%d is %d, want 404", i, code)
		}
	}
	// One for each would be as many as there are names. Others ask, too, and what is remembered ends after ten seconds.
	if made := reviews(t, masters) - before; before == 0 || made > names/2 {
		t.Errorf("%d names took %d SubjectAccessReviews, after %d before", names, made, before)
	}
	u.kubectl("delete", "rolebinding", "olga")
	answers(olga, "vm-0", http.StatusForbidden)
}

// reviews is the number of SubjectAccessReviews that the server has made.
func reviews(t *testing.T, config *rest.Config) (n int) {
	t.Helper()
	_, body := directAt(t, config, "/metrics", nil)
	for _, found := range regexp.MustCompile(`(?m)^apiserver_delegated_authz_request_total\{.*\} (\d+)$`).FindAllStringSubmatch(body, -1) {
		made, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		n += made
	}
	return n
}

// direct lists VMs at slipway-apiserver itself.
func direct(t *testing.T, config *rest.Config, header http.Header) (code int, body string) {
	t.Helper()
	return directAt(t, config, "/apis/vm.slipway.dev/v1alpha1/virtualmachines", header)
}

func directAt(t *testing.T, config *rest.Config, path string, header http.Header) (code int, body string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}
