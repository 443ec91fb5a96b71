// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxDescriptor is the largest descriptor that is read, in bytes: what is shown of images
// has the same bound.
const maxDescriptor = 4 << 20

// envelope is as much of a descriptor as says which files there are (DSP0243 7.1).
type envelope struct {
	XMLName xml.Name `xml:"Envelope"`
	Files   []struct {
		Href      string `xml:"href,attr"`
		Size      string `xml:"size,attr"`
		ChunkSize string `xml:"chunkSize,attr"`
	} `xml:"References>File"`
	System     *struct{} `xml:"VirtualSystem"`
	Collection *struct{} `xml:"VirtualSystemCollection"`
}

// openOVF opens a descriptor, with the files of its directory that it names.
func (i *Image) openOVF(path string) error {
	descriptor, err := i.add(path)
	if err != nil {
		return err
	}
	return i.assemble(filepath.Dir(path), descriptor, func(name string) (*File, error) { return i.add(filepath.Join(filepath.Dir(path), name)) })
}

// assemble finds the files that the descriptor names, and the manifest beside it.
func (i *Image) assemble(where string, descriptor *File, find func(name string) (*File, error)) error {
	i.Type, i.Files = TypeOVF, []*File{descriptor}
	e, err := parse(descriptor)
	if err != nil {
		return fmt.Errorf("descriptor %s: %w", descriptor.Name, err)
	}
	have := map[string]bool{descriptor.Name: true}
	for _, ref := range e.Files {
		if err := plain(ref.Href); err != nil {
			return fmt.Errorf("descriptor %s: reference to a file: %w", descriptor.Name, err)
		}
		if have[ref.Href] {
			continue
		}
		have[ref.Href] = true
		if ref.ChunkSize != "" {
			return fmt.Errorf("descriptor %s: file %s is in chunks, which is not supported: join them with ovftool", descriptor.Name, ref.Href)
		}
		f, err := find(ref.Href)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("descriptor %s names the file %s, which is not in %s", descriptor.Name, ref.Href, where)
		}
		if err != nil {
			return fmt.Errorf("file %s of descriptor %s: %w", ref.Href, descriptor.Name, err)
		}
		if size, err := strconv.ParseInt(ref.Size, 10, 64); err == nil && size > f.Size {
			return fmt.Errorf("file %s is cut short: it has %d bytes, and descriptor %s says %d", f.Name, f.Size, descriptor.Name, size)
		}
		i.Files = append(i.Files, f)
	}
	manifest, err := find(strings.TrimSuffix(descriptor.Name, filepath.Ext(descriptor.Name)) + ".mf")
	if errors.Is(err, os.ErrNotExist) {
		manifest, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("manifest of descriptor %s: %w", descriptor.Name, err)
	}
	return i.expect(manifest)
}

func parse(descriptor *File) (*envelope, error) {
	if descriptor.Size > maxDescriptor {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are read", descriptor.Size, maxDescriptor)
	}
	e := &envelope{}
	switch err := xml.NewDecoder(io.LimitReader(descriptor.Reader(), maxDescriptor)).Decode(e); {
	case err != nil:
		return nil, fmt.Errorf("it is no OVF: %w", err)
	case len(e.Files) > maxEntries:
		return nil, fmt.Errorf("it names %d files, and at most %d can be imported", len(e.Files), maxEntries)
	case e.System == nil && e.Collection == nil:
		return nil, errors.New("it describes no virtual machine")
	}
	return e, nil
}
