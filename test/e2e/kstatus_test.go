// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/slipway-dev/slipway/test/argocd"
)

// computed asks the kstatus library about an object as kubectl printed it. What Argo CD
// shows of it has to agree.
func computed(text string) (*kstatus.Result, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		return nil, fmt.Errorf("reading what kubectl printed: %w", err)
	}
	result, err := kstatus.Compute(object)
	if err != nil {
		return nil, err
	}
	checks, err := argocd.Read("../../artifacts/gitops/argocd/argocd-cm.yaml")
	if err != nil {
		return nil, err
	}
	return result, checks.Agree(object, result)
}

// isNow wants kstatus to say so of an object as kubectl printed it.
func (u user) isNow(text, what string, want kstatus.Status) {
	u.t.Helper()
	got, err := computed(text)
	if err != nil {
		u.t.Fatal(err)
	}
	if got.Status != want {
		u.t.Errorf("kstatus says %s (%s) of one that is %s, want %s", got.Status, got.Message, what, want)
	}
}

// becomes waits until kstatus says so of a VM, with a message that holds text.
func (u user) becomes(name, what string, want kstatus.Status, text string) {
	u.t.Helper()
	u.is("vm/"+name, what, want, text)
}

// is waits until kstatus says so of an object, with a message that holds text.
func (u user) is(object, what string, want kstatus.Status, text string) {
	u.t.Helper()
	eventually(u.t, long, "kstatus of "+object+" that is "+what, func() error {
		got, err := computed(u.kubectl("get", object, "-o", "json"))
		if err == nil && (got.Status != want || !strings.Contains(got.Message, text)) {
			err = fmt.Errorf("%s (%s), want %s (%s)", got.Status, got.Message, want, text)
		}
		return err
	})
}

// Flux, kpt and others wait for, and prune by, what this library says.
func TestKstatusFollowsAVirtualMachineFromApplyToDelete(t *testing.T) {
	t.Parallel()
	u := admin(t)
	patched := func(patch string) string {
		return u.kubectl("patch", "vm/web", "--type=merge", "-p", patch, "-o", "json")
	}
	u.apply(catalogue)
	out, errOut, err := u.try(vmManifest("web"), "kubectl", "create", "-f", "-", "-o", "json")
	if err != nil {
		t.Fatalf("kubectl create: %v\n%s", err, errOut)
	}
	u.isNow(out, "new", kstatus.InProgressStatus)
	u.becomes("web", "running", kstatus.CurrentStatus, "")
	if ip := u.get("vm/web", ".status.network.primaryIP4"); ip == "" {
		t.Error("kstatus says Current of a VM that has no address")
	}

	u.isNow(patched(`{"spec":{"powerState":"PoweredOff","powerOffMode":"Hard"}}`), "about to stop", kstatus.InProgressStatus)
	u.becomes("web", "stopped", kstatus.CurrentStatus, "")
	u.isNow(patched(`{"spec":{"powerState":"PoweredOn"}}`), "about to start", kstatus.InProgressStatus)
	u.becomes("web", "running again", kstatus.CurrentStatus, "")

	u.kubectl("annotate", "vm/web", "vm.slipway.dev/paused=")
	u.wants("vm/web", `.status.conditions[?(@.type=="Paused")].status`, "True")
	u.becomes("web", "paused, and as its spec says", kstatus.CurrentStatus, "")
	patched(`{"spec":{"powerState":"PoweredOff"}}`)
	u.becomes("web", "paused before its spec was applied", kstatus.InProgressStatus, "generation")
	u.kubectl("delete", "vm/web", "--wait=false")
	u.becomes("web", "being deleted", kstatus.TerminatingStatus, "")
	u.kubectl("annotate", "vm/web", "vm.slipway.dev/paused-")
	u.kubectl("wait", "--for=delete", "vm/web", "--timeout=90s")
}

func TestKstatusOfWhatVMsNeed(t *testing.T) {
	t.Parallel()
	u := admin(t)
	of := u.namespace // in the names of objects that are of no namespace
	made := func(kind, name, spec string) string {
		return fmt.Sprintf(`{"apiVersion":"vm.slipway.dev/v1alpha1","kind":%q,"metadata":{"name":%q},"spec":%s}`, kind, name, spec)
	}
	for _, tc := range []struct {
		object, manifest string
		want             kstatus.Status
		text             string
	}{
		{"vmimage/photon", made("VirtualMachineImage", "photon", `{"contentLibrary":{"library":"slipway","item":"photon-5"}}`), kstatus.CurrentStatus, ""},
		{"vmimage/none", made("VirtualMachineImage", "none", `{"contentLibrary":{"library":"slipway","item":"none"}}`), kstatus.InProgressStatus, "has no item"},
		{"cvmimage/photon-" + of, made("ClusterVirtualMachineImage", "photon-"+of, `{"contentLibrary":{"library":"slipway","item":"photon-5"}}`), kstatus.CurrentStatus, ""},
		{"contentlibrary/none-" + of, made("ContentLibrary", "none-"+of, `{"library":"none"}`), kstatus.InProgressStatus, "none"},
		{"vmimagecache/none-" + of, made("VirtualMachineImageCache", "none-"+of, `{"contentLibrary":{"library":"none","item":"none"}}`), kstatus.CurrentStatus, ""},
		{"vmpub/none", made("VirtualMachinePublishRequest", "none", `{"source":{"name":"none"},"target":{"contentLibrary":"none"}}`), "", ""}, // it says Complete instead of Ready, which kstatus does not know
		{"vmsnap/none", made("VirtualMachineSnapshot", "none", `{"vmName":"none"}`), kstatus.InProgressStatus, "does not exist"},
	} {
		out, errOut, err := u.try(tc.manifest, "kubectl", "create", "-f", "-", "-o", "json")
		if err != nil {
			t.Fatalf("kubectl create: %v\n%s", err, errOut)
		}
		defer u.kubectl("delete", tc.object, "--wait=false")
		u.isNow(out, "new", kstatus.InProgressStatus)
		u.wants(tc.object, ".status.observedGeneration", "1")
		if tc.want != "" {
			u.is(tc.object, "looked at", tc.want, tc.text)
		}
	}
}

func TestKstatusTellsWhatWaitsFromWhatFailed(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + inlineVM("web", "photon-5", "preference: {name: large, kind: VirtualMachinePreference}"))
	u.becomes("web", "waiting for a preference", kstatus.InProgressStatus, "")
	u.wants("vm/web", `.status.conditions[?(@.type=="PreferenceReady")].reason`, "NotFound")
	preference := func(vCPUs int) {
		u.apply(fmt.Sprintf(`
apiVersion: instancetype.slipway.dev/v1alpha1
kind: VirtualMachinePreference
metadata: {name: large}
spec:
  requirements: {cpu: {guest: %d}}
`, vCPUs))
	}
	preference(64)
	u.becomes("web", "too small for its preference", kstatus.FailedStatus, "PreferenceReady is False")
	preference(1)
	u.becomes("web", "running after all", kstatus.CurrentStatus, "")
}
