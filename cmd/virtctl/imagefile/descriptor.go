// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefile

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxDescriptor is the maximum size of a descriptor in bytes, the same as for the display of images.
const maxDescriptor = 4 << 20

// envelope is the part of a descriptor that lists the files (DSP0243 7.1).
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

// openOVF opens a descriptor and the files in its directory that it refers to.
func (i *Image) openOVF(file string) error {
	descriptor, err := i.add(file)
	if err != nil {
		return err
	}
	return i.assemble(filepath.Dir(file), descriptor, func(name string) (*File, error) { return i.addFrom(filepath.Dir(file), name) })
}

// assemble finds the files that the descriptor refers to, and the manifest next to it. A library has no folders, so
// files in folders get flat names, and the references in the descriptor are changed.
func (i *Image) assemble(where string, descriptor *File, find func(name string) (*File, error)) error {
	folder := path.Dir(descriptor.Name)
	descriptor.Name = path.Base(descriptor.Name)
	descriptor.listed = descriptor.Name
	i.Type, i.Files = TypeOVF, []*File{descriptor}
	e, err := parse(descriptor)
	if err != nil {
		return fmt.Errorf("descriptor %s: %w", descriptor.Name, err)
	}
	// names maps the references of the descriptor to file names in the library.
	names, taken := map[string]string{}, map[string]bool{descriptor.Name: true}
	files := map[string]*File{descriptor.listed: descriptor}
	for _, ref := range e.Files {
		if ref.ChunkSize != "" {
			return fmt.Errorf("descriptor %s: file %s is split into chunks, which is not supported: merge them with ovftool", descriptor.Name, ref.Href)
		}
		name, err := local(ref.Href)
		if err != nil {
			return fmt.Errorf("descriptor %s: reference to a file: %w", descriptor.Name, err)
		}
		if f := files[name]; f != nil {
			names[ref.Href] = f.Name
			continue
		}
		f, err := find(path.Join(folder, name))
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("descriptor %s refers to file %s, which is not in %s", descriptor.Name, ref.Href, where)
		}
		if err != nil {
			return fmt.Errorf("file %s of descriptor %s: %w", ref.Href, descriptor.Name, err)
		}
		if size, err := strconv.ParseInt(ref.Size, 10, 64); err == nil && size > f.Size {
			return fmt.Errorf("file %s is truncated: it has %d bytes, descriptor %s specifies %d", name, f.Size, descriptor.Name, size)
		}
		f.Name, f.listed = flatName(name, taken), name
		names[ref.Href], files[name], taken[f.Name] = f.Name, f, true
		i.Files = append(i.Files, f)
	}
	manifest, err := find(path.Join(folder, strings.TrimSuffix(descriptor.Name, path.Ext(descriptor.Name))+".mf"))
	if errors.Is(err, os.ErrNotExist) {
		manifest, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("manifest of descriptor %s: %w", descriptor.Name, err)
	}
	if err := i.expect(manifest); err != nil {
		return err
	}
	return i.flatten(descriptor, names)
}

// flatName returns a name without folders that is not taken.
func flatName(name string, taken map[string]bool) string {
	flat := path.Base(name)
	if taken[flat] {
		flat = strings.ReplaceAll(name, "/", "-")
	}
	for n := 2; taken[flat]; n++ {
		flat = fmt.Sprintf("%d-%s", n, path.Base(name))
	}
	return flat
}

// flatten changes the file references in the descriptor. The manifest has the digest of the original descriptor, so
// it is verified first.
func (i *Image) flatten(descriptor *File, names map[string]string) error {
	changed := false
	for href, name := range names {
		changed = changed || href != name
	}
	if !changed {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(descriptor.Reader(), maxDescriptor))
	if err != nil {
		return fmt.Errorf("reading descriptor %s: %w", descriptor.Name, err)
	}
	if err := descriptor.compare(text); err != nil {
		return err
	}
	if text, err = renameReferences(text, names); err != nil {
		return fmt.Errorf("descriptor %s: %w", descriptor.Name, err)
	}
	descriptor.Digest, descriptor.Size, descriptor.content = Digest{}, int64(len(text)), bytes.NewReader(text)
	return nil
}

// hrefAttribute matches the attribute of a start tag that has a file name.
var hrefAttribute = regexp.MustCompile(`(\s(?:[A-Za-z_][A-Za-z0-9_.-]*:)?href\s*=\s*)("[^"]*"|'[^']*')`)

// renameReferences returns the descriptor with changed file names and otherwise unchanged.
func renameReferences(text []byte, names map[string]string) ([]byte, error) {
	var out bytes.Buffer
	decoder, copied := xml.NewDecoder(bytes.NewReader(text)), int64(0)
	for {
		from := decoder.InputOffset()
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			out.Write(text[copied:])
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("renaming its files: %w", err)
		}
		start, isStart := token.(xml.StartElement)
		if !isStart || start.Name.Local != "File" {
			continue
		}
		for _, a := range start.Attr {
			name, renamed := names[a.Value]
			if a.Name.Local != "href" || !renamed || name == a.Value {
				continue
			}
			var value bytes.Buffer
			if err := xml.EscapeText(&value, []byte(name)); err != nil {
				return nil, fmt.Errorf("renaming file %s: %w", a.Value, err)
			}
			tag := text[from:decoder.InputOffset()]
			at := hrefAttribute.FindSubmatchIndex(tag)
			if at == nil {
				return nil, fmt.Errorf("renaming file %s: reference not found", a.Value)
			}
			out.Write(text[copied : from+int64(at[4])])
			out.WriteString(`"` + value.String() + `"`)
			copied = from + int64(at[5])
		}
	}
}

func parse(descriptor *File) (*envelope, error) {
	if descriptor.Size > maxDescriptor {
		return nil, fmt.Errorf("it has %d bytes, at most %d are supported", descriptor.Size, maxDescriptor)
	}
	e := &envelope{}
	switch err := xml.NewDecoder(io.LimitReader(descriptor.Reader(), maxDescriptor)).Decode(e); {
	case err != nil:
		return nil, fmt.Errorf("not a valid OVF descriptor: %w", err)
	case len(e.Files) > maxEntries:
		return nil, fmt.Errorf("it refers to %d files, at most %d are supported", len(e.Files), maxEntries)
	case e.System == nil && e.Collection == nil:
		return nil, errors.New("it contains no virtual machine")
	}
	return e, nil
}
