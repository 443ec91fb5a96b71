// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Types of images, as in content libraries.
const (
	TypeOVF = "ovf"
	TypeISO = "iso"
)

// Image is an image on the local disk. It must be closed.
type Image struct {
	// Path is the path that was opened.
	Path string
	// Name is the file name without extension.
	Name string
	// Type is TypeOVF or TypeISO.
	Type string
	// Files are in upload order: first the descriptor, then the other files.
	Files []*File
	// Unchecked are the files that are not in the manifest, or all files without a manifest.
	Unchecked []string

	open []io.Closer
}

// File is one file of an image.
type File struct {
	// Name is the file name without a path.
	Name string
	// listed is the file's name in the manifest, relative to the descriptor.
	listed string
	// Size in bytes.
	Size int64
	// Digest is the digest in the manifest, or one that Verify computes.
	Digest Digest

	content io.ReaderAt
}

// Reader reads the file from its start.
func (f *File) Reader() *io.SectionReader { return io.NewSectionReader(f.content, 0, f.Size) }

// Size returns the size of all files in bytes.
func (i *Image) Size() (sum int64) {
	for _, f := range i.Files {
		sum += f.Size
	}
	return sum
}

// Close closes the files.
func (i *Image) Close() error {
	var errs []error
	for _, c := range i.open {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Open opens an OVA, an OVF descriptor, a directory with one, or an ISO, and checks that it is complete.
func Open(path string) (_ *Image, err error) {
	i := &Image{Path: path}
	defer func() {
		if err != nil {
			_ = i.Close()
		}
	}()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if path, err = onlyDescriptor(path); err != nil {
			return nil, err
		}
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	ending := filepath.Ext(path)
	i.Name = strings.TrimSuffix(filepath.Base(path), ending)
	switch strings.ToLower(ending) {
	case ".ova":
		return i, i.openOVA(path)
	case ".ovf":
		return i, i.openOVF(path)
	case ".iso":
		return i, i.openISO(path)
	}
	return nil, fmt.Errorf("%s is not supported; supported files are *.ova, *.ovf, a directory with one *.ovf, or *.iso", path)
}

// onlyDescriptor finds the single descriptor in a directory.
func onlyDescriptor(dir string) (string, error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range all {
		if strings.EqualFold(filepath.Ext(e.Name()), ".ovf") {
			found = append(found, e.Name())
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("directory %s has %d *.ovf files, expected one: specify the file instead", dir, len(found))
	}
	return filepath.Join(dir, found[0]), nil
}

// addFrom opens a file by its name relative to a directory. Symbolic links must not lead out of the directory.
func (i *Image) addFrom(dir, name string) (*File, error) {
	if path.Dir(name) == "." {
		return i.add(filepath.Join(dir, name))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	i.open = append(i.open, f)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return &File{Name: name, Size: info.Size(), content: f}, nil
}

// add opens a file of a directory.
func (i *Image) add(file string) (*File, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	i.open = append(i.open, f)
	return &File{Name: filepath.Base(file), Size: info.Size(), content: f}, nil
}

// openISO checks for a volume descriptor in sector 16, with which both supported file systems begin (ECMA-119 8.1.2,
// ECMA-167 2/9.1.2).
func (i *Image) openISO(path string) error {
	const sector, identifier = 2048, 5
	i.Type = TypeISO
	f, err := i.add(path)
	if err != nil {
		return err
	}
	id := make([]byte, identifier)
	if _, err := f.content.ReadAt(id, 16*sector+1); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	switch string(id) {
	case "CD001", "BEA01":
		i.Files, i.Unchecked = []*File{f}, []string{f.Name}
		return nil
	}
	return fmt.Errorf("%s is not an ISO 9660 or UDF image, or is truncated", path)
}
