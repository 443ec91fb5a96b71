// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"
)

// diskMagic is the start of image disks (vmdk.SparseMagicNumber).
const diskMagic = "KDMV"

// maxData is the maximum size of an accepted file, as files are held in memory.
const maxData = 1 << 30

var hashes = map[string]func() hash.Hash{"SHA1": sha1.New, "SHA256": sha256.New, "SHA512": sha512.New}

func (u *Updates) serveFiles(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire()
	id, named := strings.CutPrefix(r.URL.Path, updateFilePath+"/id:")
	if !named {
		id = r.URL.Query().Get("update_session_id")
	}
	s := u.sessions[id]
	if s == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var spec struct {
		File library.UpdateFile `json:"file_spec"`
		Name string             `json:"file_name"`
	}
	if r.Method == http.MethodPost {
		if err := decode(r, &spec); err != nil && !errors.Is(err, io.EOF) {
			refuse(w, "invalid_argument", err.Error())
			return
		}
	}
	s.ExpirationTime = types.NewTime(time.Now().Add(expiry))
	action := r.URL.Query().Get("~action")
	f := s.files[spec.Name]
	switch {
	case !named:
		all := []library.UpdateFile{}
		for _, f := range s.files {
			if !f.removed {
				all = append(all, f.UpdateFile)
			}
		}
		value(w, all)
	case s.State != "ACTIVE":
		refuse(w, "not_allowed_in_current_state", "The update session is in the state "+s.State+".")
	case action == "add" && spec.File.SourceType == "PUSH" && path.Base(spec.File.Name) == spec.File.Name:
		f = &updateFile{UpdateFile: spec.File, token: uuid.NewString()}
		f.Status = "WAITING_FOR_TRANSFER"
		f.UploadEndpoint = &library.TransferEndpoint{URI: (&url.URL{Scheme: "https", Host: r.Host, Path: dataPath + f.token + "/" + f.Name}).String()}
		s.files[f.Name] = f
		value(w, f.UpdateFile)
	case action == "validate":
		u.validate(w, s)
	case (action == "get" || action == "remove") && f == nil:
		w.WriteHeader(http.StatusNotFound)
	case action == "get":
		value(w, f.UpdateFile)
	case action == "remove":
		f.removed = true
	default:
		refuse(w, "invalid_argument", "The file cannot be added.")
	}
}

// validate returns the missing parts of an OVF.
func (u *Updates) validate(w http.ResponseWriter, s *update) {
	result := library.UpdateFileValidation{}
	for name, f := range s.files {
		if path.Ext(name) != ".ovf" || f.SourceType != "PUSH" || f.removed {
			continue
		}
		envelope, err := ovf.Unmarshal(strings.NewReader(string(f.data)))
		if err != nil {
			result.HasErrors = true
			result.InvalidFiles = append(result.InvalidFiles, library.FileValidationError{Name: name, ErrorMessage: rest.LocalizableMessage{DefaultMessage: err.Error()}})
			continue
		}
		for _, ref := range envelope.References {
			if other := s.files[ref.Href]; other == nil || other.removed {
				result.HasErrors, result.MissingFiles = true, append(result.MissingFiles, ref.Href)
			}
		}
	}
	value(w, result)
}

// receive takes the content of a file.
func (u *Updates) receive(w http.ResponseWriter, r *http.Request) {
	token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, dataPath), "/")
	u.mu.Lock()
	var file *updateFile
	for _, s := range u.sessions {
		for _, f := range s.files {
			if f.token == token && s.State == "ACTIVE" {
				file = f
			}
		}
	}
	u.mu.Unlock()
	if file == nil || r.Method != http.MethodPut {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, cut := u.faults.cutting(http.MaxBytesReader(w, r.Body, maxData))
	data, err := io.ReadAll(body)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case err == nil:
		err = u.judge(file, data)
	case cut():
		defer panic(http.ErrAbortHandler)
	}
	if file.BytesTransferred = int64(len(data)); err != nil {
		file.Status, file.ErrorMessage = "ERROR", &rest.LocalizableMessage{DefaultMessage: err.Error()}
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	file.Status, file.data, file.Size = "READY", data, int64(len(data))
}

