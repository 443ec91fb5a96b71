// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
)

// OVA returns an archive of the published item under another name, with its manifest.
func OVA(name string) ([]byte, error) {
	ovf := []byte(strings.ReplaceAll(string(descriptor), Item, name))
	disk, err := emptyDisk(name + "-disk1.vmdk")
	if err != nil {
		return nil, fmt.Errorf("make the disk of %s: %w", name, err)
	}
	manifest := fmt.Sprintf("SHA256(%[1]s.ovf)= %[2]x\nSHA256(%[1]s-disk1.vmdk)= %[3]x\n", name, sha256.Sum256(ovf), sha256.Sum256(disk))
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range []struct {
		name    string
		content []byte
	}{{name + ".ovf", ovf}, {name + ".mf", []byte(manifest)}, {name + "-disk1.vmdk", disk}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Size: int64(len(f.content)), Mode: 0o644}); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("archive %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("archive %s: %w", name, err)
	}
	return out.Bytes(), nil
}
