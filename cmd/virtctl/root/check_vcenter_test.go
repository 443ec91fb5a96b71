// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
	"github.com/slipway-dev/slipway/test/clitest"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// zoneOf returns the JSON of a Zone of the simulated vCenter.
func zoneOf(vc, name, datastore string) string {
	return `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"Zone","metadata":{"name":"` + name + `"},"spec":{"vCenter":"` + vc + `","cluster":"DC0_C0","folder":"/DC0/vm/slipway",
"networks":[{"name":"a","network":"VM Network"}],"storage":{"datastores":["` + datastore + `"]}},"status":{"conditions":[{"type":"Ready","status":"True","reason":"Succeeded","message":""}]}}`
}

// ofVCenter returns the JSON of a VCenter.
func ofVCenter(name, url, uuid string) string {
	return `{"apiVersion":"vm.slipway.dev/v1alpha1","kind":"VCenter","metadata":{"name":"` + name + `"},"spec":{"url":"` + url + `"},"status":{"instanceUUID":"` + uuid +
		`","conditions":[{"type":"Ready","status":"True","reason":"Succeeded","message":""}]}}`
}

// served are APIServices that are available.
var served = map[string]string{vmAPI: "", instancetypeAPI: "", clusterAPI: ""}

func TestCheckVCenter_ChecksZones(t *testing.T) {
	ready := clitest.UseVCenter(t).Ready()
	file := filepath.Join(t.TempDir(), "zones.yaml")
	if err := os.WriteFile(file, []byte(zoneOf("default", "from-file", "LocalDS_0")), 0o600); err != nil {
		t.Fatal(err)
	}
	const several = "note: describe Zones: several datastores were found: /DC0/datastore/LocalDS_0, /DC0/datastore/LocalDS_1\n"
	for name, c := range map[string]struct {
		objects map[string]string
		args    []string
		code    int
		want    []string
		not     string
	}{
		"none": {want: []string{several, "\ndatastore /DC0/datastore/LocalDS_1: ok\n", "(minimum 8.0.2.0)", "\n  DC0_C0: DRS is enabled", "clock: differs from this machine's clock by "}, not: "zone "},
		"of a file": {
			objects: map[string]string{"zones": zoneOf("default", "a", "none")}, args: []string{"--zones=" + file},
			want: []string{"zone from-file: folder /DC0/vm/slipway: ok\n", "zone from-file: datastore LocalDS_0: ok\n"}, not: several,
		},
		"of the cluster, whose vCenter is described by flags": {
			objects: map[string]string{"zones": zoneOf("default", "a", "LocalDS_1")},
			want:    []string{"note     checking the cluster's Zones of this vCenter: a\n", "zone a: datastore LocalDS_1: ok\n"}, not: several,
		},
		"of the cluster, not usable": {
			objects: map[string]string{"zones": zoneOf("default", "a", "none")}, code: 1,
			want: []string{`zone a: datastore zone "a": vSphere has no datastore "none"`}, not: several,
		},
		"of the cluster, of this vCenter by its URL": {
			objects: map[string]string{
				"vcenters": ofVCenter("default", "https://elsewhere.example.com/sdk", "other") + "," + ofVCenter("east", ready.URL, ""),
				"zones":    zoneOf("default", "a", "none") + "," + zoneOf("east", "b", "LocalDS_0"),
			},
			want: []string{"checking the cluster's Zones of this vCenter: b\n", "zone b: datastore LocalDS_0: ok\n"}, not: "zone a",
		},
		"of the cluster, of other vCenters": {
			objects: map[string]string{"vcenters": ofVCenter("default", ready.URL, "other"), "zones": zoneOf("default", "a", "none")}, want: []string{several}, not: "zone a",
		},
		"flags of the server": {
			objects: map[string]string{"zones": zoneOf("default", "a", "none")},
			args:    []string{"--server-arg=--vcenter-datastore=LocalDS_0", "--server-arg=--vcenter-network=VM Network"}, want: []string{"\ndatastore /DC0/datastore/LocalDS_0: ok\n"}, not: "zone a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := checkedCluster{aggregation: true, apis: served, objects: c.objects}
			code, out, errOut := cluster.check(t, append([]string{"--vcenter-govc-env"}, c.args...)...)
			if code != c.code || strings.Contains(out, c.not) {
				t.Errorf("exit %d, want %d without %q: %s\n%s", code, c.code, c.not, errOut, out)
			}
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("the report lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

func TestCheckVCenter_NeedsNoCluster(t *testing.T) {
	ready := clitest.UseVCenter(t).Ready()
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	dir := t.TempDir()
	away := filepath.Join(dir, "away")
	if err := os.WriteFile(away, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],"contexts":[{"name":"c","context":{"cluster":"c"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(args ...string) (int, string, string) {
		t.Helper()
		var out, errOut bytes.Buffer
		streams := genericiooptions.IOStreams{In: strings.NewReader(vcenter.DefaultPassword + "\n"), Out: &out, ErrOut: &errOut}
		code := root.Main(t.Context(), append([]string{"virtctl", "check", "--vcenter-username=" + vcenter.DefaultUsername, "--vcenter-password-file=-",
			"--vcenter-url=" + ready.URL, "--vcenter-ca-file=" + ready.CAFile}, args...), genericclioptions.NewConfigFlags(true), streams)
		return code, out.String(), errOut.String()
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no kubeconfig":       {want: "note     no kubeconfig was found: only vCenter is checked\n"},
		"unreachable cluster": {args: []string{"--kubeconfig=" + away}, code: 1, want: "MISSING  the cluster cannot be checked: reading the version of the cluster: "},
	} {
		file := filepath.Join(dir, name)
		code, out, errOut := check(append(c.args, "--record="+file)...)
		if code != c.code || !strings.HasPrefix(out, c.want) || !strings.Contains(out, "are recorded in "+file) {
			t.Errorf("%s: exit %d, want %d with %q: %s\n%s", name, code, c.code, c.want, errOut, out)
		}
	}
	if code, _, errOut := check("--try"); code != 1 || errOut == "" {
		t.Errorf("--try without a cluster: exit %d: %s", code, errOut)
	}
}
