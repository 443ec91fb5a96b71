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

// TaskDelays sets how long the simulator's tasks take. Tasks of the process
// share them, so there is one value per process.
type TaskDelays struct {
	mu sync.Mutex
}

// NewTaskDelays clears all delays, and lets tasks take the lock of their object
// only when they start to work, so that a slow task blocks no reader.
func NewTaskDelays() *TaskDelays {
	d := &TaskDelays{}
	d.apply(nil)
	return d
}

// taskNames are the names of the simulator's tasks for SOAP methods and for the
// short names of vCenter's task list. Other names are taken as they are.
var taskNames = map[string]string{
	"CreateVm": "CreateVM_Task", "CloneVm": "CloneVM_Task", "ReconfigVm": "ReconfigVM_Task",
	"PowerOnVM_Task": "PowerOn", "PowerOffVM_Task": "PowerOff",
	"SuspendVM_Task": "Suspend", "ResetVM_Task": "Reset", "Destroy_Task": "Destroy",
}

// Set makes the tasks of a method take at least ms milliseconds. A deployment
// from the library is a CreateVM_Task.
func (d *TaskDelays) Set(method string, ms int) {
	if name, ok := taskNames[method]; ok {
		method = name
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delays := maps.Clone(simulator.TaskDelay.MethodDelay)
	delays[method] = ms
	d.apply(delays)
}

// apply replaces the map: tasks read it without a lock.
func (d *TaskDelays) apply(delays map[string]int) {
	if delays == nil {
		delays = map[string]int{}
	}
	delays["LockHandoff"] = 0
	simulator.TaskDelay = simulator.DelayConfig{MethodDelay: delays}
}

// maxOutage is the longest outage that can be ordered.
const maxOutage = time.Hour

// Routes are orders that a control page takes besides its own.
type Routes interface{ Routes(mux *http.ServeMux) }

// Control answers the orders of tests:
//
//	POST /sessions/drop            ends all sessions
//	POST /outage?seconds=N         closes all connections for N seconds
//	GET  /calls                    returns the calls so far by method, as JSON
//	PUT  /taskdelay?method=M&ms=N  makes tasks of method M (CreateVm, PowerOnVM_Task, …) take N milliseconds
//	PUT  /hold?method=M            lets SOAP calls of method M wait
//	DELETE /hold?method=M          lets them go on
//
// and those that others add. It is not authenticated and must listen on loopback only.
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

// named serves an order about one method.
func named(order func(method string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		method := r.URL.Query().Get("method")
		if method == "" {
			http.Error(w, "method: the name of a SOAP method is needed", http.StatusBadRequest)
			return
		}
		order(method)
		answer(w, method)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone: nobody to tell
}