// judge compares the received file with the announced one.
func (u *Updates) judge(f *updateFile, data []byte) error {
	if f.Size != 0 && f.Size != int64(len(data)) {
		return fmt.Errorf("the size of the file %s is %d and not %d", f.Name, len(data), f.Size)
	}
	if c := f.Checksum; c != nil && c.Checksum != "" {
		algorithm := hashes[c.Algorithm]
		if algorithm == nil {
			return fmt.Errorf("the algorithm %q is not known", c.Algorithm)
		}
		sum := algorithm()
		_, _ = sum.Write(data)
		if hex.EncodeToString(sum.Sum(nil)) != c.Checksum {
			return fmt.Errorf("the checksum of the file %s is another one", f.Name)
		}
	}
	used := int64(len(data))
	for _, c := range u.items {
		for _, d := range c.files {
			used += int64(len(d))
		}
	}
	if most := u.faults.space.Load(); most > 0 && used > most {
		return fmt.Errorf("there is not enough space on the file system to store %s", f.Name)
	}
	return nil
}

// store gives the files to the simulator, from which they are downloaded and deployed.
func (u *Updates) store(r *http.Request, item string, files map[string][]byte) error {
	var session struct{ Value string }
	spec, _ := json.Marshal(map[string]any{"create_spec": map[string]string{"library_item_id": item}})
	if err := json.Unmarshal(u.ask(r, http.MethodPost, updatePath, spec).Body.Bytes(), &session); err != nil {
		return fmt.Errorf("storing item %s: %w", item, err)
	}
	for name, data := range files {
		if path.Ext(name) == ".vmdk" && !bytes.HasPrefix(data, []byte(diskMagic)) {
			continue // the simulator would read it
		}
		spec, _ := json.Marshal(map[string]any{"file_spec": library.UpdateFile{Name: name, SourceType: "PUSH"}})
		var file struct{ Value library.UpdateFile }
		if err := json.Unmarshal(u.ask(r, http.MethodPost, updateFilePath+"/id:"+session.Value+"?~action=add", spec).Body.Bytes(), &file); err != nil {
			return fmt.Errorf("storing %s: %w", name, err)
		}
		to, err := url.Parse(file.Value.UploadEndpoint.URI)
		if err != nil {
			return fmt.Errorf("storing %s: %w", name, err)
		}
		if answer := u.ask(r, http.MethodPut, to.EscapedPath(), data); answer.Code != http.StatusOK {
			return fmt.Errorf("storing %s: %d", name, answer.Code)
		}
	}
	u.ask(r, http.MethodDelete, updatePath+"/id:"+session.Value, nil)
	u.Deployer.keepOnly(item, files)
	return nil
}

// listFiles lists the files of an item.
func (u *Updates) listFiles(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.items[r.URL.Query().Get("library_item_id")]
	if c == nil {
		u.Next.ServeHTTP(w, r)
		return
	}
	all := []library.File{}
	for name, data := range c.files {
		size := int64(len(data))
		all = append(all, library.File{Name: name, Size: &size, Version: strconv.Itoa(c.version), Cached: types.NewBool(true)})
	}
	value(w, all)
}

// showItem adds the content's state to an item.
func (u *Updates) showItem(w http.ResponseWriter, r *http.Request) {
	answer := u.ask(r, http.MethodGet, r.URL.RequestURI(), nil)
	u.mu.Lock()
	defer u.mu.Unlock()
	var item struct{ Value library.Item }
	c := u.items[strings.TrimPrefix(r.URL.Path, libraryItemPath+"/id:")]
	if answer.Code != http.StatusOK || c == nil || json.Unmarshal(answer.Body.Bytes(), &item) != nil {
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	item.Value.ContentVersion, item.Value.Size = strconv.Itoa(c.version), 0
	for _, data := range c.files {
		item.Value.Size += int64(len(data))
	}
	value(w, item.Value)
}
