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

// contentTypes are those of the files by their extensions.
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

// assets are the files by their paths; that of index.html is / too.
type assets map[string]*asset

// loadAssets reads and packs the files.
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

// serve answers with a file, or 404.
func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	file := a[r.URL.Path]
	if file == nil {
		refuse(w, http.StatusNotFound, "there is no such page")
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
	// Another version of virtctl may have the port next.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", noTime, bytes.NewReader(body))
}
