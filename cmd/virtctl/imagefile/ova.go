// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
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
func (i *Image) openOVA(file string) error {
	archive, err := i.add(file)
	if err != nil {
		return err
	}
	entries, err := index(archive)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var descriptor *File
	for _, f := range entries {
		if strings.EqualFold(filepath.Ext(f.Name), ".ovf") {
			if descriptor != nil {
				return fmt.Errorf("%s has two descriptors, %s and %s, and must have one", file, descriptor.Name, f.Name)
			}
			descriptor = f
		}
	}
	if descriptor == nil {
		return fmt.Errorf("%s is no OVA: there is no file *.ovf in it", file)
	}
	byName := map[string]*File{}
	for _, f := range entries {
		byName[f.Name] = f
	}
	return i.assemble(file, descriptor, func(name string) (*File, error) {
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
		if h.Typeflag == tar.TypeDir {
			continue
		}
		name, err := local(h.Name)
		if err != nil {
			return nil, err
		}
		at, err := source.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		switch {
		case seen[name]:
			return nil, fmt.Errorf("the archive has two files %q", name)
		case h.Typeflag != tar.TypeReg || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
			return nil, fmt.Errorf("entry %q of the archive is no plain file", h.Name)
		case h.Size > archive.Size-at:
			return nil, fmt.Errorf("the archive is cut short: of %s %d bytes are missing", name, h.Size-(archive.Size-at))
		}
		seen[name] = true
		files = append(files, &File{Name: name, Size: h.Size, content: io.NewSectionReader(archive.content, at, h.Size)})
	}
}

// local returns the name of a file of the package, relative to the package and without "." and
// empty parts. It refuses what leads out of the package, and URLs.
func local(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case name == "" || clean == "." || strings.ContainsRune(name, '\\') || strings.Contains(name, "://") || !filepath.IsLocal(filepath.FromSlash(clean)):
		return "", fmt.Errorf("%q is no name of a file in the package: it must be relative and must not lead out of it", name)
	case len(path.Base(clean)) > maxFileName:
		return "", fmt.Errorf("%q is no name of a file: %s", name[:40]+"…", validation.MaxLenError(maxFileName))
	}
	return clean, nil
}
