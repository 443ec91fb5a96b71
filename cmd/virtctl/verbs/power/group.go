// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package power

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// groupStates maps verbs to the power states of a group.
var groupStates = map[string]vmv1alpha1.PowerState{
	"start": vmv1alpha1.PoweredOn, "stop": vmv1alpha1.PoweredOff, "suspend": vmv1alpha1.Suspended,
}

// takeGroups removes the groups from the names and returns their names.
func takeGroups(s *cli.Selection) []string {
	var groups []string
	s.Names = slices.DeleteFunc(slices.Clone(s.Names), func(arg string) bool {
		name, ok := strings.CutPrefix(arg, cli.GroupPrefix)
		if ok {
			groups = append(groups, name)
		}
		return ok
	})
	return groups
}

// powerGroups sets the power state of groups, which their members inherit, and returns the groups that were changed.
func (f command) powerGroups(ctx context.Context, v powerVerb, names []string, mode string, dry cli.DryRun, ready bool) (asked []*awaited, err error) {
	switch {
	case len(names) == 0:
		return nil, nil
	case mode != "":
		return nil, fmt.Errorf("--mode applies to virtual machines only: each member of a group has its own setting")
	}
	client, namespace, err := f.Client()
	if err != nil {
		return nil, err
	}
	groups := client.VmV1alpha1().VirtualMachineGroups(namespace)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"powerState": groupStates[v.name]}})
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of a group: %w", err)
	}
	suffix := ""
	if dry.On() {
		suffix = " (dry run)"
	}
	failed := false
	for _, name := range names {
		group, err := groups.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dry.Options()})
		if err != nil {
			failed = true
			fmt.Fprintf(f.Streams.ErrOut, "error: virtualmachinegroup %s/%s: %s\n", namespace, name, cli.Reason(err))
			continue
		}
		fmt.Fprintf(f.Streams.Out, "virtualmachinegroup %s/%s %s%s\n", namespace, name, v.done, suffix)
		asked = append(asked, awaitGroup(groups, group, namespace+"/"+name, ready))
	}
	if failed {
		return asked, cli.ErrReported
	}
	return asked, nil
}

// awaitGroup returns a wait for a group, based on the server's response.
func awaitGroup(client vmclient.VirtualMachineGroupInterface, asked *vmv1alpha1.VirtualMachineGroup, name string, ready bool) *awaited {
	return &awaited{what: "virtualmachinegroup " + name, look: func(ctx context.Context) (settling, error) {
		now, err := client.Get(ctx, asked.Name, metav1.GetOptions{})
		return func() (bool, string, error) { return SettledGroup(asked, now, ready) }, err
	}}
}

// SettledGroup is Settled for a group, whose members are changed one after the other. A condition reports which
// member is pending.
func SettledGroup(asked, now *vmv1alpha1.VirtualMachineGroup, ready bool) (done bool, doing string, err error) {
	if err := overtaken(asked, now, asked.Spec.PowerState, now.Spec.PowerState); err != nil {
		return false, "", err
	}
	conditionType, is := vmv1alpha1.ConditionPowerStateSynced, string(now.Spec.PowerState)
	if ready {
		conditionType, is = vmv1alpha1.ConditionReady, vmv1alpha1.ConditionReady
	}
	switch c := Current(now.Status.Conditions, asked.Generation, conditionType); {
	case c == nil:
		return false, waitingForServer, nil
	case c.Status != metav1.ConditionTrue:
		return false, cmp.Or(c.Message, c.Reason), nil
	}
	return true, is, nil
}
