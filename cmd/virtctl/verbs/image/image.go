// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
)

// NewCommand returns the command.
func NewCommand(factory *cli.Factory) *cobra.Command {
	f := command{factory}
	cmd := &cobra.Command{
		Use:   "image",
		Short: "List, describe and import images",
		Args:  cobra.NoArgs,
		RunE:  cli.HelpFor,
	}
	cmd.AddCommand(newImageListCommand(f), newImageDescribeCommand(f), newImageImportCommand(f))
	return cmd
}

func newImageListCommand(f command) *cobra.Command {
	all := false
	var output cli.Listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the images of the namespace and of the cluster",
		Long: "List the images that virtual machines of the namespace can use: its own and those of the cluster. READY is True or the\n" +
			"reason why the image cannot be used.",
		Example: fmt.Sprintf("  %[1]s image list\n  %[1]s image list -A", f.Program),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			if all {
				namespace = metav1.NamespaceAll
			}
			images, missing := readImages(cmd.Context(), client, namespace)
			if len(missing) == imageKinds || !allForbidden(missing) {
				return missing[0]
			}
			for _, err := range missing {
				fmt.Fprintf(f.Streams.ErrOut, "warning: %s\n", err)
			}
			if !output.Table() {
				return output.Print(f.Streams.Out, entries(images))
			}
			return printImages(f.Streams.Out, images, all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Include all namespaces")
	output.AddFlag(cmd)
	return cmd
}

func entries(images []*vmv1alpha1.VirtualMachineImage) []cli.Entry {
	var all []cli.Entry
	for _, i := range images {
		all = append(all, cli.EntryOf(i, i.Name, vmv1alpha1.SchemeGroupVersion.WithKind(KindOfImage(i))))
	}
	return all
}

// ListImages returns the images of a namespace and of the cluster. The latter have no namespace.
func ListImages(ctx context.Context, client versioned.Interface, namespace string) ([]*vmv1alpha1.VirtualMachineImage, error) {
	images, missing := readImages(ctx, client, namespace)
	if len(missing) > 0 {
		return nil, missing[0]
	}
	return images, nil
}

// imageKinds is the number of image kinds: namespaced and cluster-scoped.
const imageKinds = 2

// readImages returns the images that could be listed, and the errors of the others.
func readImages(ctx context.Context, client versioned.Interface, namespace string) (images []*vmv1alpha1.VirtualMachineImage, missing []error) {
	if own, err := client.VmV1alpha1().VirtualMachineImages(namespace).List(ctx, metav1.ListOptions{}); err != nil {
		missing = append(missing, notListed("images", err))
	} else {
		for i := range own.Items {
			images = append(images, &own.Items[i])
		}
	}
	if cluster, err := client.VmV1alpha1().ClusterVirtualMachineImages().List(ctx, metav1.ListOptions{}); err != nil {
		missing = append(missing, notListed("cluster images", err))
	} else {
		for i := range cluster.Items {
			images = append(images, cluster.Items[i].AsImage())
		}
	}
	slices.SortFunc(images, func(a, b *vmv1alpha1.VirtualMachineImage) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Namespace, b.Namespace))
	})
	return images, missing
}

// notListed wraps err. It keeps a missing permission recognizable for allForbidden.
func notListed(what string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("listing %s: %w", what, err)
	}
	return fmt.Errorf("listing %s: %s", what, cli.Reason(err))
}

// allForbidden reports whether all errors are missing permissions.
func allForbidden(all []error) bool {
	return !slices.ContainsFunc(all, func(err error) bool { return !apierrors.IsForbidden(err) })
}

func printImages(out io.Writer, images []*vmv1alpha1.VirtualMachineImage, namespaces bool) error {
	if len(images) == 0 {
		_, err := fmt.Fprintln(out, "No images.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	header := []string{"NAME", "KIND", "READY", "GUEST", "FIRMWARE", "DISK", "LOCATION"}
	if namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	cli.Row(w, header...)
	for _, i := range images {
		_, where := i.Spec.Location()
		cells := []string{i.Name, KindOfImage(i), i.Status.Readiness(), i.Status.GuestID, string(i.Status.Firmware), cli.BytesOf(i.Status.BootDiskCapacity()), where}
		if namespaces {
			cells = append([]string{i.Namespace}, cells...)
		}
		cli.Row(w, cells...)
	}
	return w.Flush()
}

// KindOfImage returns the kind for spec.image.
func KindOfImage(i *vmv1alpha1.VirtualMachineImage) string {
	if i.Namespace == "" {
		return vmv1alpha1.ClusterImageKind
	}
	return vmv1alpha1.ImageKind
}
