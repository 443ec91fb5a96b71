// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"

	"github.com/slipway-dev/slipway/cmd/virtctl/imagefile"
	"github.com/slipway-dev/slipway/cmd/virtctl/login"
	"github.com/slipway-dev/slipway/cmd/virtctl/upload"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// uploadWorld is a vCenter, and what an upload says.
type uploadWorld struct {
	t    *testing.T
	vc   *vcenter.Server
	url  *url.URL
	said []string
}

func newUploadWorld(t *testing.T) *uploadWorld {
	t.Helper()
	vc, err := vcenter.Start(t.Context(), vcenter.Options{Listen: "127.0.0.1:0", Username: vcenter.DefaultUsername, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vc.Stop(context.WithoutCancel(t.Context())) })
	u, err := url.Parse(vc.Ready().URL)
	if err != nil {
		t.Fatal(err)
	}
	return &uploadWorld{t: t, vc: vc, url: u}
}

// uploadedImage is one of a descriptor and disks of given contents.
func uploadedImage(t *testing.T, disks ...string) *imagefile.Image {
	t.Helper()
	dir, refs := t.TempDir(), ""
	for n, content := range disks {
		name := fmt.Sprintf("disk%d.vmdk", n+1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		refs += fmt.Sprintf(`<File ovf:href=%q ovf:id="file%d"/>`, name, n+1)
	}
	descriptor := `<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"><References>` + refs +
		`</References><VirtualSystem ovf:id="vm"><Info/></VirtualSystem></Envelope>`
	if err := os.WriteFile(filepath.Join(dir, "vm.ovf"), []byte(descriptor), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := imagefile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	if err := i.Verify(t.Context(), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	return i
}

func (w *uploadWorld) upload(i *imagefile.Image, change func(*upload.Upload)) *upload.Upload {
	u := &upload.Upload{
		Server:  login.Server{URL: w.url, User: url.UserPassword(vcenter.DefaultUsername, vcenter.DefaultPassword), Thumbprint: w.vc.Ready().Thumbprint},
		Library: contentlibrary.Library, Item: "mine", Image: i, Sent: func(int64) {},
		Say: func(format string, args ...any) { w.said = append(w.said, fmt.Sprintf(format, args...)) },
	}
	if change != nil {
		change(u)
	}
	w.t.Cleanup(u.Close)
	return u
}

func (w *uploadWorld) run(i *imagefile.Image, change func(*upload.Upload)) (upload.Result, error) {
	return w.upload(i, change).Run(w.t.Context())
}

// libraries returns a client of the content libraries.
func (w *uploadWorld) libraries() *library.Manager {
	w.t.Helper()
	server := w.upload(nil, nil).Server
	transport, err := server.Transport()
	if err != nil {
		w.t.Fatal(err)
	}
	client := rest.NewClient(&vim25.Client{Client: transport})
	if err := client.Login(w.t.Context(), server.User); err != nil {
		w.t.Fatal(err)
	}
	return library.NewManager(client)
}

// files are the names and sizes of those of an item, nil for none.
func (w *uploadWorld) files(item string) []string {
	w.t.Helper()
	m := w.libraries()
	found, err := m.FindLibraryItems(w.t.Context(), library.FindItem{Name: item})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, id := range found {
		files, err := m.ListLibraryItemFiles(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, fmt.Sprintf("%s %d", f.Name, *f.Size))
		}
	}
	slices.Sort(names)
	return names
}

func (w *uploadWorld) saidThat(text string) bool {
	return slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, text) })
}

func TestUpload_UploadsAnImageAndReplacesItsVersion(t *testing.T) {
	w := newUploadWorld(t)
	arrived := int64(0)
	i := uploadedImage(t, "one", "two")
	first, err := w.run(i, func(u *upload.Upload) { u.Sent = func(n int64) { arrived = n } })
	if err != nil {
		t.Fatal(err)
	}
	if arrived != i.Size() || first.Item == "" || first.ContentVersion == "" {
		t.Errorf("%d of %d bytes were reported, result %+v", arrived, i.Size(), first)
	}
	if _, err := w.run(uploadedImage(t, "other"), nil); err == nil || !strings.Contains(err.Error(), `has an item "mine": use --update`) {
		t.Errorf("a name that is taken: %v", err)
	}
	second, err := w.run(uploadedImage(t, "other"), func(u *upload.Upload) { u.Update = true })
	if err != nil {
		t.Fatal(err)
	}
	if second.Item != first.Item || second.ContentVersion == first.ContentVersion {
		t.Errorf("the new version is %+v, want another one of the item of %+v", second, first)
	}
	names := w.files("mine")
	if len(names) != 2 || names[0] != "disk1.vmdk 5" || !strings.HasPrefix(names[1], "vm.ovf ") {
		t.Errorf("the item has %v, want the descriptor and the one disk of the new version", names)
	}
	if n := w.vc.Updates().Sessions(); n != 0 {
		t.Errorf("%d update sessions are left", n)
	}
}

// whenArrived calls do once the descriptor and the first disk have arrived. Progress is reported
// when the last byte was read, and again when vCenter has the file.
func whenArrived(i *imagefile.Image, do func()) func(int64) {
	told := 0
	return func(n int64) {
		if n == i.Files[0].Size+i.Files[1].Size {
			if told++; told == 2 {
				do()
			}
		}
	}
}

