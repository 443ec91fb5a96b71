// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	libraryItemPath = "/rest/com/vmware/content/library/item"
	libraryFilePath = libraryItemPath + "/file"
	updatePath      = libraryItemPath + "/update-session"
	updateFilePath  = libraryItemPath + "/updatesession/file"
	// dataPath is the path for uploading the contents of files.
	dataPath = "/cls/data/"
	// expiry is the lifetime of an update session without activity, the default of vCenter (vSphere Automation API,
	// UpdateSession keep-alive).
	expiry = 5 * time.Minute
)

// Updates replaces the simulator's update sessions of library items. The simulator publishes files immediately, has
// no versions of content, and allows any number of sessions.
//
// As the vSphere Automation API documents (UpdateSession, updatesession File):
//
//   - An item has at most one active session. Another create is ResourceBusy.
//   - Only the creator of a session can list it.
//   - A file that is added again replaces the file of the session.
//   - Size and checksum are compared when a file has arrived.
//   - Nothing is visible before the session is completed, which is not allowed while a file is missing.
//   - An active session cannot be deleted.
//
// Judgements: each completed session increments the version of the content. An interrupted transfer leaves its file
// in the state ERROR.
type Updates struct {
	// Next answers all other requests.
	Next http.Handler
	// Deployer reads descriptors, which change.
	Deployer *Deployer

	mu       sync.Mutex
	sessions map[string]*update
	items    map[string]*content
	faults   faults
}

// update is an update session.
type update struct {
	library.Session
	files map[string]*updateFile
}

type updateFile struct {
	library.UpdateFile
	token   string
	data    []byte
	removed bool
}

// content is the content of an item after its first update.
type content struct {
	version int
	files   map[string][]byte
	// template is the item's template, or nil.
	template *types.ManagedObjectReference
}

// ServeHTTP answers requests about updates, and passes other requests on.
func (u *Updates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasPrefix(path, templatePath) {
		u.serveTemplates(w, r)
		return
	}
	ours := strings.HasPrefix(path, updatePath) || strings.HasPrefix(path, updateFilePath) || strings.HasPrefix(path, dataPath) ||
		r.Method == http.MethodGet && (path == libraryFilePath || strings.HasPrefix(path, libraryItemPath+"/id:"))
	if !ours && !(path == libraryItemPath && r.Method == http.MethodPost && r.URL.Query().Get("~action") == "") {
		u.Next.ServeHTTP(w, r)
		return
	}
	if !authenticated(u.Next, r) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch {
	case path == libraryItemPath || path == updatePath && r.Method == http.MethodPost:
		if u.forbidden() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if path == updatePath {
			u.create(w, r)
			return
		}
		u.Next.ServeHTTP(w, r)
	case strings.HasPrefix(path, dataPath):
		u.receive(w, r)
	case strings.HasPrefix(path, updateFilePath):
		u.serveFiles(w, r)
	case strings.HasPrefix(path, updatePath):
		u.serveSessions(w, r)
	case path == libraryFilePath:
		u.listFiles(w, r)
	default:
		u.showItem(w, r)
	}
}

// refuse answers with a standard error of the API.
func refuse(w http.ResponseWriter, class, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]any{ // a failed write means that the client has disconnected
		"type":  "com.vmware.vapi.std.errors." + class,
		"value": map[string]any{"messages": []any{map[string]any{"args": []string{}, "default_message": message, "id": "com.vmware.vdcs.cls-main." + class}}},
	})
}

func value(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"value": v}) // a failed write means that the client has disconnected
}

// ask sends a request to the simulator with the session of r.
func (u *Updates) ask(r *http.Request, method, path string, body []byte) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(r.Context(), method, path, bytes.NewReader(body))
	req.Header.Set(sessionHeader, r.Header.Get(sessionHeader))
	for _, c := range r.Cookies() {
		req.AddCookie(c)
	}
	answer := httptest.NewRecorder()
	u.Next.ServeHTTP(answer, req)
	return answer
}

