// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is a file in an archive.
type File struct {
	// Name is a relative path with slashes.
	Name string
	Mode int64
	Data []byte
}

// Tar writes files and their directories, sorted by name. All have the modification time made.
func Tar(w io.Writer, files []File, made time.Time) error {
	out := tar.NewWriter(w)
	for _, f := range withDirectories(files) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Mode: f.Mode, Size: int64(len(f.Data)), ModTime: made, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.Name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return fmt.Errorf("writing %s: %w", f.Name, err)
		}
		if _, err := out.Write(f.Data); err != nil {
			return fmt.Errorf("writing %s: %w", f.Name, err)
		}
	}
	return out.Close()
}

func withDirectories(files []File) []File {
	all, seen := slices.Clone(files), map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Name); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			all = append(all, File{Name: dir + "/", Mode: 0o755})
		}
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Directory reads all files below dir. They get the mode 0644.
func Directory(dir string) ([]File, error) {
	var all []File
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		all = append(all, File{Name: filepath.ToSlash(relative), Mode: 0o644, Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	return all, nil
}
