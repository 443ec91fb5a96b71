// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// defaultPublishTimeout is enough for disks of some ten GiB.
const defaultPublishTimeout = 30 * time.Minute

// leastTTL is the minimum lifetime of a completed request with --wait. It allows for a short outage.
const leastTTL = time.Minute

// publishFlags are the flags of publish.
type publishFlags struct {
	library, item, description string
	ttl, timeout               time.Duration
	wait                       bool
}

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	var flags publishFlags
	cmd := &cobra.Command{
		Use:   "publish VM --library LIBRARY",
		Short: "Publish a virtual machine as an item of a content library",
		Long: "Publish a virtual machine as an item of a content library.\n\n" +
			"Creates a VirtualMachinePublishRequest. The virtual machine must be powered off, and the\n" +
			"ContentLibrary must allow its namespace to publish (spec.publishFrom). An existing item that\n" +
			"was published from the namespace gets a new version; other items are not changed.",
		Example: fmt.Sprintf("  %[1]s publish web --library golden\n  %[1]s publish web --library golden --item web-2026-05 --wait", f.Program),
		Args:    cobra.ExactArgs(1), ValidArgsFunction: f.CompleteVMs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.library == "":
				return errors.New("--library is required: specify a ContentLibrary that allows the namespace to publish")
			case flags.ttl < 0 || flags.ttl%time.Second != 0:
				return fmt.Errorf("--ttl %s: must be a non-negative number of whole seconds", flags.ttl)
			case flags.wait && flags.ttl > 0 && flags.ttl < leastTTL:
				return fmt.Errorf("--ttl %s: must be at least %s with --wait", flags.ttl, leastTTL)
			}
			return f.publish(cmd.Context(), args[0], &flags)
		},
	}
	cmd.Flags().StringVar(&flags.library, "library", "", "Name of the ContentLibrary (required)")
	cmd.Flags().StringVar(&flags.item, "item", "", "Name of the item (default: that of the virtual machine)")
	cmd.Flags().StringVar(&flags.description, "description", "", "Description of the item")
	cmd.Flags().DurationVar(&flags.ttl, "ttl", 0, "How long the completed request is kept (default: until it is deleted)")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "Wait until an image of the item exists; fail if the request is Stalled")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", defaultPublishTimeout, "Timeout of --wait")
	return cmd
}

func (f command) publish(ctx context.Context, vm string, flags *publishFlags) error {
	client, namespace, err := f.Client()
	if err != nil {
		return err
	}
	request := &vmv1alpha1.VirtualMachinePublishRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: vm + "-"},
		Spec: vmv1alpha1.VirtualMachinePublishRequestSpec{
			Source: vmv1alpha1.VirtualMachinePublishSource{Name: vm},
			Target: vmv1alpha1.VirtualMachinePublishTarget{ContentLibrary: flags.library, Item: flags.item, Description: flags.description},
		},
	}
	if flags.ttl > 0 {
		request.Spec.TTLSecondsAfterFinished = ptr.To(int64(flags.ttl / time.Second))
	}
	requests := client.VmV1alpha1().VirtualMachinePublishRequests(namespace)
	made, err := requests.Create(ctx, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("virtualmachine %s/%s: %s", namespace, vm, cli.Reason(err))
	}
	fmt.Fprintf(f.Streams.Out, "virtualmachinepublishrequest %s/%s created\n", namespace, made.Name)
	if !flags.wait {
		return nil
	}
	return f.waitForPublished(ctx, requests, made.Name, flags.timeout)
}

// waitForPublished waits until a request is complete, and shows progress. A Stalled request is an error because it
// needs a change by a user.
func (f command) waitForPublished(ctx context.Context, requests vmclient.VirtualMachinePublishRequestInterface, name string, timeout time.Duration) error {
	var complete *vmv1alpha1.VirtualMachinePublishRequest
	var stalled *metav1.Condition
	err := f.AwaitState(ctx, timeout, "virtualmachinepublishrequest "+name+" is not complete", func(ctx context.Context) (bool, string, error) {
		got, err := requests.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "not found: it was deleted, or it completed and --ttl expired", err
		}
		complete = got
		if stalled = conditions.Find(got.Status.Conditions, vmv1alpha1.ConditionStalled); stalled != nil {
			return true, "", nil
		}
		return conditions.IsTrue(got.Status.Conditions, vmv1alpha1.ConditionComplete), unpublished(got), nil
	})
	if err != nil {
		return err
	}
	if stalled != nil {
		return fmt.Errorf("virtualmachinepublishrequest %s is Stalled (%s): %s", name, stalled.Reason, stalled.Message)
	}
	fmt.Fprintf(f.Streams.Out, "item %q, version %s: %s/%s\n", complete.ItemName(), complete.Status.ContentVersion, complete.Status.ImageKind, complete.Status.ImageName)
	return nil
}

// unpublished returns the first unfulfilled condition of a request.
func unpublished(r *vmv1alpha1.VirtualMachinePublishRequest) string {
	for _, kind := range []string{vmv1alpha1.ConditionSourceValid, vmv1alpha1.ConditionTargetValid, vmv1alpha1.ConditionUploaded, vmv1alpha1.ConditionImageAvailable} {
		if c := conditions.Find(r.Status.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			return strings.TrimSpace(fmt.Sprintf("%s: %s", kind, cmp.Or(c.Message, c.Reason)))
		}
	}
	return "waiting for the server"
}
