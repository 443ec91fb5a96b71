// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	capturePath = "/rest/com/vmware/vcenter/ovf/library-item"
	// subscribedItemPath is the path of an item in a subscribed library.
	subscribedItemPath = "/rest/com/vmware/content/library/subscribed-item"
	// activationHeader has the activation ID of the task that a call makes. VM Operator
	// finds its captures by it.
	activationHeader = "vapi-ctx-actid"
)

// Source captures virtual machines.
type Source interface {
	Capture(ctx context.Context, registry *simulator.Registry, vm types.ManagedObjectReference, activation string,
		do func(*types.VirtualMachineConfigInfo) error) error
	SetCaptureTime(d time.Duration)
}

// Captures answers requests to create a library item from a virtual machine. The simulator creates an empty item.
//
// As the vSphere Automation API documents (Vcenter Ovf LibraryItem, create): the item is new, or it exists and its
// content is overwritten while name and description are kept. MAC addresses and extra configuration are included only
// if a flag requests them. Judgements: the values of OVF properties are included. A new item exists, without content,
// while its virtual machine is read, and is deleted if that fails.
type Captures struct {
	// Next answers all other requests, and the requests of a capture.
	Next     http.Handler
	Registry *simulator.Registry
	Source   Source
	// Allowed reports whether the account has a privilege on content libraries.
	Allowed func(privilege string) bool

	mu sync.Mutex
	// fail is the error of captures. If remains is set, the incomplete item is kept.
	fail    string
	remains bool
	// tells is true for captures that include more than requested.
	tells bool
}

// Routes implements front.Routes:
//
//	PUT /captures?ms=N&fail=M&remains=B&tells=B   captures take N milliseconds, fail with M, leave their incomplete item, or include all data of the virtual machine
func (c *Captures) Routes(mux *http.ServeMux) {
	mux.HandleFunc("PUT /captures", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fail = q.Get("fail")
		c.remains, _ = strconv.ParseBool(q.Get("remains"))
		c.tells, _ = strconv.ParseBool(q.Get("tells"))
		ms, _ := strconv.Atoi(q.Get("ms"))
		c.Source.SetCaptureTime(time.Duration(ms) * time.Millisecond)
		w.WriteHeader(http.StatusOK)
	})
}

// privilege returns the privilege for a change of an item (vSphere Automation API, Content Library Item, "requires"
// of its operations). It is empty for any other call.
func privilege(r *http.Request) string {
	switch item := strings.HasPrefix(r.URL.Path, libraryItemPath+"/id:"); {
	case item && r.Method == http.MethodPatch:
		return "ContentLibrary.UpdateLibraryItem"
	case item && r.Method == http.MethodDelete:
		return "ContentLibrary.DeleteLibraryItem"
	case strings.HasPrefix(r.URL.Path, subscribedItemPath+"/id:") && r.URL.Query().Get("~action") == "sync":
		return "ContentLibrary.SyncLibraryItem"
	}
	return ""
}

// ServeHTTP answers captures, and passes everything else on.
func (c *Captures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id := privilege(r); id != "" && !c.Allowed(id) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	action := r.URL.Query().Get("~action")
	if r.URL.Path != capturePath || r.Method != http.MethodPost || action != "" && action != "create" {
		c.Next.ServeHTTP(w, r)
		return
	}
	client, err := c.client(r)
	if err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var req vcenter.OVF
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&req); err != nil {
		vapi.ApiErrorInvalidArgument(w)
		return
	}
	vm, ok := c.Registry.Get(types.ManagedObjectReference{Type: req.Source.Type, Value: req.Source.Value}).(*simulator.VirtualMachine)
	if !ok {
		vapi.ApiErrorNotFound(w)
		return
	}
	if req.Target.LibraryItemID == "" && !c.Allowed("ContentLibrary.AddLibraryItem") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	id, err := c.capture(r.Context(), client, vm.Self, &req, r.Header.Get(activationHeader))
	switch {
	case err == nil:
		vapi.OK(w, vcenter.CreateResult{Succeeded: true, ID: id})
	case errors.Is(err, errNotFound):
		vapi.ApiErrorNotFound(w)
	case errors.Is(err, errExists):
		vapi.ApiErrorAlreadyExists(w)
	case fault.Is(err, &types.InvalidPowerState{}):
		vapi.ApiErrorNotAllowedInCurrentState(w)
	case fault.Is(err, &types.NoPermission{}):
		w.WriteHeader(http.StatusForbidden)
	case fault.Is(err, &types.TaskInProgress{}):
		vapi.ApiErrorResourceInUse(w)
	default:
		vapi.OK(w, vcenter.CreateResult{Error: deploymentError(err)})
	}
}

var errExists = errors.New("already exists")

// client makes requests in the session of r, which must exist.
func (c *Captures) client(r *http.Request) (*rest.Client, error) {
	u := &url.URL{Scheme: "https", Host: r.Host, Path: "/sdk"}
	s := soap.NewClient(u, true)
	s.Client.Transport = inside{c.Next}
	client := rest.NewClient(&vim25.Client{Client: s})
	id := r.Header.Get(sessionHeader)
	if cookie, err := r.Cookie(sessionHeader); id == "" && err == nil {
		id = cookie.Value
	}
	client.SessionID(id)
	session, err := client.Session(r.Context())
	if err == nil && session == nil {
		err = errors.New("there is no such session")
	}
	return client, err
}

// inside carries requests to a handler of the same process.
type inside struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	answer := httptest.NewRecorder()
	i.ServeHTTP(answer, r)
	res := answer.Result()
	res.Request = r
	return res, nil
}

// capture creates the item, or a new version of one, and returns its ID.
func (c *Captures) capture(ctx context.Context, client *rest.Client, vm types.ManagedObjectReference, req *vcenter.OVF, activation string) (string, error) {
	m := library.NewManager(client)
	id, made := req.Target.LibraryItemID, false
	c.mu.Lock()
	fail, remains, tells := c.fail, c.remains, c.tells
	c.mu.Unlock()
	if tells {
		req.Spec.Flags = []string{"PRESERVE_MAC", "EXTRA_CONFIG"}
	}
	// A started capture continues if the client does not wait.
	work := context.WithoutCancel(ctx)
	begin := func() (err error) {
		if id != "" {
			_, err = m.GetLibraryItem(work, id)
		} else {
			id, err = m.CreateLibraryItem(work, library.Item{Name: req.Spec.Name, Description: &req.Spec.Description, Type: library.ItemTypeOVF, LibraryID: req.Target.LibraryID})
			made = err == nil
		}
		if err != nil && strings.Contains(err.Error(), "400") {
			return errExists
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errNotFound, err)
		}
		return nil
	}
	if err := begin(); err != nil {
		return "", err
	}
	undo := func() {
		if made && !remains {
			_ = m.DeleteLibraryItem(work, &library.Item{ID: id})
		}
	}
	ended := make(chan error, 1)
	go func() {
		err := c.Source.Capture(work, c.Registry, vm, activation, func(config *types.VirtualMachineConfigInfo) error {
			if fail != "" {
				return errors.New(fail)
			}
			item, err := m.GetLibraryItem(work, id)
			if err != nil {
				return err
			}
			return fill(work, client, m, id, item.Name, []byte(describe(config, req)))
		})
		if err != nil {
			undo()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return id, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// asks reports whether the request contains a flag.
func asks(req *vcenter.OVF, flag string) bool { return slices.Contains(req.Spec.Flags, flag) }