func TestUpload_ResumesAfterAnInterruption(t *testing.T) {
	for name, brk := range map[string]func(*uploadWorld){
		"the connection breaks in a file":            func(w *uploadWorld) { w.vc.Updates().CutNext(3) },
		"the login is lost":                          func(w *uploadWorld) { w.vc.Front().DropSessions() },
		"the update session expires in the meantime": func(w *uploadWorld) { w.vc.Updates().ExpireSessions() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newUploadWorld(t)
			i := uploadedImage(t, "one", "the second disk", "three")
			_, err := w.run(i, func(u *upload.Upload) { u.Sent = whenArrived(i, func() { brk(w) }) })
			if err != nil {
				t.Fatalf("the upload ended with %v", err)
			}
			if got := w.files("mine"); len(got) != 4 {
				t.Errorf("the item has %v, want all 4 files", got)
			}
			if !w.saidThat("retrying in 1s") {
				t.Errorf("it said %v, want that it tries again", w.said)
			}
			if want := !strings.Contains(name, "expires"); w.saidThat("disk1.vmdk is already uploaded") != want {
				t.Errorf("it said %v; that the first disk is not sent again: want %v", w.said, want)
			}
		})
	}
}

// A process that was killed has left its session, which the next one finds.
func TestUpload_ResumesInAnotherProcess(t *testing.T) {
	w := newUploadWorld(t)
	i := uploadedImage(t, "one", "two")
	ctx, stop := context.WithCancel(t.Context())
	_, err := w.upload(i, func(u *upload.Upload) { u.Sent = whenArrived(i, stop) }).Run(ctx)
	var interrupted *upload.InterruptedError
	if !errors.As(err, &interrupted) {
		t.Fatalf("error %v, want that it can go on", err)
	}
	if got := w.files("mine"); got != nil {
		t.Errorf("the item shows %v before it is complete", got)
	}
	if _, err := w.run(i, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"resuming the previous upload", "vm.ovf is already uploaded", "disk1.vmdk is already uploaded"}, w.said); diff != "" {
		t.Errorf("said (-want +got):\n%s", diff)
	}
}

func TestUpload_DoesNotReuseFilesOfADifferentImage(t *testing.T) {
	w := newUploadWorld(t)
	first := uploadedImage(t, "one", "two")
	ctx, stop := context.WithCancel(t.Context())
	_, _ = w.upload(first, func(u *upload.Upload) { u.Sent = whenArrived(first, stop) }).Run(ctx)
	if _, err := w.run(uploadedImage(t, "eno"), nil); err != nil {
		t.Fatal(err)
	}
	if w.saidThat("disk1.vmdk is already uploaded") {
		t.Error("another disk of the same name and size was taken for the one that is meant")
	}
}

func TestUpload_ReportsPermanentErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*uploadWorld)
		change  func(*upload.Upload)
		want    string
		left    bool
	}{
		"a library that is not there": {change: func(u *upload.Upload) { u.Library = "none" }, want: `has 0 content libraries "none"`},
		"a wrong password":            {change: func(u *upload.Upload) { u.Server.User = url.UserPassword("x", "y") }, want: "rejected the login of x: wrong user name or password"},
		"a server that is not there":  {change: func(u *upload.Upload) { u.Server.URL = &url.URL{Scheme: "https", Host: "127.0.0.1:1"} }, want: "connection refused"},
		"a certificate that is not trusted": {
			change: func(u *upload.Upload) { u.Server.Thumbprint = strings.Repeat("00:", 19) + "00" }, want: "thumbprint does not match",
		},
		"no privilege":              {prepare: func(w *uploadWorld) { w.vc.Updates().Forbid(true) }, want: "the account lacks a privilege"},
		"no space":                  {prepare: func(w *uploadWorld) { w.vc.Updates().Space(1) }, want: "vCenter rejected vm.ovf: there is not enough space"},
		"a file that is not stored": {prepare: func(w *uploadWorld) { w.vc.Updates().Lose("disk2.vmdk") }, want: "the file disk2.vmdk cannot be stored"},
		"an item of another type": {
			prepare: func(w *uploadWorld) { w.makeISO("mine") }, change: func(u *upload.Upload) { u.Update = true }, want: `has type "iso"`, left: true,
		},
		"another client's update": {prepare: func(w *uploadWorld) {
			if _, err := w.run(uploadedImage(w.t, "one"), nil); err != nil {
				w.t.Fatal(err)
			}
			w.vc.Updates().Busy(w.id("mine"))
		}, change: func(u *upload.Upload) { u.Update = true }, want: "is being changed by another client", left: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newUploadWorld(t)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			_, err := w.run(uploadedImage(t, "one", "two"), tc.change)
			var interrupted *upload.InterruptedError
			if err == nil || !strings.Contains(err.Error(), tc.want) || errors.As(err, &interrupted) {
				t.Errorf("error %v, want one that does not pass: %q", err, tc.want)
			}
			if strings.Contains(fmt.Sprint(err), "{") {
				t.Errorf("error %v is not for people", err)
			}
			if !tc.left && w.id("mine") != "" {
				t.Errorf("an item is left, with %v", w.files("mine"))
			}
		})
	}
}

// id of an item, empty for none.
func (w *uploadWorld) id(name string) string {
	w.t.Helper()
	found, err := w.libraries().FindLibraryItems(w.t.Context(), library.FindItem{Name: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func (w *uploadWorld) makeISO(name string) {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name+".iso")
	content := make([]byte, 20*2048)
	copy(content[16*2048:], "\x01CD001\x01")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	i, err := imagefile.Open(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer i.Close()
	if err := i.Verify(w.t.Context(), func(int64) {}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.run(i, nil); err != nil {
		w.t.Fatal(err)
	}
}
