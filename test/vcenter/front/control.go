// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
)

// Delayer sets how long the tasks of a call take. It returns false for a call without tasks of its own.
type Delayer interface {
	SetDelay(call string, d time.Duration) bool
}

// TaskDelays sets how long tasks take. Tasks that no Delayer has are the simulator's,
// which a process shares, so there is one value per process for them.
type TaskDelays struct {
	first Delayer
	mu    sync.Mutex
}

// NewTaskDelays clears all delays. Tasks lock their object only when their delay has passed, so that a slow task does
// not block readers.
func NewTaskDelays(first Delayer) *TaskDelays {
	d := &TaskDelays{first: first}
	d.apply(nil)
	return d
}

// taskNames are the SOAP methods for the short names of vCenter's task list. Other names are used unchanged.
var taskNames = map[string]string{
	"CreateVm": "CreateVM_Task", "CloneVm": "CloneVM_Task", "ReconfigVm": "ReconfigVM_Task",
	"PowerOn": "PowerOnVM_Task", "PowerOff": "PowerOffVM_Task",
	"Suspend": "SuspendVM_Task", "Reset": "ResetVM_Task", "Destroy": "Destroy_Task",
}

// Set makes the tasks of a method take at least ms milliseconds. A deployment
// from the library is a CreateVM_Task.
func (d *TaskDelays) Set(method string, ms int) {
	if name, ok := taskNames[method]; ok {
		method = name
	}
	if d.first != nil && d.first.SetDelay(method, time.Duration(ms)*time.Millisecond) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delays := maps.Clone(simulator.TaskDelay.MethodDelay)
	delays[method] = ms
	d.apply(delays)
}

// apply replaces the map, because tasks read it without a lock.
func (d *TaskDelays) apply(delays map[string]int) {
	if delays == nil {
		delays = map[string]int{}
	}
	delays["LockHandoff"] = 0
	simulator.TaskDelay = simulator.DelayConfig{MethodDelay: delays}
}

// maxOutage is the longest outage that can be requested.
const maxOutage = time.Hour

// Routes are additional routes of a control page.
type Routes interface{ Routes(mux *http.ServeMux) }

// Control handles the commands of tests:
//
//	POST /sessions/drop            ends all sessions
//	POST /outage?seconds=N         closes all connections for N seconds
//	GET  /calls                    returns the calls so far by method, as JSON
//	PUT  /taskdelay?method=M&ms=N  makes tasks of method M (CreateVm, PowerOnVM_Task, …) take N milliseconds
//	PUT  /hold?method=M            holds SOAP calls of method M; rest.Login and rest.Deploy are the REST calls
//	PUT  /hold?method=answer.M     executes the calls and holds their answers
//	DELETE /hold?method=M          releases the calls
//	GET  /hold                     returns the number of held calls, by method
//	PUT  /versions?strict=B        refuses calls in an unsupported version of the API
//	PUT  /lockout?enabled=B        locks accounts out as vCenter Single Sign-On does
//	GET  /lockout                  returns failures and locked accounts
//	POST /rest/start?seconds=N     starts the vAPI endpoint N seconds from now
//	PUT  /service?name=S&away=B    stops or starts a service (policies, volumes)
//
// and the commands that other packages add. It is not authenticated and must listen on loopback only.
func Control(f *Front, delays *TaskDelays, others ...Routes) http.Handler {
	mux := http.NewServeMux()
	for _, o := range others {
		o.Routes(mux)
	}
	mux.HandleFunc("POST /sessions/drop", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]int{"dropped": f.DropSessions()})
	})
	mux.HandleFunc("POST /outage", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64)
		if err != nil || seconds < 0 || seconds > maxOutage.Seconds() {
			http.Error(w, fmt.Sprintf("seconds: %q: must be a number from 0 to %v", r.URL.Query().Get("seconds"), maxOutage.Seconds()), http.StatusBadRequest)
			return
		}
		f.Outage(time.Duration(seconds * float64(time.Second)))
		answer(w, map[string]float64{"seconds": seconds})
	})
	mux.HandleFunc("GET /calls", func(w http.ResponseWriter, _ *http.Request) { answer(w, f.Calls()) })
	mux.HandleFunc("PUT /taskdelay", func(w http.ResponseWriter, r *http.Request) {
		method, ms := r.URL.Query().Get("method"), r.URL.Query().Get("ms")
		n, err := strconv.Atoi(ms)
		if err != nil || n < 0 || method == "" {
			http.Error(w, fmt.Sprintf("method: %q, ms: %q: a method and a number that is not negative are needed", method, ms), http.StatusBadRequest)
			return
		}
		delays.Set(method, n)
		answer(w, map[string]int{method: n})
	})
	mux.HandleFunc("PUT /hold", named(f.Hold))
	mux.HandleFunc("DELETE /hold", named(f.Release))
	mux.HandleFunc("GET /hold", func(w http.ResponseWriter, _ *http.Request) { answer(w, f.Held()) })
	mux.HandleFunc("PUT /versions", switched("strict", f.StrictVersions))
	mux.HandleFunc("PUT /lockout", switched("enabled", f.Lockout.Enable))
	mux.HandleFunc("GET /lockout", func(w http.ResponseWriter, _ *http.Request) { answer(w, f.Lockout.State()) })
	mux.HandleFunc("POST /rest/start", func(w http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.ParseFloat(r.URL.Query().Get("seconds"), 64)
		if err != nil || seconds < 0 || seconds > maxOutage.Seconds() {
			http.Error(w, fmt.Sprintf("seconds: %q: must be a number from 0 to %v", r.URL.Query().Get("seconds"), maxOutage.Seconds()), http.StatusBadRequest)
			return
		}
		f.StartREST(time.Duration(seconds * float64(time.Second)))
		answer(w, seconds)
	})
	mux.HandleFunc("PUT /service", f.serveAway)
	mux.HandleFunc("PUT /trace", func(w http.ResponseWriter, r *http.Request) {
		calls, err := strconv.Atoi(r.URL.Query().Get("calls"))
		if err != nil || calls < 0 || calls > maxTrace {
			http.Error(w, fmt.Sprintf("calls: %q: must be a number from 0 to %d", r.URL.Query().Get("calls"), maxTrace), http.StatusBadRequest)
			return
		}
		f.Trace(calls)
		answer(w, map[string]int{"calls": calls})
	})
	mux.HandleFunc("GET /trace", func(w http.ResponseWriter, r *http.Request) {
		texts := r.URL.Query()["text"]
		if len(texts) == 0 {
			http.Error(w, "text: at least one is needed: the name or the UUID that a call contains", http.StatusBadRequest)
			return
		}
		answer(w, f.Traced(texts...))
	})
	return mux
}

// switched serves a control request that turns a feature on or off.
func switched(key string, order func(on bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		on, err := strconv.ParseBool(r.URL.Query().Get(key))
		if err != nil {
			http.Error(w, fmt.Sprintf("%s: %q: must be true or false", key, r.URL.Query().Get(key)), http.StatusBadRequest)
			return
		}
		order(on)
		answer(w, on)
	}
}

// named serves a control request for one method.
func named(order func(method string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		method := r.URL.Query().Get("method")
		if method == "" {
			http.Error(w, "method: the name of a SOAP method, "+RESTLogin+" or "+RESTDeploy+" is needed", http.StatusBadRequest)
			return
		}
		order(method)
		answer(w, method)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a failed write means that the client has disconnected
}
