// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/testenv"
)

// example creates the objects of an example in the namespace of u.
func (u user) example(file string, replacements ...string) {
	u.T.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		u.T.Fatal(err)
	}
	u.Put(strings.NewReplacer(append(replacements, "  namespace: default\n", "")...).Replace(string(content)))
}

// The examples are applied in one namespace, as by a user who tries one after the other. Those of storage, publishing,
// content libraries, quotas and policies have other tests.
func TestExamples_AreApplied(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue)
	u.RemoveAtEnd("vmicache/photon-5")
	for _, file := range []string{
		"../../artifacts/examples/quickstart.yaml", "../../artifacts/examples/bootstrap.yaml", "../../artifacts/examples/fastdeploy.yaml",
		"../../artifacts/examples/imagecache.yaml", "../../artifacts/examples/probe.yaml", "../../artifacts/examples/snapshot.yaml",
		"../../artifacts/examples/claim.yaml", "../../artifacts/examples/group.yaml", "../../artifacts/examples/cluster.yaml",
	} {
		u.example(file)
	}
	u.part("quickstart", func(_ *testing.T, u user) {
		u.Ready("vm/web-1")
		u.Wants("vm/web-1", ".status.powerState", "PoweredOn")
	})
	u.part("fastdeploy", func(_ *testing.T, u user) {
		u.Ready("vm/runner-1")
		u.Meets("DiskPromotionSynced", "vm/runner-1")
	})
	u.part("imagecache", func(_ *testing.T, u user) { u.Ready("vmicache/photon-5") })
	// The guests of the simulated vCenter accept no connections and set no variables.
	u.part("probe", func(_ *testing.T, u user) {
		u.Meets("ProbeSucceeded", "vm/heart-1")
		u.Ready("vm/heart-1")
		for _, name := range []string{"socket-1", "variable-1"} {
			u.Wants("vm/"+name, `.status.conditions[?(@.type=="ProbeSucceeded")].status`, "False")
		}
	})
	u.part("snapshot", func(_ *testing.T, u user) {
		u.Ready("vmsnap/web-1-before-upgrade")
		u.Wants("vm/web-1", ".status.currentSnapshot", "web-1-before-upgrade")
	})
	u.part("bootstrap", func(t *testing.T, u user) { u.bootstraps(t) })
	// The test replaces the CSI driver and the volume controllers for the claim.
	u.part("claim", func(_ *testing.T, u user) {
		u.Wants("vm/db", testenv.VolumesReady+"reason", "NotReady")
		c := testenv.MakeVolume(u.User, "db-data", "ReadWriteOnce")
		u.Patch("pvc/db-data", fmt.Sprintf(`{"spec":{"volumeName":%q}}`, c.PV))
		c.Bind()
		u.Ready("vm/db")
		u.Wants("vm/db", ".status.instancetypeRef.name", "small")
		u.Wants("vm/db", testenv.VolumeStatus("data", "capacity"), "10Gi")
		c.Lives("db")
	})
	u.part("group", func(t *testing.T, u user) { u.groupOfTheExample(t) })
	u.part("cluster", func(t *testing.T, u user) { u.clusterOfTheExample(t) })
}

const removedPath = `.status.conditions[?(@.type=="BootstrapDataRemoved")].status`

