// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package screen returns pictures of the consoles of virtual machines.
//
// vCenter answers GET /screen?id=vm-42 of a session with a PNG (govc vm.console -capture uses it). VMware documents
// neither the required privilege nor the answer for a virtual machine that is not running.
// VirtualMachine.Interact.CreateScreenshot and status 503 are judgements.
package screen

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/sight"
	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

const (
	path      = "/screen"
	privilege = "VirtualMachine.Interact.CreateScreenshot"
	// Width and Height of the pictures, in pixels.
	Width, Height = 720, 400
)

// Screens answers requests for pictures.
type Screens struct {
	// Next answers all other requests.
	Next     http.Handler
	Registry *simulator.Registry
	Gate     *strict.Gate
	Sight    *sight.Sight

	mu sync.Mutex
	// instead is returned instead of a picture, if it is set.
	instead []byte
}

// Routes implements front.Routes:
//
//	PUT /screen?bytes=N   answers with N bytes that are no picture; 0 with pictures again
func (s *Screens) Routes(mux *http.ServeMux) {
	mux.HandleFunc("PUT "+path, func(w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscan(r.URL.Query().Get("bytes"), &n); err != nil || n < 0 {
			http.Error(w, fmt.Sprintf("bytes: %q: must be a number that is not negative", r.URL.Query().Get("bytes")), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.instead = bytes.Repeat([]byte("<"), n)
	})
}

// ServeHTTP answers requests for pictures, and passes everything else on.
func (s *Screens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path {
		s.Next.ServeHTTP(w, r)
		return
	}
	account, ok := s.account(r)
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: r.URL.Query().Get("id")}
	vm, ok := s.Registry.Get(ref).(*simulator.VirtualMachine)
	if !ok || !s.Sight.Exists(ref) || !s.Sight.Allowed(account, ref, sight.SystemView) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if !s.Sight.Allowed(account, ref, privilege) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	var on bool
	ctx := strict.Acting(s.Registry)
	ctx.WithLock(vm, func() { on = vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn })
	if _, away := s.Sight.Disguise(ref); away || !on {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.mu.Lock()
	instead := s.instead
	s.mu.Unlock()
	w.Header().Set("Content-Type", "image/png")
	// A failed write means that the client has disconnected.
	if len(instead) > 0 {
		_, _ = w.Write(instead)
		return
	}
	_ = png.Encode(w, draw())
}

// account returns the account of the session whose cookie the request has.
func (s *Screens) account(r *http.Request) (string, bool) {
	cookie, err := r.Cookie(soap.SessionCookieName)
	if err != nil {
		return "", false
	}
	all := s.Gate.Sessions(s.Registry)
	i := slices.IndexFunc(all, func(one strict.Session) bool { return one.Key == cookie.Value })
	if i < 0 {
		return "", false
	}
	return all[i].User, true
}

// draw makes a picture.
func draw() image.Image {
	picture := image.NewPaletted(image.Rect(0, 0, Width, Height), color.Palette{color.Black, color.White})
	for x := range Width {
		picture.SetColorIndex(x, Height/2, 1)
	}
	return picture
}
