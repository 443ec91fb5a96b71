// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// copies selects the virtual machines of adopt --copies.
type copies struct {
	on, all, allNamespaces bool
}

func (c *copies) validate(names []string) error {
	switch {
	case !c.on && (c.all || c.allNamespaces):
		return errors.New("--all and --all-namespaces require --copies")
	case c.on && c.all == (len(names) > 0):
		return errors.New("--copies requires either names of virtual machines or --all")
	case c.allNamespaces && !c.all:
		return errors.New("--all-namespaces requires --all")
	}
	return nil
}

// adoptCopies confirms the reported copy of each selected virtual machine whose VM is missing from vSphere.
func (f command) adoptCopies(ctx context.Context, o *adoption) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	report, err := cli.ReadOrphans(ctx, client)
	if err != nil {
		return err
	}
	if o.copies.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	found := map[cli.Target][]string{}
	var targets []cli.Target
	for _, name := range o.paths {
		targets = append(targets, cli.Target{Namespace: namespace, Name: name})
	}
	for _, c := range report.Orphans {
		t := cli.Target{Namespace: c.Namespace, Name: c.Name}
		if c.CopyOf == "" || namespace != metav1.NamespaceAll && namespace != c.Namespace {
			continue
		}
		if found[t] = append(found[t], c.UniqueID); o.copies.all && !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	failed := false
	for _, t := range targets {
		if err := f.confirmCopy(ctx, client, t, found[t], o); err != nil {
			failed = true
			fmt.Fprintf(f.Streams.ErrOut, "error: virtualmachine %s/%s: %s\n", t.Namespace, t.Name, cli.Printable(cli.Reason(err)))
		}
	}
	if err := cli.Uncovered(report); err != nil {
		return err
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

// confirmCopy confirms the only copy. With --all it skips virtual machines that need no confirmation.
func (f command) confirmCopy(ctx context.Context, client versioned.Interface, t cli.Target, ids []string, o *adoption) error {
	api := client.VmV1alpha1().VirtualMachines(t.Namespace)
	vm, err := api.Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	created := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
	switch {
	case created == nil || created.Reason != vmv1alpha1.ReasonCopyFound:
		if o.copies.all {
			return nil
		}
		return fmt.Errorf("nothing to confirm: the VM exists or has no copy (the reason of its condition Created is not %s)", vmv1alpha1.ReasonCopyFound)
	case len(ids) != 1:
		return fmt.Errorf("%d copies are reported (%s): set the annotation %s=%s=ID with the ID of the right one", len(ids), strings.Join(ids, ", "),
			vmv1alpha1.AnnotationConfirmedMissing, vm.Status.UniqueID)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": vm.UID, "annotations": map[string]string{vmv1alpha1.AnnotationConfirmedMissing: vm.Status.UniqueID + "=" + ids[0]},
	}})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	if _, err := api.Patch(ctx, t.Name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: o.dryRun.Options()}); err != nil {
		return err
	}
	suffix := ""
	if o.dryRun.On() {
		suffix = " (dry run)"
	}
	fmt.Fprintf(f.Streams.Out, "virtualmachine %s/%s: confirmed %s instead of %s%s\n", t.Namespace, t.Name, cli.Printable(ids[0]), vm.Status.UniqueID, suffix)
	return nil
}
