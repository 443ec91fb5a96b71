// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// bootstraps returns the kinds of bootstrap that set the guest's host name.
func bootstraps() map[string]*vmv1alpha1.VirtualMachineBootstrap {
	return map[string]*vmv1alpha1.VirtualMachineBootstrap{
		"cloudInit": {CloudInit: &vmv1alpha1.CloudInitBootstrap{}},
		"linuxPrep": {LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}},
		"sysprep":   {Sysprep: &vmv1alpha1.SysprepBootstrap{Answers: &vmv1alpha1.SysprepAnswers{}}},
	}
}

// namedVM returns a VM with a name and a bootstrap. The VM does not exist yet.
func namedVM(name, host, domain string, b *vmv1alpha1.VirtualMachineBootstrap) (Desired, *mo.VirtualMachine) {
	w := want()
	w.Identity.Key.Name = name
	w.Bootstrap = &provider.BootstrapData{}
	w.Effective.Bootstrap = b
	w.Effective.Network = &vmv1alpha1.VirtualMachineNetworkSpec{HostName: host, DomainName: domain}
	return w, &mo.VirtualMachine{}
}

// givenName returns the host name that the guest gets, with its domain.
func givenName(t *testing.T, w Desired, vm *mo.VirtualMachine) string {
	t.Helper()
	if ci := w.Effective.Bootstrap.CloudInit; ci != nil {
		data, ok := cloudInitMetadata(newInput(w, vm), ci)
		var metadata struct {
			Name string `json:"local-hostname"`
		}
		if err := json.Unmarshal(data, &metadata); !ok || err != nil {
			t.Fatalf("metadata %s: %v", data, err)
		}
		return metadata.Name
	}
	spec, _ := Customization(w)
	switch id := spec.Identity.(type) {
	case *types.CustomizationLinuxPrep:
		name := id.HostName.(*types.CustomizationFixedName).Name
		if strings.Contains(name, ".") {
			t.Errorf("host name %q has a dot, which vSphere does not allow", name)
		}
		return strings.TrimSuffix(name+"."+id.Domain, ".")
	case *types.CustomizationSysprep:
		return id.UserData.ComputerName.(*types.CustomizationFixedName).Name
	}
	t.Fatalf("identity %T", spec.Identity)
	return ""
}

func TestHostName_IsTheSameForEachBootstrap(t *testing.T) {
	for _, tc := range []struct{ name, host, domain, want string }{
		{"web", "", "", "web"},
		{"web", "", "example.org", "web.example.org"},
		{"web", "www", "", "www"},
		{"web.a", "www", "example.org", "www.example.org"},
		{"web.a", "", "", "web.a"},
		{"web.b", "", "", "web.b"},
		{"web.a", "", "example.org", "web.a.example.org"},
		{"web.example.org", "", "example.org", "web.example.org"},
		{"web.a.example.org", "", "example.org", "web.a.example.org"},
		{"web.myexample.org", "", "example.org", "web.myexample.org.example.org"},
	} {
		for kind, b := range bootstraps() {
			w, vm := namedVM(tc.name, tc.host, tc.domain, b)
			wantName := tc.want
			if kind == "sysprep" { // The domain is the domain to join.
				wantName, _, _ = strings.Cut(tc.want, ".")
			}
			if got := givenName(t, w, vm); got != wantName {
				t.Errorf("%s: VM %q with hostName %q and domainName %q is given the name %q, want %q", kind, tc.name, tc.host, tc.domain, got, wantName)
			}
		}
	}
}

func TestHostName_InvalidNameIsRefused(t *testing.T) {
	long, limit := strings.Repeat("a", 71), strings.Repeat("a", 63)
	domain := strings.Repeat(strings.Repeat("a", 61)+".", 4) + "org"
	tooLong := func(path string) []string {
		return []string{"bootstrap." + path + `: a host name has at most 63 characters, but "` + long + `" has 71: set network.hostName`}
	}
	for _, tc := range []struct {
		name, domain string
		want         map[string][]string
	}{
		{long, "", map[string][]string{"cloudInit": tooLong("cloudInit"), "linuxPrep": tooLong("linuxPrep"),
			"sysprep": {`bootstrap.sysprep: a Windows computer name has at most 15 characters, but "` + long + `" has 71: set network.hostName`}}},
		{limit, "", map[string][]string{
			"sysprep": {`bootstrap.sysprep: a Windows computer name has at most 15 characters, but "` + limit + `" has 63: set network.hostName`}}},
		{"web", domain, map[string][]string{
			"cloudInit": {`bootstrap.cloudInit: host name and domain together have at most 253 characters, but "web.` + domain + `" has 255: set network.hostName or network.domainName`},
			"linuxPrep": {`bootstrap.linuxPrep: host name and domain together have at most 253 characters, but "web.` + domain + `" has 255: set network.hostName or network.domainName`}}},
		{"10.0.0.1", "", map[string][]string{
			"cloudInit": {`bootstrap.cloudInit: the name "10.0.0.1" is an IP address and cannot be a host name: set network.hostName`},
			"linuxPrep": {`bootstrap.linuxPrep: the name "10.0.0.1" is an IP address and cannot be a host name: set network.hostName`},
			"sysprep":   {`bootstrap.sysprep: a Windows computer name cannot consist of digits only: "10"; set network.hostName`}}},
		{"web.example", "", nil},
	} {
		for kind, b := range bootstraps() {
			w, vm := namedVM(tc.name, "", tc.domain, b)
			if diff := cmp.Diff(tc.want[kind], Refused(w, vm).Invalid); diff != "" {
				t.Errorf("%s of VM %q: refused (-want +got):\n%s", kind, tc.name, diff)
			}
			w.Effective.Network.HostName = "web"
			if got := Refused(w, vm).Invalid; tc.domain == "" && got != nil {
				t.Errorf("%s of VM %q with a host name: refused %q, want nothing", kind, tc.name, got)
			}
			w.Effective.Network.HostName = ""
			ran := have()
			if got := Refused(w, ran).Invalid; got != nil {
				t.Errorf("%s of VM %q, which has booted: refused %q, want nothing", kind, tc.name, got)
			}
		}
	}
}
