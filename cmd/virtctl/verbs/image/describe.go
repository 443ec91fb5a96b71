// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func newImageDescribeCommand(f command) *cobra.Command {
	return &cobra.Command{
		Use:   "describe [KIND/]IMAGE",
		Short: "Show the hardware, disks, networks and OVF properties of an image",
		Long: "Show the hardware, disks and networks of an image, and the OVF properties that spec.bootstrap.vAppConfig can set.\n" +
			"KIND is VirtualMachineImage (default) or ClusterVirtualMachineImage, as in spec.image.kind.",
		Example: fmt.Sprintf("  %[1]s image describe photon-5\n  %[1]s image describe ClusterVirtualMachineImage/photon-5", f.Program),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, err := cli.ImageRef(args[0])
			if err != nil {
				return err
			}
			client, namespace, err := f.Client()
			if err != nil {
				return err
			}
			image, err := (&cli.ClusterReader{Client: client}).Image(cmd.Context(), namespace, ref)
			if err != nil {
				return fmt.Errorf("reading %s %q: %s", cmp.Or(ref.Kind, vmv1alpha1.DefaultImageKind), ref.Name, cli.Reason(err))
			}
			return describeImage(f.Streams.Out, image)
		},
	}
}

func describeImage(out io.Writer, i *vmv1alpha1.VirtualMachineImage) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	source, where := i.Spec.Location()
	for _, line := range [][2]string{
		{"Name", i.Name}, {"Namespace", i.Namespace}, {"Kind", KindOfImage(i)}, {source, where},
		{"Guest", i.Status.GuestID}, {"Firmware", firmwareOf(&i.Status)}, {"Hardware", i.Status.HardwareVersionName()},
		{"Size", cli.BytesOf(i.Status.ContentSize)}, {"Version", i.Status.ContentVersion}, {"Networks", strings.Join(i.Status.Networks, ", ")},
		{"vCenters", strings.Join(i.Status.VCenters, ", ")},
	} {
		if line[1] != "" {
			cli.Row(w, line[0]+":", line[1])
		}
	}
	section(w, len(i.Status.Conditions), "CONDITION", "STATUS", "REASON", "MESSAGE")
	for _, c := range i.Status.Conditions {
		cli.Row(w, c.Type, string(c.Status), c.Reason, c.Message)
	}
	section(w, len(i.Status.Disks), "DISK", "CAPACITY")
	for _, d := range i.Status.Disks {
		cli.Row(w, d.Name, cli.BytesOf(d.Capacity))
	}
	section(w, len(i.Status.Properties), "PROPERTY", "TYPE", "REQUIRED", "DEFAULT", "LABEL")
	for _, p := range i.Status.Properties {
		cli.Row(w, p.Key, p.Type, fmt.Sprintf("%t", p.Required), p.Default, p.Label)
	}
	return w.Flush()
}

func firmwareOf(s *vmv1alpha1.VirtualMachineImageStatus) string {
	if s.SecureBoot != nil && *s.SecureBoot {
		return string(s.Firmware) + " with secure boot"
	}
	return string(s.Firmware)
}

// section begins a table of n rows with its own column widths.
func section(w *tabwriter.Writer, n int, header ...string) {
	if n > 0 {
		_ = w.Flush() // the last flush returns the error
		fmt.Fprintln(w)
		cli.Row(w, header...)
	}
}
