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
	// maxFileName is the maximum length of a file name on common file systems, in bytes.
	maxFileName = 255
)

// openOVA indexes the archive without extracting it.
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
				return fmt.Errorf("%s has two descriptors, %s and %s, expected one", file, descriptor.Name, f.Name)
			}
			descriptor = f
		}
	}
	if descriptor == nil {
		return fmt.Errorf("%s is not an OVA: it contains no *.ovf file", file)
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

// index lists the files of a tar archive. tar.Reader reads only the header of an entry, so the content begins at the
// current position.
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
			return nil, errors.New("the archive is truncated")
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
			return nil, fmt.Errorf("the archive contains file %q twice", name)
		case h.Typeflag != tar.TypeReg || h.PAXRecords["GNU.sparse.major"] != "" || h.PAXRecords["GNU.sparse.map"] != "":
			return nil, fmt.Errorf("entry %q of the archive is not a regular file", h.Name)
		case h.Size > archive.Size-at:
			return nil, fmt.Errorf("the archive is truncated: %s lacks %d bytes", name, h.Size-(archive.Size-at))
		}
		seen[name] = true
		files = append(files, &File{Name: name, Size: h.Size, content: io.NewSectionReader(archive.content, at, h.Size)})
	}
}

// local returns the cleaned name of a file relative to the package. It rejects URLs and names that lead out of the
// package.
func local(name string) (string, error) {
	clean := path.Clean(name)
	switch {
	case name == "" || clean == "." || strings.ContainsRune(name, '\\') || strings.Contains(name, "://") || !filepath.IsLocal(filepath.FromSlash(clean)):
		return "", fmt.Errorf("%q is not a valid file name: it must be relative and inside the package", name)
	case len(path.Base(clean)) > maxFileName:
		return "", fmt.Errorf("%q is not a valid file name: %s", name[:40]+"…", validation.MaxLenError(maxFileName))
	}
	return clean, nil
}
