// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// conditionsOf returns the conditions of vm as "type=status reason", the withdrawn condition types, and all messages.
func conditionsOf(vm *mo.VirtualMachine) (set, withdrawn []string, messages string) {
	o := observe.Of(vm, nil)
	for _, c := range o.Conditions {
		if c.Type == vmv1alpha1.ConditionGuestToolsReady {
			continue
		}
		set = append(set, c.Type+"="+string(c.Status)+" "+c.Reason)
		messages += c.Message
	}
	return set, o.Withdrawn, messages
}

func TestConditions_ReportWhatBlocksAVM(t *testing.T) {
	customization := func(status, text string) func(*mo.VirtualMachine) {
		return func(vm *mo.VirtualMachine) {
			vm.Guest = &types.GuestInfo{CustomizationInfo: &types.GuestInfoCustomizationInfo{CustomizationStatus: status, ErrorMsg: text}}
		}
	}
	for _, tc := range []struct {
		name    string
		change  func(*mo.VirtualMachine)
		want    []string
		message string
	}{
		{name: "nothing", change: func(*mo.VirtualMachine) {}},
		{"a question", func(vm *mo.VirtualMachine) {
			vm.Runtime.Question = &types.VirtualMachineQuestionInfo{Id: "1", Text: "Did you move it or copy it?\n"}
		}, []string{"QuestionsAnswered=False QuestionPending"}, "answered in vSphere: Did you move it or copy it?"},
		{"consolidation", func(vm *mo.VirtualMachine) { vm.Runtime.ConsolidationNeeded = true },
			[]string{"DisksConsolidated=False ConsolidationNeeded"}, "consolidate the disks"},
		{"no consolidation", func(vm *mo.VirtualMachine) { vm.Runtime.ConsolidationNeeded = false }, nil, ""},
		{"no customization", customization("TOOLSDEPLOYPKG_IDLE", ""), nil, ""},
		{"a pending customization", customization("TOOLSDEPLOYPKG_PENDING", ""), []string{"GuestCustomized=False InProgress"}, "the next power-on"},
		{"a running customization", customization("TOOLSDEPLOYPKG_RUNNING", ""), []string{"GuestCustomized=False InProgress"}, ""},
		{"a successful customization", customization("TOOLSDEPLOYPKG_SUCCEEDED", ""), []string{"GuestCustomized=True Succeeded"}, ""},
		{"a failed customization", customization("TOOLSDEPLOYPKG_FAILED", "no perl"), []string{"GuestCustomized=False Error"}, "failed: no perl"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := sample()
			tc.change(vm)
			set, withdrawn, message := conditionsOf(vm)
			if diff := cmp.Diff(tc.want, set); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if !strings.Contains(message, tc.message) || len(set)+len(withdrawn) != 3 {
				t.Errorf("message %q, withdrawn %v; want %q, and each condition type either set or withdrawn", message, withdrawn, tc.message)
			}
		})
	}
}
