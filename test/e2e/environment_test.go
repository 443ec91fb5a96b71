// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/testenv"
)

// asAdmin is an administrator in the namespace default, for tests that make nothing.
func asAdmin(t *testing.T, kubeconfig string) user {
	return user{t: t, kubeconfig: kubeconfig, namespace: "default"}
}

func TestAPIsAreAvailable(t *testing.T) {
	t.Parallel()
	out := asAdmin(t, environment(t).AdminKubeconfig).kubectl("get", "apiservices", "-o",
		`jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Available")].status}{"\n"}{end}`)
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		name, status, _ := strings.Cut(strings.TrimSpace(line), " ")
		seen[name] = true
		if status != "True" {
			t.Errorf("APIService %s: Available is %q", name, status)
		}
	}
	for _, name := range []string{"v1alpha1.vm.slipway.dev", "v1alpha1.instancetype.slipway.dev", "v1alpha1.cluster.slipway.dev"} {
		if !seen[name] {
			t.Errorf("APIService %s does not exist", name)
		}
	}
}

func TestKubectlKnowsTheKinds(t *testing.T) {
	t.Parallel()
	for group, want := range map[string][]string{
		"vm.slipway.dev": {
			"clustervirtualmachineimages.vm.slipway.dev", "contentlibraries.vm.slipway.dev", "slipwayclusters.vm.slipway.dev", "vcenters.vm.slipway.dev", "virtualmachineclasses.vm.slipway.dev",
			"virtualmachinegroups.vm.slipway.dev", "virtualmachineimagecaches.vm.slipway.dev", "virtualmachineimages.vm.slipway.dev", "virtualmachineinstances.vm.slipway.dev",
			"virtualmachinepublishrequests.vm.slipway.dev", "virtualmachines.vm.slipway.dev", "virtualmachinesnapshots.vm.slipway.dev",
			"virtualmachinetemplates.vm.slipway.dev", "zones.vm.slipway.dev",
		},
		"cluster.slipway.dev": {
			"clusters.cluster.slipway.dev", "machinedeployments.cluster.slipway.dev", "machinedrainrules.cluster.slipway.dev",
			"machinehealthchecks.cluster.slipway.dev", "machines.cluster.slipway.dev", "machinesets.cluster.slipway.dev",
		},
		"instancetype.slipway.dev": {
			"controllerrevisions.instancetype.slipway.dev",
			"virtualmachineclusterinstancetypes.instancetype.slipway.dev", "virtualmachineclusterpreferences.instancetype.slipway.dev",
			"virtualmachineinstancetypes.instancetype.slipway.dev", "virtualmachinepreferences.instancetype.slipway.dev",
		},
	} {
		out := asAdmin(t, environment(t).AdminKubeconfig).kubectl("api-resources", "--api-group="+group, "-o", "name", "--sort-by=name")
		if diff := cmp.Diff(want, strings.Fields(out)); diff != "" {
			t.Errorf("resources of %s (-want +got):\n%s", group, diff)
		}
	}
}

// The names are Slipway's, KubeVirt's and VM Operator's for the same things.
func TestKubectlKnowsTheNamesThatPeopleTry(t *testing.T) {
	t.Parallel()
	var all []string
	for resource, names := range map[string]string{
		"virtualmachines":                    "vm vms virtualmachine virtualmachines VirtualMachine",
		"virtualmachineinstances":            "vmi vmis virtualmachineinstance",
		"virtualmachineclasses":              "vmclass vmclasses virtualmachineclass",
		"virtualmachinegroups":               "vmg vmgs vmgroup vmgroups",
		"virtualmachineimages":               "vmimage vmimages",
		"clustervirtualmachineimages":        "cvmi cvmis cvmimage cvmimages clustervmimage",
		"virtualmachineimagecaches":          "vmic vmicache vmicaches vmimagecache",
		"virtualmachinesnapshots":            "vmsnap vmsnaps vmsnapshot vmsnapshots",
		"virtualmachinepublishrequests":      "vmpub vmpubs",
		"virtualmachinetemplates":            "vmtemplate vmtemplates",
		"contentlibraries":                   "clib clibs contentlibrary",
		"vcenters":                           "vc vcs vcenter",
		"zones":                              "zone",
		"virtualmachineinstancetypes":        "vminstancetype vminstancetypes vmf vmfs",
		"virtualmachineclusterinstancetypes": "vmclusterinstancetype vmclusterinstancetypes vmcf vmcfs",
		"virtualmachinepreferences":          "vmpref vmprefs vmp vmps",
		"virtualmachineclusterpreferences":   "vmclusterpref vmclusterprefs vmcp vmcps",
		"controllerrevisions":                "vmrev vmrevs vmrevision vmrevisions",
		"machines":                           "ma", "machinesets": "ms", "machinedeployments": "md", "machinehealthchecks": "mhc mhcs", "machinedrainrules": "mdr", "clusters": "cl",
	} {
		for _, name := range strings.Fields(names) {
			all = append(all, name)
			m, err := testenv.Mapping(environment(t).AdminKubeconfig, name)
			if err != nil || m.Resource.Resource != resource || !strings.HasSuffix(m.Resource.Group, ".slipway.dev") {
				t.Errorf("%s is %+v, %v; want %s", name, m, err, resource)
			}
		}
	}
	asAdmin(t, environment(t).AdminKubeconfig).kubectl("get", strings.Join(all, ","))
}
