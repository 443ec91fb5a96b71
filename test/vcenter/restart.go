// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// Restart describes a restart of vpxd.
type Restart struct {
	// Down is the time during which no connection is accepted.
	Down time.Duration
	// REST is the additional time that the vAPI endpoint needs to start.
	REST time.Duration
	// EndTasks ends running operations. Otherwise they continue in the background, as hosts finish operations that
	// vpxd has started. On a real vCenter this depends on the progress of an operation (judgement; not documented), so
	// tests need both.
	EndTasks bool
}

// RestartVpxd ends all sessions with their views and collectors, and drops all tasks, because they exist only in the
// memory of the process.
func (s *Server) RestartVpxd(o Restart) {
	if o.EndTasks {
		s.gate.Restart()
	}
	registry := s.Registry()
	var tasks []types.ManagedObjectReference
	for _, task := range registry.AllReference("Task") {
		tasks = append(tasks, task.Reference())
	}
	s.sight.Forget(tasks...)
	ctx := strict.Acting(registry)
	for _, e := range registry.All("VirtualMachine") {
		if vm, ok := e.(*simulator.VirtualMachine); ok && len(vm.RecentTask) != 0 {
			ctx.WithLock(vm, func() {
				ctx.Update(vm, []types.PropertyChange{{Name: "recentTask", Val: []types.ManagedObjectReference{}}})
			})
		}
	}
	s.front.DropSessions()
	s.gate.Sessions(registry)
	if o.Down > 0 {
		s.front.Outage(o.Down)
	}
	s.front.StartREST(o.Down + o.REST)
}

// Sessions lists the users logged in over SOAP, and Opened lists their open objects.
func (s *Server) Sessions() []strict.Session { return s.gate.Sessions(s.Registry()) }

// Opened lists the views, collectors and filters that sessions have open.
func (s *Server) Opened() []strict.Open { return s.gate.Opened(s.Registry()) }

// Routes adds commands for the whole service to the control page:
//
//	POST /restart?down=N&rest=N&tasks=end|continue   restarts vpxd, N in seconds
//	PUT  /deploy?disksOnly=B                          use only the disks of an OVF (default true)
//	PUT  /guests?cloudInit=B                          guests read the data of cloud-init (default true)
//	PUT  /customizations?fail=M                       customizations fail with M, or succeed without M
//	PUT  /password?to=P                               logins of the account need P instead of the previous password
//	GET  /sessions, /sessions/rest, /opened           sessions and their open objects
func (s *Server) Routes(mux *http.ServeMux) {
	get := func(pattern string, list func() any) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, _ *http.Request) { respond(w, list()) })
	}
	s.switches(mux)
	mux.HandleFunc("PUT /customizations", func(w http.ResponseWriter, r *http.Request) {
		s.guests.FailCustomizations(r.URL.Query().Get("fail"))
		respond(w, r.URL.Query().Get("fail"))
	})
	mux.HandleFunc("PUT /password", func(w http.ResponseWriter, r *http.Request) {
		s.SetPassword(r.URL.Query().Get("to"))
		respond(w, "changed")
	})
	get("/sessions", func() any { return s.Sessions() })
	get("/sessions/rest", func() any { return s.front.RESTSessions() })
	get("/opened", func() any { return s.Opened() })
	mux.HandleFunc("POST /restart", func(w http.ResponseWriter, r *http.Request) {
		o, err := restartOrder(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.RestartVpxd(o)
		respond(w, o)
	})
}

// switches adds the routes that turn features on and off.
func (s *Server) switches(mux *http.ServeMux) {
	for path, order := range map[string]struct {
		key string
		do  func(on bool)
	}{
		"/deploy": {"disksOnly", s.deployer.DisksOnly},
		"/guests": {"cloudInit", s.guests.CloudInit},
	} {
		mux.HandleFunc("PUT "+path, func(w http.ResponseWriter, r *http.Request) {
			on, err := strconv.ParseBool(r.URL.Query().Get(order.key))
			if err != nil {
				http.Error(w, fmt.Sprintf("%s: %q: must be true or false", order.key, r.URL.Query().Get(order.key)), http.StatusBadRequest)
				return
			}
			order.do(on)
			respond(w, on)
		})
	}
}

// restartOrder reads down and rest, in seconds, and tasks, which is "end" or "continue".
func restartOrder(q url.Values) (o Restart, err error) {
	for key, to := range map[string]*time.Duration{"down": &o.Down, "rest": &o.REST} {
		if q.Get(key) == "" {
			continue
		}
		n, err := strconv.ParseFloat(q.Get(key), 64)
		if err != nil || n < 0 || n > time.Hour.Seconds() {
			return o, fmt.Errorf("%s: %q: must be a number of seconds from 0 to 3600", key, q.Get(key))
		}
		*to = time.Duration(n * float64(time.Second))
	}
	switch q.Get("tasks") {
	case "end":
		o.EndTasks = true
	case "", "continue":
	default:
		return o, fmt.Errorf("tasks: %q: must be end or continue", q.Get("tasks"))
	}
	return o, nil
}

func respond(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a failed write means that the client has disconnected
}