func decode(r *http.Request, into any) error {
	return json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxBody)).Decode(into)
}

func (u *Updates) create(w http.ResponseWriter, r *http.Request) {
	var spec struct {
		Session library.Session `json:"create_spec"`
	}
	if err := decode(r, &spec); err != nil {
		refuse(w, "invalid_argument", err.Error())
		return
	}
	item := spec.Session.LibraryItemID
	if answer := u.ask(r, http.MethodGet, libraryItemPath+"/id:"+item, nil); answer.Code != http.StatusOK {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire()
	for _, s := range u.sessions {
		if s.LibraryItemID == item && s.State == "ACTIVE" {
			refuse(w, "resource_busy", "The library item "+item+" is being updated in another session.")
			return
		}
	}
	s := &update{files: map[string]*updateFile{}}
	s.ID, s.LibraryItemID, s.State, s.ExpirationTime = uuid.NewString(), item, "ACTIVE", types.NewTime(time.Now().Add(expiry))
	if c := u.items[item]; c != nil {
		s.LibraryItemContentVersion = strconv.Itoa(c.version)
		for name, data := range c.files {
			s.files[name] = &updateFile{UpdateFile: library.UpdateFile{Name: name, Size: int64(len(data)), SourceType: "NONE", Status: "READY"}}
		}
	}
	if u.sessions == nil {
		u.sessions = map[string]*update{}
	}
	u.sessions[s.ID] = s
	value(w, s.ID)
}

// expire deletes sessions that have not been used for a long time.
func (u *Updates) expire() {
	for id, s := range u.sessions {
		if time.Now().After(*s.ExpirationTime) {
			delete(u.sessions, id)
		}
	}
}

func (u *Updates) serveSessions(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire()
	id, named := strings.CutPrefix(r.URL.Path, updatePath+"/id:")
	if !named {
		ids := []string{}
		for id, s := range u.sessions {
			if s.ClientProgress >= 0 { // not another client's
				ids = append(ids, id)
			}
		}
		value(w, ids)
		return
	}
	s := u.sessions[id]
	if s == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch action := r.URL.Query().Get("~action"); {
	case r.Method == http.MethodGet:
		value(w, s.Session)
	case r.Method == http.MethodDelete && s.State != "ACTIVE":
		delete(u.sessions, id)
	case s.State != "ACTIVE" || r.Method == http.MethodDelete:
		refuse(w, "not_allowed_in_current_state", "The update session is in the state "+s.State+".")
	case action == "keep-alive":
		s.ExpirationTime = types.NewTime(time.Now().Add(expiry))
	case action == "cancel":
		s.State = "CANCELED"
	case action == "fail":
		s.State = "ERROR"
	case action == "complete":
		if err := u.complete(r, s); err != nil {
			refuse(w, "not_allowed_in_current_state", err.Error())
		}
	}
}

// complete makes the received files the content of the item. The caller holds the lock.
func (u *Updates) complete(r *http.Request, s *update) error {
	next := &content{version: 1, files: map[string][]byte{}}
	if u.items == nil {
		u.items = map[string]*content{}
	}
	if before := u.items[s.LibraryItemID]; before != nil {
		next.version = before.version
		for name, data := range before.files {
			next.files[name] = data
		}
	}
	for name, f := range s.files {
		switch {
		case f.removed:
			delete(next.files, name)
		case f.Status != "READY":
			return errors.New("the file " + name + " has not been received: it is " + f.Status)
		case f.SourceType == "PUSH":
			next.files[name] = f.data
		}
	}
	next.version++
	lost := u.faults.lose.Swap(nil)
	if lost != nil {
		delete(next.files, *lost)
	}
	if err := u.store(r, s.LibraryItemID, next.files); err != nil {
		return err
	}
	u.items[s.LibraryItemID] = next
	if lost != nil {
		return errors.New("the file " + *lost + " cannot be stored")
	}
	s.State = "DONE"
	return nil
}
