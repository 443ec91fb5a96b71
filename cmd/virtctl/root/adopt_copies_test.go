// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/clitest"
)

func TestAdoptCopies_ConfirmsCopiesOfMissingVMs(t *testing.T) {
	of := func(namespace, name, id, reason string) vmv1alpha1.VirtualMachine {
		vm := clitest.Machine(namespace, name)
		vm.UID, vm.Status.UniqueID = "uid-"+vm.UID, id
		vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionUnknown, Reason: reason}}
		return vm
	}
	server := func() *clitest.APIServer {
		return &clitest.APIServer{
			VMs: []vmv1alpha1.VirtualMachine{
				of("dev", "web", "vm-1", vmv1alpha1.ReasonCopyFound), of("dev", "shown", "vm-2", vmv1alpha1.ReasonSucceeded),
				of("dev", "two", "vm-3", vmv1alpha1.ReasonCopyFound), of("prod", "db", "vm-4", vmv1alpha1.ReasonCopyFound),
			},
			Orphans: orphans.Report{VCenter: "vc", Orphans: []orphans.Orphan{
				{Namespace: "dev", Name: "gone", UniqueID: "vm-10"}, {Namespace: "dev", Name: "web", UniqueID: "vm-11", CopyOf: "vm-1"},
				{Namespace: "dev", Name: "shown", UniqueID: "vm-12", CopyOf: "vm-2"}, {Namespace: "dev", Name: "two", UniqueID: "vm-13", CopyOf: "vm-3"},
				{Namespace: "dev", Name: "two", UniqueID: "vm-14", CopyOf: "vm-3"}, {Namespace: "prod", Name: "db", UniqueID: "vm-15", CopyOf: "vm-4"},
			}},
		}
	}
	patch := func(namespace, name, value string) string {
		return clitest.APIPrefix + namespace + "/virtualmachines/" + name + ` {"metadata":{"annotations":{"vm.slipway.dev.protected/confirmed-gone":"` + value + `"},"uid":"uid-"}}`
	}
	for name, tc := range map[string]struct {
		args     []string
		code     int
		out      string
		errs     string
		requests []string
	}{
		"by name":           {[]string{"web"}, 0, "virtualmachine dev/web: confirmed vm-11 instead of vm-1\n", "", []string{patch("dev", "web", "vm-1=vm-11")}},
		"one that is shown": {[]string{"shown"}, 1, "", "nothing to confirm: the VM exists or has no copy (the reason of its condition Created is not CopyFound)", nil},
		"two copies":        {[]string{"two"}, 1, "", "2 copies are reported (vm-13, vm-14)", nil},
		"all of a namespace, of which one has two": {[]string{"--all"}, 1, "virtualmachine dev/web: confirmed vm-11 instead of vm-1\n", "dev/two", []string{patch("dev", "web", "vm-1=vm-11")}},
		"all": {[]string{"--all", "-A"}, 1, "virtualmachine dev/web: confirmed vm-11 instead of vm-1\nvirtualmachine prod/db: confirmed vm-15 instead of vm-4\n",
			"dev/two", []string{patch("dev", "web", "vm-1=vm-11"), patch("prod", "db", "vm-4=vm-15")}},
		"nothing named": {nil, 1, "", "--copies requires either names of virtual machines or --all", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := server()
			code, out, errOut := run(t, s, append([]string{"adopt", "--copies"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errOut, tc.errs) {
				t.Errorf("exit code %d, %q; want %d and %q", code, errOut, tc.code, tc.errs)
			}
			if diff := cmp.Diff(tc.out, out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.requests, s.Requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}
