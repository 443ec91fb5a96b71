// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// settings are the advanced settings of a VM in vCenter; values that are in base64 are
// decoded.
func settings(t *testing.T, uniqueID string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	client := vcenterClient(ctx, t)
	defer func() { _ = client.Logout(context.WithoutCancel(ctx)) }()
	var vm mo.VirtualMachine
	if err := client.RetrieveOne(ctx, types.ManagedObjectReference{Type: "VirtualMachine", Value: uniqueID}, []string{"config.extraConfig"}, &vm); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, o := range vm.Config.ExtraConfig {
		out[o.GetOptionValue().Key], _ = o.GetOptionValue().Value.(string)
	}
	for key, value := range out {
		if out[key+".encoding"] != "base64" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		out[key] = string(raw)
	}
	return out
}

const removedPath = `.status.conditions[?(@.type=="BootstrapDataRemoved")].status`

func TestTheExampleOfBootstrapRunsAndLeavesNoSecretBehind(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.applyExamples("../../artifacts/examples/quickstart.yaml", "../../artifacts/examples/bootstrap.yaml")
	for _, vm := range []string{"seeded", "ignited"} {
		u.wants("vm/"+vm, removedPath, "True")
		for key, value := range settings(t, u.get("vm/"+vm, ".status.uniqueID")) {
			if strings.Contains(value, "changeme") || strings.HasPrefix(key, "guestinfo.ignition.config.data") && value != "" {
				t.Errorf("%s of %s is %q", key, vm, value)
			}
		}
	}
	metadata := settings(t, u.get("vm/seeded", ".status.uniqueID"))["guestinfo.metadata"]
	for _, want := range []string{`"instance-id":"seeded-1"`, `"public-keys":["ssh-ed25519 `, `"local-hostname":"seeded"`} {
		if !strings.Contains(metadata, want) {
			t.Errorf("the metadata that stays is %s, want %s in it", metadata, want)
		}
	}

	// Another instance, of what the Secret has now, at the next boot.
	u.kubectl("patch", "secret/bootstrap", "--type=merge", "-p", `{"stringData":{"user-data":"#cloud-config\n# second\n"}}`)
	u.kubectl("patch", "vm/seeded", "--type=merge", "-p", `{"spec":{"bootstrap":{"cloudInit":{"instanceID":"seeded-2"}}}}`)
	u.wants("vm/seeded", ".status.bootstrap.instanceID", "seeded-2")
	eventually(t, short, "the guest is told", func() error {
		if got := settings(t, u.get("vm/seeded", ".status.uniqueID")); !strings.Contains(got["guestinfo.userdata"], "# second") || !strings.Contains(got["guestinfo.metadata"], "seeded-2") {
			return fmt.Errorf("user data %q, metadata %q", got["guestinfo.userdata"], got["guestinfo.metadata"])
		}
		return nil
	})
	u.wants("vm/seeded", removedPath, "False") // The guest that runs has not read it.
	u.virtctl("restart", "seeded")
	u.wants("vm/seeded", removedPath, "True")
}

func TestBadBootstrapsAreRefusedOrSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue)
	for bootstrap, want := range map[string]string{
		`{cloudInit: {cloudConfig: "#cloud-config\npassword: hunter2\n"}}`: "is a secret",
		`{cloudInit: {sshAuthorizedKeys: [hunter2]}}`:                      "sshAuthorizedKeys[0]",
		`{cloudInit: {cloudConfig: "echo"}}`:                               "the first line must be #cloud-config",
		`{ignition: {}}`:                                                   "spec.bootstrap.ignition.rawConfig",
		`{ignition: {rawConfig: {name: s}}, cloudInit: {}}`:                "at most one of these providers may be set",
		`{sysprep: {}}`: "exactly one must be set of rawSysprep, answers",
		`{linuxPrep: {}, removeAfterFirstBoot: true}`: "is for cloudInit and ignition",
	} {
		out, errOut, err := u.try(vmManifest("bad")+"  bootstrap: "+bootstrap+"\n", "kubectl", "apply", "-f", "-")
		if err == nil || !strings.Contains(errOut, want) {
			t.Errorf("%s: %v %s%s, want %q", bootstrap, err, out, errOut, want)
		}
	}
	u.kubectl("create", "secret", "generic", "s", "--from-literal=ignition=variant: hunter2")
	u.apply(vmManifest("bad") + "  bootstrap: {ignition: {rawConfig: {name: s}}}\n")
	u.wants("vm/bad", `.status.conditions[?(@.type=="BootstrapReady")].message`,
		`spec.bootstrap.ignition.rawConfig: the value of key "ignition" of Secret "s" in namespace "`+u.namespace+`" is no JSON: translate a Butane configuration with butane`)
}
