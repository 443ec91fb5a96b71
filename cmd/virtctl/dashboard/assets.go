// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed web
var web embed.FS

// contentTypes maps file extensions to content types.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// asset is a file of the page.
type asset struct {
	contentType, tag string
	plain, packed    []byte
}

// assets maps paths to files. The path / is index.html.
type assets map[string]*asset

// loadAssets reads and compresses the files.
func loadAssets() (assets, error) {
	all := assets{}
	err := fs.WalkDir(web, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		a, err := newAsset(path.Ext(name), data)
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(name, "web")] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of the dashboard: %w", err)
	}
	all["/"] = all["/index.html"]
	return all, nil
}

func newAsset(extension string, data []byte) (*asset, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &asset{
		contentType: contentTypes[extension], tag: `"` + hex.EncodeToString(sum[:16]),
		plain: data, packed: packed.Bytes(),
	}, nil
}

// serve sends a file, or 404.
func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	file := a[r.URL.Path]
	if file == nil {
		refuse(w, http.StatusNotFound, "page not found")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are allowed here")
		return
	}
	body, tag := file.plain, file.tag+`"`
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body, tag = file.packed, file.tag+`-gzip"`
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Content-Type", file.contentType)
	w.Header().Set("Vary", "Accept-Encoding")
	// Another version of virtctl may use the port next.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", noTime, bytes.NewReader(body))
}
