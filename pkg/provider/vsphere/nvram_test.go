// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// size returns the size of a file in bytes, or -1 if the file does not exist.
func (f datastoreFiles) size(dir, name string) int64 {
	f.t.Helper()
	b, err := f.ds.Browser(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	task, err := b.SearchDatastore(f.t.Context(), f.ds.Path(dir), &vimtypes.HostDatastoreBrowserSearchSpec{
		MatchPattern: []string{name}, Details: &vimtypes.FileQueryFlags{FileSize: true},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	info, err := task.WaitForResult(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, file := range info.Result.(vimtypes.HostDatastoreBrowserSearchResults).File {
		return file.GetFileInfo().FileSize
	}
	return -1
}

// A guest that was installed for EFI may need the boot entries that its installer has written to the NVRAM.
func TestFastDeploy_CopiesTheNVRAMOfTheImage(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	client := rest.NewClient(simulated.Operator(t, ready).Client)
	if err := client.Login(t.Context(), url.UserPassword(vcenter.OperatorUsername, vcenter.DefaultPassword)); err != nil {
		t.Fatal(err)
	}
	if err := contentlibrary.AddWithNVRAM(t.Context(), client, "efi"); err != nil {
		t.Fatal(err)
	}
	f := datastoreOf(t, ready)
	p := startFiles(t, ready)
	cache := copiesAt(t, p, vmv1alpha1.ContentLibraryImageSource{Library: "slipway", Item: "efi"}, ssd)
	l := newLoop(t, p)
	for _, mode := range []vmv1alpha1.FastDeployMode{vmv1alpha1.FastDeployDirect, vmv1alpha1.FastDeployLinked, vmv1alpha1.FastDeployOff} {
		t.Run(string(mode), func(t *testing.T) {
			f, l := datastoreFiles{t, f.ds, f.dc}, &loop{t: t, p: l.p, wake: l.wake}
			name := "web-" + string(mode)
			req := fastRequest(name, mode, cache)
			req.Image.Spec.ContentLibrary.Item = "efi"
			l.until("the VM runs", isRunning(req), req)
			file := ""
			vm := inVCenter(t, ready)["team-a/"+name]
			if file = observe.ExtraConfig(&vm, "nvram"); strings.HasPrefix(file, "ovf:") {
				t.Errorf("the VM has NVRAM file %q, which is a path in the descriptor", file)
			}
			if mode == vmv1alpha1.FastDeployOff {
				return // vSphere copies the file from the item.
			}
			if got := f.size(string(req.VM.UID), name+".nvram"); got != int64(len(contentlibrary.NVRAM)) || file != name+".nvram" {
				t.Errorf("the file has %d bytes and the VM's nvram setting is %q; want %d bytes and %s.nvram", got, file, len(contentlibrary.NVRAM), name)
			}
			l.remove(req)
			if left := f.list(string(req.VM.UID)); left != nil {
				t.Errorf("the directory of the VM still contains %q", left)
			}
		})
	}
}
