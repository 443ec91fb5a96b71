// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

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

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// copies says which virtual machines adopt --copies is for.
type copies struct {
	on, all, allNamespaces bool
}

func (c *copies) validate(names []string) error {
	switch {
	case !c.on && (c.all || c.allNamespaces):
		return errors.New("--all and --all-namespaces go with --copies")
	case c.on && c.all == (len(names) > 0):
		return errors.New("--copies takes either names of virtual machines or --all")
	case c.allNamespaces && !c.all:
		return errors.New("--all-namespaces goes with --all")
	}
	return nil
}

// adoptCopies confirms for virtual machines that vSphere does not show that the copy which was
// found of each is it.
func (f *Factory) adoptCopies(ctx context.Context, o *adoption) error {
	client, namespace, err := f.client()
	if err != nil {
		return err
	}
	report, err := readOrphans(ctx, client)
	if err != nil {
		return err
	}
	if o.copies.allNamespaces {
		namespace = metav1.NamespaceAll
	}
	found := map[target][]string{}
	var targets []target
	for _, name := range o.paths {
		targets = append(targets, target{namespace, name})
	}
	for _, c := range report.Orphans {
		t := target{c.Namespace, c.Name}
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
			fmt.Fprintf(f.streams.ErrOut, "error: virtualmachine %s/%s: %s\n", t.namespace, t.name, printable(reason(err)))
		}
	}
	if err := uncovered(report); err != nil {
		return err
	}
	if failed {
		return errReported
	}
	return nil
}

// confirmCopy confirms the only copy. Of --all, those that need none are passed over.
func (f *Factory) confirmCopy(ctx context.Context, client versioned.Interface, t target, ids []string, o *adoption) error {
	api := client.VmV1alpha1().VirtualMachines(t.namespace)
	vm, err := api.Get(ctx, t.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	created := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionCreated)
	switch {
	case created == nil || created.Reason != vmv1alpha1.ReasonCopyFound:
		if o.copies.all {
			return nil
		}
		return fmt.Errorf("vSphere shows it, or there is no copy of it: its condition Created does not say %s", vmv1alpha1.ReasonCopyFound)
	case len(ids) != 1:
		return fmt.Errorf("%d copies of it are reported (%s): set the annotation %s=%s=ID with the ID of the right one", len(ids), strings.Join(ids, ", "),
			vmv1alpha1.AnnotationConfirmedGone, vm.Status.UniqueID)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": vm.UID, "annotations": map[string]string{vmv1alpha1.AnnotationConfirmedGone: vm.Status.UniqueID + "=" + ids[0]},
	}})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	if _, err := api.Patch(ctx, t.name, types.MergePatchType, patch, metav1.PatchOptions{DryRun: o.dryRun.options()}); err != nil {
		return err
	}
	suffix := ""
	if o.dryRun.on() {
		suffix = " (dry run)"
	}
	fmt.Fprintf(f.streams.Out, "virtualmachine %s/%s: %s is confirmed instead of %s%s\n", t.namespace, t.name, printable(ids[0]), vm.Status.UniqueID, suffix)
	return nil
}
