// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/cmd/virtctl/imagefile"
)

const descriptorText = `<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1">
<References><File ovf:href="disk1.vmdk" ovf:id="file1" ovf:size="9"/></References><VirtualSystem ovf:id="vm"/></Envelope>`

// imageEntry is a file of an OVA or a directory, and what its header says else.
type imageEntry struct {
	name, content string
	change        func(*tar.Header)
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// goodImage is an image that nothing is wrong with.
func goodImage() []imageEntry {
	return []imageEntry{
		{name: "vm.ovf", content: descriptorText},
		{name: "vm.mf", content: fmt.Sprintf("SHA256(vm.ovf)= %s\nSHA256(disk1.vmdk)= %s\n", sha256Of(descriptorText), sha256Of("some disk"))},
		{name: "disk1.vmdk", content: "some disk"},
	}
}

// imageWith replaces or adds a file, or removes it when it has no content.
func imageWith(name, content string) []imageEntry {
	entries := []imageEntry{}
	for _, e := range goodImage() {
		if e.name != name {
			entries = append(entries, e)
		}
	}
	if content == "" {
		return entries
	}
	return append(entries, imageEntry{name: name, content: content})
}

func ovaOf(t *testing.T, entries []imageEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o600}
		if e.change != nil {
			e.change(h)
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, e.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func imageFile(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func imageDirectory(t *testing.T, entries []imageEntry) string {
	t.Helper()
	dir := t.TempDir()
	for _, e := range entries {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, e.name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.name), []byte(e.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestImageFile_OpensAllKindsOfImages(t *testing.T) {
	iso := make([]byte, 20*2048)
	copy(iso[16*2048:], "\x01CD001\x01")
	dir := imageDirectory(t, goodImage())
	for name, tc := range map[string]struct {
		path, kind, name string
		files            []string
	}{
		"an OVA":       {imageFile(t, "photon.ova", ovaOf(t, goodImage())), imagefile.TypeOVF, "photon", []string{"vm.ovf", "disk1.vmdk"}},
		"a directory":  {dir, imagefile.TypeOVF, "vm", []string{"vm.ovf", "disk1.vmdk"}},
		"a descriptor": {filepath.Join(dir, "vm.ovf"), imagefile.TypeOVF, "vm", []string{"vm.ovf", "disk1.vmdk"}},
		"an ISO":       {imageFile(t, "tools.ISO", iso), imagefile.TypeISO, "tools", []string{"tools.ISO"}},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := imagefile.Open(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			read := int64(0)
			if err := i.Verify(t.Context(), func(n int64) { read += n }); err != nil {
				t.Fatal(err)
			}
			if i.Type != tc.kind || i.Name != tc.name || read != i.Size() {
				t.Errorf("type %s, name %s, %d of %d bytes read; want %s, %s and all", i.Type, i.Name, read, i.Size(), tc.kind, tc.name)
			}
			var names []string
			for _, f := range i.Files {
				names = append(names, f.Name)
				content, err := io.ReadAll(f.Reader())
				if err != nil || f.Digest != (imagefile.Digest{Algorithm: "SHA256", Hex: sha256Of(string(content))}) {
					t.Errorf("%s has digest %v, %v; want that of its content", f.Name, f.Digest, err)
				}
			}
			if diff := cmp.Diff(tc.files, names); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// folderText is a descriptor of files in folders, two of which have one name.
const folderText = `<?xml version="1.0"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1"><!-- href="a/disk.vmdk" -->
<References><File ovf:id="file1" ovf:href = 'a/disk.vmdk'/><File ovf:href="b/disk.vmdk" ovf:id="file2"/><File ovf:href="./b/disk.vmdk" ovf:id="file3"/><File ovf:href="x &amp; y.iso" ovf:id="file4"/></References>
<VirtualSystem ovf:id="vm"/></Envelope>`

// inFolders is an image with its files in folders, each with a digest in the manifest.
func inFolders(under string) []imageEntry {
	entries := []imageEntry{{name: "vm.ovf", content: folderText}, {name: "a/disk.vmdk", content: "one"}, {name: "b/disk.vmdk", content: "two"}, {name: "x & y.iso", content: "three"}}
	manifest := ""
	for i := range entries {
		manifest += fmt.Sprintf("SHA256(%s)= %s\n", entries[i].name, sha256Of(entries[i].content))
		entries[i].name = under + entries[i].name
	}
	return append(entries, imageEntry{name: under + "vm.mf", content: manifest})
}

func TestImageFile_ReadsFilesInFoldersAndFlattensTheirNames(t *testing.T) {
	withFolder := append([]imageEntry{{name: "./", change: func(h *tar.Header) { h.Typeflag = tar.TypeDir }}}, inFolders("./")...)
	for name, path := range map[string]string{
		"an OVA": imageFile(t, "vm.ova", ovaOf(t, inFolders(""))), "an OVA of the directory": imageFile(t, "vm.ova", ovaOf(t, withFolder)),
		"an OVA in a folder": imageFile(t, "vm.ova", ovaOf(t, inFolders("vm/"))), "a directory": imageDirectory(t, inFolders("")),
	} {
		t.Run(name, func(t *testing.T) {
			i, err := imagefile.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			if err := i.Verify(t.Context(), func(int64) {}); err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, f := range i.Files {
				content, err := io.ReadAll(f.Reader())
				if err != nil || f.Digest.Hex != sha256Of(string(content)) {
					t.Errorf("%s has digest %v, %v; want that of its content", f.Name, f.Digest, err)
				}
				got[f.Name] = string(content)
			}
			text := strings.NewReplacer(`ovf:href = 'a/disk.vmdk'`, `ovf:href = "disk.vmdk"`, `"b/disk.vmdk"`, `"b-disk.vmdk"`, `"./b/disk.vmdk"`, `"b-disk.vmdk"`).Replace(folderText)
			if diff := cmp.Diff(map[string]string{"vm.ovf": text, "disk.vmdk": "one", "b-disk.vmdk": "two", "x & y.iso": "three"}, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if len(i.Unchecked) > 0 {
				t.Errorf("unchecked are %q", i.Unchecked)
			}
		})
	}
}

func TestImageFile_ComparesADescriptorWithFoldersWithItsManifest(t *testing.T) {
	entries := inFolders("")
	entries[0].content += "\n"
	if _, err := imagefile.Open(imageDirectory(t, entries)); err == nil || !strings.Contains(err.Error(), "vm.ovf is damaged or was changed: its SHA256 is") {
		t.Errorf("error %v, want that the descriptor differs", err)
	}
}

func TestImageFile_RejectsFoldersThatLeaveTheDirectory(t *testing.T) {
	dir := imageDirectory(t, inFolders(""))
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(t.TempDir(), "outside")); err != nil {
		t.Fatal(err)
	}
	outside := imageDirectory(t, []imageEntry{{name: "disk.vmdk", content: "one"}})
	if err := os.Symlink(outside, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := imagefile.Open(dir); err == nil || !strings.Contains(err.Error(), "path escapes from parent") {
		t.Errorf("error %v, want that the link is refused", err)
	}
}

func TestImageFile_ReportsFilesWithoutADigest(t *testing.T) {
	i, err := imagefile.Open(imageDirectory(t, imageWith("vm.mf", "SHA1(vm.ovf) = "+strings.Repeat("0", 40))))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	if diff := cmp.Diff([]string{"disk1.vmdk"}, i.Unchecked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestImageFile_RejectsInvalidImages(t *testing.T) {
	whole := ovaOf(t, goodImage())
	changed := func(change func(*tar.Header)) []byte {
		entries := goodImage()
		entries[2].change = change
		if change != nil {
			entries[2].content = ""
		}
		return ovaOf(t, entries)
	}
	for name, tc := range map[string]struct {
		path, want string
	}{
		"no such file":               {filepath.Join(t.TempDir(), "none.ova"), "no such file"},
		"another kind of file":       {imageFile(t, "vm.vmdk", []byte("x")), "is not supported; supported files are *.ova, *.ovf,"},
		"a directory without an OVF": {t.TempDir(), "has 0 *.ovf files, expected one"},
		"no archive":                 {imageFile(t, "vm.ova", bytes.Repeat([]byte("x"), 2000)), "cannot be read as a tar archive"},
		"an archive without an OVF":  {imageFile(t, "vm.ova", ovaOf(t, imageWith("vm.ovf", ""))), "is not an OVA: it contains no *.ovf file"},
		"an empty archive":           {imageFile(t, "vm.ova", nil), "is not an OVA: it contains no *.ovf file"},
		"two descriptors":            {imageFile(t, "vm.ova", ovaOf(t, imageWith("other.ovf", descriptorText))), "two descriptors, vm.ovf and other.ovf"},
		"a file twice":               {imageFile(t, "vm.ova", ovaOf(t, append(goodImage(), goodImage()[2]))), `the archive contains file "disk1.vmdk" twice`},
		"an archive cut in a file":   {imageFile(t, "vm.ova", whole[:bytes.Index(whole, []byte("some disk"))+4]), "the archive is truncated: disk1.vmdk lacks 5 bytes"},
		"an archive cut in a header": {imageFile(t, "vm.ova", whole[:700]), "the archive is truncated"},
		"a path out of the archive":  {imageFile(t, "vm.ova", ovaOf(t, imageWith("../../etc/passwd", "x"))), `"../../etc/passwd" is not a valid file name`},
		"a path of Windows":          {imageFile(t, "vm.ova", ovaOf(t, imageWith(`..\evil.vmdk`, "x"))), "is not a valid file name"},
		"a link": {imageFile(t, "vm.ova", changed(func(h *tar.Header) { h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, "/etc/passwd", 0 })),
			`entry "disk1.vmdk" of the archive is not a regular file`},
		"a missing disk":              {imageDirectory(t, imageWith("disk1.vmdk", "")), "refers to file disk1.vmdk, which is not in"},
		"a missing disk of an OVA":    {imageFile(t, "vm.ova", ovaOf(t, imageWith("disk1.vmdk", ""))), "refers to file disk1.vmdk, which is not in"},
		"a disk that is cut short":    {imageDirectory(t, imageWith("disk1.vmdk", "some")), "disk1.vmdk is truncated: it has 4 bytes"},
		"a disk elsewhere":            {imageDirectory(t, imageWith("vm.ovf", strings.Replace(descriptorText, "disk1.vmdk", "/etc/shadow", 1))), `"/etc/shadow" is not a valid file name`},
		"a disk of the web":           {imageDirectory(t, imageWith("vm.ovf", strings.Replace(descriptorText, "disk1.vmdk", "http://x/d.vmdk", 1))), "is not a valid file name"},
		"a disk in chunks":            {imageDirectory(t, imageWith("vm.ovf", strings.Replace(descriptorText, "ovf:id=", `ovf:chunkSize="4" ovf:id=`, 1))), "is split into chunks"},
		"a descriptor that is no XML": {imageDirectory(t, imageWith("vm.ovf", "MZ")), "not a valid OVF descriptor"},
		"another XML":                 {imageDirectory(t, imageWith("vm.ovf", "<html/>")), "not a valid OVF descriptor"},
		"no virtual machine":          {imageDirectory(t, imageWith("vm.ovf", "<Envelope/>")), "it contains no virtual machine"},
		"a huge descriptor":           {imageDirectory(t, imageWith("vm.ovf", descriptorText+strings.Repeat(" ", 4<<20))), "at most 4194304 are supported"},
		"an invalid manifest":         {imageDirectory(t, imageWith("vm.mf", "hello")), "line 1: must have the form"},
		"a digest of another length":  {imageDirectory(t, imageWith("vm.mf", "SHA256(vm.ovf)= abcd")), "SHA256 digests have 64 digits, got 4"},
		"an unknown algorithm":        {imageDirectory(t, imageWith("vm.mf", "MD5(vm.ovf)= "+strings.Repeat("0", 32))), `algorithm "MD5" is not supported`},
		"two digests of a file":       {imageDirectory(t, imageWith("vm.mf", "SHA1(a)= "+strings.Repeat("0", 40)+"\nSHA1(a)= "+strings.Repeat("1", 40))), "line 2: duplicate digest of a"},
		"a short ISO":                 {imageFile(t, "vm.iso", []byte("CD001")), "is not an ISO 9660 or UDF image"},
	} {
		t.Run(name, func(t *testing.T) {
			i, err := imagefile.Open(tc.path)
			if err == nil {
				_ = i.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestImageFile_VerifyDetectsDamagedFiles(t *testing.T) {
	for name, path := range map[string]string{
		"of a directory": imageDirectory(t, imageWith("disk1.vmdk", "Some disk")), "of an OVA": imageFile(t, "vm.ova", ovaOf(t, imageWith("disk1.vmdk", "Some disk"))),
	} {
		i, err := imagefile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := i.Verify(t.Context(), func(int64) {}); err == nil || !strings.Contains(err.Error(), "disk1.vmdk is damaged or was changed: its SHA256 is") {
			t.Errorf("%s: error %v", name, err)
		}
		_ = i.Close()
	}
}
