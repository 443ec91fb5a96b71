// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/cmd/virtctl/cli"
	"github.com/slipway-dev/slipway/cmd/virtctl/imagefile"
	"github.com/slipway-dev/slipway/cmd/virtctl/upload"
)

// maxItemName is the maximum length of an item name, in bytes.
const maxItemName = 255

// imageImport is an import as specified by the flags.
type imageImport struct {
	library, name string
	update, wait  bool
	timeout       time.Duration
	vcenter       cli.VCenterFlags
}

func newImageImportCommand(f command) *cobra.Command {
	var o imageImport
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Upload an OVA, OVF or ISO into a content library of vSphere",
		Long: "Upload an OVA, an OVF with its files (the file *.ovf or its directory), or an ISO into a content library of vSphere. A ContentLibrary\n" +
			"object that publishes the library creates an image of the item. --wait waits for the image.\n\n" +
			"Before the upload, the files are checked for completeness, and their digests are compared with the manifest\n" +
			"(*.mf: SHA1, SHA256 or SHA512). vCenter verifies the digest of each file. Interrupted transfers are retried. The same command\n" +
			"resumes an interrupted upload within five minutes, after which vCenter discards the received files.\n\n" +
			"The command connects to vCenter with your own account, not with that of Slipway: by flags or the environment variables of govc (GOVC_URL,\n" +
			"GOVC_USERNAME, GOVC_PASSWORD, GOVC_INSECURE, GOVC_TLS_CA_CERTS). The account needs the Content Library privileges to add and\n" +
			"update library items.\n\n" +
			"Exit status: 0 imported, 1 failed, 2 interrupted (run the same command to resume), 3 imported, but no image is ready yet.",
		Example: fmt.Sprintf("  export GOVC_URL=vcenter.example.com GOVC_USERNAME=me@vsphere.local GOVC_PASSWORD=...\n"+
			"  %[1]s image import photon-5.ova --library golden --wait\n"+
			"  %[1]s image import ubuntu/ubuntu.ovf --library golden --name ubuntu-24.04 --update\n"+
			"  %[1]s image import tools.iso --library golden", f.Program),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.importImage(cmd.Context(), &o, args[0]) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"ova", "ovf", "iso"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.library, "library", "", "Name of the content library in vSphere (required)")
	flags.StringVar(&o.name, "name", "", "Name of the item (default: the file name without extension)")
	flags.BoolVar(&o.update, "update", false, "If the item exists, replace its content with a new version")
	flags.BoolVar(&o.wait, "wait", false, "Wait until an image of the item is ready")
	flags.DurationVar(&o.timeout, "timeout", 15*time.Minute, "Timeout of --wait")
	o.vcenter.AddFlags(flags)
	_ = cmd.MarkFlagRequired("library")
	_ = cmd.RegisterFlagCompletionFunc("library", f.completeLibraries)
	return cmd
}

func (f command) importImage(ctx context.Context, o *imageImport, path string) error {
	server, err := o.vcenter.Server(ctx, f.Factory)
	if err != nil {
		return err
	}
	if o.wait {
		if err := f.published(ctx, o.library); err != nil {
			return err
		}
	}
	image, err := imagefile.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = image.Close() }()
	o.name = cmp.Or(o.name, image.Name)
	if len(o.name) > maxItemName || cli.Cell(o.name) != o.name {
		return fmt.Errorf("--name %.60q: must be printable text of at most %d bytes", o.name, maxItemName)
	}
	p := f.NewProgress()
	if len(image.Unchecked) > 0 {
		p.Say("no manifest has digests of %s; sending without verification", strings.Join(image.Unchecked, ", "))
	}
	read := int64(0)
	if err := image.Verify(ctx, func(n int64) { read += n; p.At("checking", read, image.Size()) }); err != nil {
		p.End()
		return err
	}
	u := &upload.Upload{
		Server: *server, Library: o.library, Item: o.name, Image: image, Update: o.update, Say: p.Say,
		Sent: func(n int64) { p.At("uploading", n, image.Size()) },
	}
	defer u.Close()
	made, err := u.Run(ctx)
	p.End()
	var interrupted *upload.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		return &cli.ExitError{Code: 2, Err: fmt.Errorf("importing %s: %w; run the same command within five minutes to resume", path, err)}
	case err != nil:
		return fmt.Errorf("importing %s: %w", path, err)
	}
	p.Say("imported %s as item %q of content library %q, version %s", path, o.name, o.library, made.ContentVersion)
	if !o.wait {
		return nil
	}
	return f.waitForImage(ctx, o, made, p)
}