// bootstraps tests the VMs of the example, which leave no secret in vSphere.
func (u user) bootstraps(t *testing.T) {
	for _, vm := range []string{"seeded", "ignited"} {
		u.Wants("vm/"+vm, removedPath, "True")
		for key, value := range settings(t, u.Get("vm/"+vm, ".status.uniqueID")) {
			if strings.Contains(value, "changeme") || strings.HasPrefix(key, "guestinfo.ignition.config.data") && value != "" {
				t.Errorf("%s of %s is %q", key, vm, value)
			}
		}
	}
	testenv.Holds(t, "the metadata that stays", settings(t, u.Get("vm/seeded", ".status.uniqueID"))["guestinfo.metadata"],
		`"instance-id":"seeded-1"`, `"public-keys":["ssh-ed25519 `, `"local-hostname":"seeded"`)

	// A new instance ID applies the current content of the Secret at the next boot.
	u.Patch("secret/bootstrap", `{"stringData":{"user-data":"#cloud-config\n# second\n"}}`)
	u.Patch("vm/seeded", `{"spec":{"bootstrap":{"cloudInit":{"instanceID":"seeded-2"}}}}`)
	u.Wants("vm/seeded", ".status.bootstrap.instanceID", "seeded-2")
	testenv.Eventually(t, testenv.Short, "the guest gets the value", func() error {
		if got := settings(t, u.Get("vm/seeded", ".status.uniqueID")); !strings.Contains(got["guestinfo.userdata"], "# second") || !strings.Contains(got["guestinfo.metadata"], "seeded-2") {
			return fmt.Errorf("user data %q, metadata %q", got["guestinfo.userdata"], got["guestinfo.metadata"])
		}
		return nil
	})
	u.Wants("vm/seeded", removedPath, "False") // The running guest has not read it.
	u.Virtctl("restart", "seeded")
	u.Wants("vm/seeded", removedPath, "True")
}

func (u user) groupOfTheExample(t *testing.T) {
	u.Ready("vmgroup/shop")
	members := []string{"shop-db", "shop-app-1", "shop-app-2", "shop-web"}
	if got := u.power(members...); got != "PoweredOn PoweredOn PoweredOn PoweredOn" {
		t.Errorf("the members are %s", got)
	}
	for _, step := range []struct {
		args []string
		want string
	}{{[]string{"stop", "group/shop"}, "PoweredOff"}, {[]string{"start", "group/shop", "--ready"}, "PoweredOn"}} {
		u.Virtctl(append(step.args, "--wait", "--timeout", "110s")...)
		if got, want := u.power(members...), strings.Repeat(step.want+" ", 4); got+" " != want {
			t.Errorf("after virtctl %q the members are %s", step.args, got)
		}
	}
}

// clusterOfTheExample has Machines of Slipway's own kinds.
func (u user) clusterOfTheExample(t *testing.T) {
	const machine = "machines.cluster.slipway.dev/shop-control-plane"
	u.Ready("slipwaycluster/shop")
	u.Wants("clusters.cluster.slipway.dev/shop", ".status.initialization.infrastructureProvisioned", "true")
	u.Ready("vm/shop-control-plane")
	u.Wants(machine, ".status.initialization.infrastructureProvisioned", "true")
	u.Wants(machine, ".spec.providerID", u.Get("vm/shop-control-plane", ".spec.providerID"))
	u.Wants("vm/shop-control-plane", ".status.machine.apiGroup", "cluster.slipway.dev")
	u.Wants("slipwaycluster/shop", ".status.failureDomains[*].name", "default")
	nodes := func() []string {
		return strings.Fields(u.Get("vm", `.items[?(@.metadata.labels.cluster\.x-k8s\.io/cluster-name=="shop")].metadata.name`))
	}
	testenv.Eventually(t, testenv.Long, "the nodes run", func() error {
		ready := strings.Count(u.Get("vm", `.items[?(@.status.machine.dataFormat=="cloud-config")].status.initialization.provisioned`), "true")
		if ready != 4 || len(nodes()) != 4 {
			return fmt.Errorf("%d of %v", ready, nodes())
		}
		return nil
	})
	for _, vm := range nodes() {
		testenv.Holds(t, "the user data of "+vm, settings(t, u.Get("vm/"+vm, ".status.uniqueID"))["guestinfo.userdata"], "the node joins its cluster here")
	}
	u.Patch("clusters.cluster.slipway.dev/shop", `{"spec":{"paused":true}}`)
	u.awaitCondition("shop-control-plane", "Paused", "Paused", `by spec.paused of Cluster "shop"`)
	u.Patch("clusters.cluster.slipway.dev/shop", `{"spec":{"paused":false}}`)
	u.Delete(machine)
	u.Wants("vm/shop-control-plane", ".metadata.name", "")
}

// settings returns the advanced settings of a VM in vCenter. Base64 values are decoded.
func settings(t *testing.T, uniqueID string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Short)
	defer cancel()
	client := testenv.VCenterClient(ctx, t)
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
