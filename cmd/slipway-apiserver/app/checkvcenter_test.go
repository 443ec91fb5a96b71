// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func TestMain(m *testing.M) { simulated.Main(m) }

func TestCheckVCenter_FailsIfPrivilegesAreMissing(t *testing.T) {
	ready := simulated.Start(t)
	credentials := filepath.Join(t.TempDir(), "credentials")
	write := func(password string) {
		t.Helper()
		if err := os.WriteFile(credentials, []byte("username: "+vcenter.DefaultUsername+"\npassword: "+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(more string) (string, error) {
		var out strings.Builder
		err := checkVCenter(t.Context(), parse(t, "--check-vcenter --vcenter-url="+ready.URL+" --vcenter-ca-file="+ready.CAFile+
			" --vcenter-credentials-file="+credentials+" "+more), &out)
		return out.String(), err
	}
	const places = "--vcenter-folder=/DC0/vm/slipway --vcenter-datastore=LocalDS_0 --vcenter-network=DC0_DVPG0"
	write(vcenter.DefaultPassword)
	if out, err := check(places); err != nil || !strings.Contains(out, "folder /DC0/vm/slipway: ok") {
		t.Errorf("with all privileges: %v\n%s", err, out)
	}
	simulated.Control(t, ready, http.MethodPut, "/permissions?entity=/DC0/vm/slipway&without=VirtualMachine.Interact.PowerOn")
	if out, err := check(places); !errors.Is(err, errLacking) || !strings.Contains(out, "folder /DC0/vm/slipway: missing privilege VirtualMachine.Interact.PowerOn\n") {
		t.Errorf("without a privilege: %v\n%s", err, out)
	}
	if _, err := check("--vcenter-max-calls=0"); err == nil || !strings.Contains(err.Error(), "--vcenter-max-calls 0") {
		t.Errorf("bad flag: %v", err)
	}
	write("wrong")
	if out, err := check(places); err == nil || errors.Is(err, errLacking) || strings.Contains(err.Error()+out, "wrong") {
		t.Errorf("wrong password: %v\n%s", err, out)
	}
	if err := checkVCenter(t.Context(), parse(t, "--check-vcenter"), &strings.Builder{}); err == nil || !strings.Contains(err.Error(), "--vcenter-url") {
		t.Errorf("without vCenter: %v", err)
	}
}

func TestCheckVCenter_ChecksTheObjectsOfZones(t *testing.T) {
	ready := simulated.Start(t, func(o *vcenter.Options) { o.Clusters = 2 })
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	credentials := write("credentials", "username: "+vcenter.DefaultUsername+"\npassword: "+vcenter.DefaultPassword+"\n")
	check := func(zones string) (string, error) {
		var out strings.Builder
		err := checkVCenter(t.Context(), parse(t, "--check-vcenter --vcenter-url="+ready.URL+" --vcenter-ca-file="+ready.CAFile+
			" --vcenter-credentials-file="+credentials+" --check-vcenter-zones="+zones), &out)
		return out.String(), err
	}
	wants := func(out string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(out, line+"\n") {
				t.Errorf("the report lacks %q:\n%s", line, out)
			}
		}
	}
	example, err := os.ReadFile("../../../artifacts/examples/zones.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out, err := check(write("example", string(example)))
	if err != nil {
		t.Errorf("the example: %v", err)
	}
	wants(out, "zone zone-a: folder /DC0/vm/slipway: ok", "zone zone-a: resource pool Resources: ok", "zone zone-a: datastore LocalDS_1: ok",
		"zone zone-a: network DC0_DVPG0: ok", "zone zone-b: datastore DC0_C1_DS: ok",
		"cluster DC0_C1: DRS is not enabled: Slipway selects a connected host for each VM that it creates from a content library or by fast deploy; "+
			"not available: placement by DRS rating, load balancing, affinity rules, resource pools other than the cluster's")
	if strings.Contains(out, "cluster DC0_C0") {
		t.Errorf("the report names a cluster with DRS:\n%s", out)
	}

	simulated.Control(t, ready, http.MethodPut, "/permissions?entity=/DC0/datastore/DC0_C1_DS&without=Datastore.AllocateSpace")
	out, err = check(write("wrong", strings.NewReplacer("network: DC0_DVPG0", "network: Elsewhere", "/DC0/vm/slipway", "/DC0/vm/none",
		"datastores: [LocalDS_0, LocalDS_1]", "policy: Golden", "datastores: [DC0_C1_DS]", "{datastores: [DC0_C1_DS], classes: [{name: gold, policy: Gold}]}").Replace(string(example))))
	if !errors.Is(err, errLacking) {
		t.Errorf("with missing objects: %v", err)
	}
	wants(out, `zone zone-a: folder /DC0/vm/none: vSphere has no folder "/DC0/vm/none"`,
		`zone zone-a: network Elsewhere: backup: vSphere has no network "Elsewhere"`,
		`zone zone-b: storage policy Gold: storage.classes "gold": no datastore can be used by storage policy "Gold": DC0_C1_DS: not compatible: Datastore does not satisfy required tag(s).`,
		"zone zone-b: datastore DC0_C1_DS: missing privilege Datastore.AllocateSpace")
	if !strings.Contains(out, `zone zone-a: storage policy Golden: zone "zone-a" refers to storage policy "Golden", which does not exist in vCenter`) {
		t.Errorf("the report does not report that there is no such policy:\n%s", out)
	}

	for name, text := range map[string]string{"the file contains no Zone": "kind: ConfigMap\n", "spec.folder": "kind: Zone\nmetadata: {name: a}\n", "json": "kind: [\n"} {
		if _, err := check(write("bad", text)); err == nil || !strings.Contains(err.Error(), "--check-vcenter-zones") || !strings.Contains(err.Error(), name) && name != "json" {
			t.Errorf("%q: %v, want an error with %q", text, err, name)
		}
	}
	if _, err := check(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	list := "kind: List\nitems:\n- kind: Secret\n- " + strings.ReplaceAll(strings.SplitN(strings.SplitN(string(example), "apiVersion", 2)[1], "\n---", 2)[0], "\n", "\n  ")
	list = strings.Replace(list, "- :", "- apiVersion:", 1)
	if out, err = check(write("list", list)); !strings.Contains(out, "zone zone-a: folder /DC0/vm/slipway: ok") {
		t.Errorf("of a list: %v\n%s", err, out)
	}
}
