// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// maxEntries bounds the files of an OVA: a VM has at most 256 disks.
	maxEntries = 512
	// maxFileName is the longest name of a file, in bytes, that file systems have.
	maxFileName = 255
)

// openOVA indexes the archive, which stays where it is: of each file its place is known.
func (i *Image) openOVA(path string) error {
	archive, err := i.add(path)
	if err != nil {
		return err
	}
	entries, err := index(archive)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var descriptor *File
	for _, f := range entries {
		if strings.EqualFold(filepath.Ext(f.Name), ".ovf") {
			if descriptor != nil {
				return fmt.Errorf("%s has two descriptors, %s and %s, and must have one", path, descriptor.Name, f.Name)
			}
			descriptor = f
		}
	}
	if descriptor == nil {
		return fmt.Errorf("%s is no OVA: there is no file *.ovf in it", path)
	}
	byName := map[string]*File{}
	for _, f := range entries {
		byName[f.Name] = f
	}
	return i.assemble(path, descriptor, func(name string) (*File, error) {
		if f := byName[name]; f != nil {
			return f, nil
		}
		return nil, os.ErrNotExist
	})
}

// index lists the files of a tar archive. tar.Reader reads no further than the header of
// an entry, so that its content begins where the reader stands.
func index(archive *File) ([]*File, error) {
	source := archive.Reader()
	entries := tar.NewReader(source)
	seen := map[string]bool{}
	var files []*File
	for {
		h, err := entries.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errors.New("the archive is cut short")
		case err != nil:
			return nil, fmt.Errorf("it cannot be read as a tar archive, which an OVA is: %w", err)
		case len(files) == maxEntries:
			return nil, fmt.Errorf("the archive has more than %d files", maxEntries)
		}
		if err := plain(h.Name); err != nil {
			return nil, err
		}
		at, err := source.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		switch {
		case seen[h.Name]:
			return nil, fmt.Errorf("the archive has two files %q", h.Name)
		case h.Typeflag != tar.TypeReg || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
			return nil, fmt.Errorf("entry %q of the archive is no plain file", h.Name)
		case h.Size > archive.Size-at:
			return nil, fmt.Errorf("the archive is cut short: of %s %d bytes are missing", h.Name, h.Size-(archive.Size-at))
		}
		seen[h.Name] = true
		files = append(files, &File{Name: h.Name, Size: h.Size, content: io.NewSectionReader(archive.content, at, h.Size)})
	}
}

// plain refuses what is no name of a file in the same directory.
func plain(name string) error {
	switch {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\"):
		return fmt.Errorf("%q is no name of a file: it must have no path", name)
	case len(name) > maxFileName:
		return fmt.Errorf("%q is no name of a file: %s", name[:40]+"…", validation.MaxLenError(maxFileName))
	}
	return nil
}
