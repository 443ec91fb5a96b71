// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vim25/types"
)

// faults are the injected failures of uploads.
type faults struct {
	cut    atomic.Int64 // bytes after which the next transfer breaks off; 0 for never
	space  atomic.Int64 // bytes that all items may have; 0 for any
	forbid atomic.Bool
	lose   atomic.Pointer[string] // the file that the next completed session does not store
}

var errCut = errors.New("cut")

// cutting interrupts a transfer if a test requests it. cut reports whether it did.
func (f *faults) cutting(body io.Reader) (_ io.Reader, cut func() bool) {
	n := f.cut.Swap(0)
	if n == 0 {
		return body, func() bool { return false }
	}
	return io.MultiReader(io.LimitReader(body, n), broken{}), func() bool { return true }
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errCut }

// CutNext interrupts the next transfer of a file after this many bytes.
func (u *Updates) CutNext(after int64) { u.faults.cut.Store(after) }

// Space limits the total size of all items' files to this many bytes. 0 means no limit.
func (u *Updates) Space(bytes int64) { u.faults.space.Store(bytes) }

// Lose makes the next completed session fail for one file, after all others are stored. The item then has its
// descriptor but not that file.
func (u *Updates) Lose(name string) { u.faults.lose.Store(&name) }

// Forbid removes the privilege to add and update items.
func (u *Updates) Forbid(on bool) { u.faults.forbid.Store(on) }

func (u *Updates) forbidden() bool { return u.faults.forbid.Load() }

// ExpireSessions expires all update sessions.
func (u *Updates) ExpireSessions() {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.sessions)
}

// Busy simulates an update of an item by another client.
func (u *Updates) Busy(item string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &update{Session: library.Session{
		ID: uuid.NewString(), LibraryItemID: item, State: "ACTIVE", ClientProgress: -1, ExpirationTime: types.NewTime(time.Now().Add(expiry)),
	}}
	if u.sessions == nil {
		u.sessions = map[string]*update{}
	}
	u.sessions[s.ID] = s
}

// Sessions returns the number of active update sessions.
func (u *Updates) Sessions() (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range u.sessions {
		if s.State == "ACTIVE" {
			n++
		}
	}
	return n
}

// Routes adds commands to a control page:
//
//	PUT  /library/cut?bytes=N    interrupts the next file transfer after N bytes
//	PUT  /library/space?bytes=N  limits the total size of items to N bytes; 0 means no limit
//	PUT  /library/forbid?on=B    removes the privilege to add and update items
//	POST /library/expire         expires all update sessions
//	POST /library/checkin?item=I&vm=M  makes the template M the new version of the item I
func (u *Updates) Routes(mux *http.ServeMux) {
	bytes := func(order func(int64)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			n, err := strconv.ParseInt(r.URL.Query().Get("bytes"), 10, 64)
			if err != nil || n < 0 {
				http.Error(w, fmt.Sprintf("bytes: %q: must be a number that is not negative", r.URL.Query().Get("bytes")), http.StatusBadRequest)
				return
			}
			order(n)
		}
	}
	mux.HandleFunc("PUT /library/cut", bytes(u.CutNext))
	mux.HandleFunc("PUT /library/space", bytes(u.Space))
	mux.HandleFunc("PUT /library/forbid", func(w http.ResponseWriter, r *http.Request) {
		on, err := strconv.ParseBool(r.URL.Query().Get("on"))
		if err != nil {
			http.Error(w, fmt.Sprintf("on: %q: must be true or false", r.URL.Query().Get("on")), http.StatusBadRequest)
			return
		}
		u.Forbid(on)
	})
	mux.HandleFunc("POST /library/checkin", func(_ http.ResponseWriter, r *http.Request) {
		u.CheckIn(r.URL.Query().Get("item"), types.ManagedObjectReference{Type: "VirtualMachine", Value: r.URL.Query().Get("vm")})
	})
	mux.HandleFunc("POST /library/expire", func(http.ResponseWriter, *http.Request) { u.ExpireSessions() })
}
