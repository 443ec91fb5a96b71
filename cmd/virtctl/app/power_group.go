// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// groupPrefixes are how an argument says that it names a group.
var groupPrefixes = []string{"group/", "vmgroup/", "virtualmachinegroup/"}

// groupStates are the power states that the verbs give to a group.
var groupStates = map[string]vmv1alpha1.PowerState{
	"start": vmv1alpha1.PoweredOn, "stop": vmv1alpha1.PoweredOff, "suspend": vmv1alpha1.Suspended,
}

// takeGroups removes the groups from the names, and returns theirs.
func (s *selection) takeGroups() []string {
	var groups []string
	s.names = slices.DeleteFunc(slices.Clone(s.names), func(arg string) bool {
		for _, prefix := range groupPrefixes {
			if name, ok := strings.CutPrefix(arg, prefix); ok {
				groups = append(groups, name)
				return true
			}
		}
		return false
	})
	return groups
}

// powerGroups sets the power state of groups, which their members inherit.
func (f *Factory) powerGroups(ctx context.Context, v powerVerb, names []string, mode string, dry dryRun) error {
	state, ok := groupStates[v.name]
	switch {
	case len(names) == 0:
		return nil
	case !ok:
		return fmt.Errorf("a group cannot be asked to %s: name its virtual machines", v.name)
	case mode != "":
		return fmt.Errorf("--mode is for virtual machines: each member of a group has its own")
	}
	client, namespace, err := f.client()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"powerState": state}})
	if err != nil {
		return fmt.Errorf("encoding the patch of a group: %w", err)
	}
	suffix := ""
	if dry.on() {
		suffix = " (dry run)"
	}
	failed := false
	for _, name := range names {
		_, err := client.VmV1alpha1().VirtualMachineGroups(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dry.options()})
		if err != nil {
			failed = true
			fmt.Fprintf(f.streams.ErrOut, "error: virtualmachinegroup %s/%s: %s\n", namespace, name, reason(err))
			continue
		}
		fmt.Fprintf(f.streams.Out, "virtualmachinegroup %s/%s %s%s\n", namespace, name, v.done, suffix)
	}
	if failed {
		return errReported
	}
	return nil
}
