// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Routes adds the events to a control page:
//
//	POST /vm/hide?vm=V&state=S           makes the VM inaccessible (default), invalid, orphaned or disconnected
//	POST /vm/show?vm=V                   makes the VM readable again
//	PUT  /vm/omitted?vm=V&path=P…         makes single properties unreadable; without path all are readable
//	POST /vm/unregister?vm=V             returns the path of the .vmx file
//	POST /vm/register?path=P&folder=F    returns the managed object ID
//	POST /vm/move?vm=V&folder=F          returns the ID of the previous folder
//	POST /vm/renumber?vm=V               returns the managed object ID
//	POST /vm/uuid?vm=V&uuid=U            returns the previous instance UUID
//	POST /vm/ask?vm=V&text=T&choice=C…   asks a question now, or at=power-on
//	PUT  /vm/guest?vm=V&address=A…       sets the guest's addresses; heartbeat=C its heartbeat; key=K&value=V a variable; ignores=B ignores shutdown
//	POST /vm/event?vm=V&kind=K&message=M records an event of the VM
//	PUT  /vm/disabled?vm=V&methods=M,N   disables methods; without methods all are enabled
//	POST /host/remove?host=H, /host/add?host=H&ids=same   without ids the VMs get other managed object IDs
//	PUT  /clock?ahead=D                  moves the clock of vCenter, for example by 6m or -6m
//	PUT  /datastore/tags?datastore=D&tags=T,U  replaces the tags
//	PUT  /datastore/free?datastore=D&bytes=N   sets the free space
//	PUT  /permissions?entity=E&only=P,Q  leaves only these privileges; without=P,Q removes these
//	DELETE /permissions?entity=E         restores the privileges
//	PUT  /tasks/limit?perHost=N, /import?ms=N
//	POST /chaos?from=F&to=F&kind=K       disturbs a random VM below a folder
//	DELETE /chaos?id=N                   undoes the disturbance; without id all of them
//	GET  /vms, /files, /tasks            lists the real state, independent of what clients see
//
// The result of an event is returned as JSON. A command that fails is answered with status 400 and the error.
func (e *Events) Routes(mux *http.ServeMux) {
	for pattern, do := range map[string]func(q url.Values) (any, error){
		"POST /vm/hide": func(q url.Values) (any, error) {
			return e.Hide(q.Get("vm"), types.VirtualMachineConnectionState(q.Get("state")))
		},
		"POST /vm/show":       func(q url.Values) (any, error) { return nil, e.Show(q.Get("vm")) },
		"POST /vm/unregister": func(q url.Values) (any, error) { return e.Unregister(q.Get("vm")) },
		"POST /vm/register":   func(q url.Values) (any, error) { return e.Register(q.Get("path"), q.Get("folder")) },
		"POST /vm/move":       func(q url.Values) (any, error) { return e.Move(q.Get("vm"), q.Get("folder")) },
		"POST /vm/renumber":   func(q url.Values) (any, error) { return e.Renumber(q.Get("vm")) },
		"POST /vm/uuid":       func(q url.Values) (any, error) { return e.SetInstanceUUID(q.Get("vm"), q.Get("uuid")) },
		"POST /host/remove":   func(q url.Values) (any, error) { return e.RemoveHost(q.Get("host")) },
		"POST /host/add":      func(q url.Values) (any, error) { return e.AddHost(q.Get("host"), q.Get("ids") == "same") },
		"PUT /clock":          e.setClock,
		"POST /datastore/rename": func(q url.Values) (any, error) {
			return nil, e.RenameDatastore(q.Get("from"), q.Get("to"))
		},
		"PUT /datastore/tags": func(q url.Values) (any, error) {
			return nil, e.Tag(q.Get("datastore"), strings.Split(q.Get("tags"), ",")...)
		},
		"PUT /datastore/free": func(q url.Values) (any, error) {
			return nil, e.SetFreeSpace(q.Get("datastore"), q.Get("bytes"))
		},
		"PUT /permissions":    e.setPermissions,
		"DELETE /permissions": func(q url.Values) (any, error) { return nil, e.Unpermit(q.Get("entity")) },
		"POST /vm/ask":        e.ask,
		"PUT /vm/disabled":    e.disable,
		"PUT /vm/guest":       e.setGuest,
		"PUT /vm/omitted":     func(q url.Values) (any, error) { return nil, e.Omit(q.Get("vm"), q["path"]...) },
		"POST /vm/event": func(q url.Values) (any, error) {
			return nil, e.Post(q.Get("vm"), q.Get("kind"), q.Get("message"))
		},
		"PUT /import":      e.setImportTime,
		"PUT /tasks/limit": e.limitTasks,
		"POST /chaos": func(q url.Values) (any, error) {
			return e.Disturb(q.Get("kind"), q.Get("from"), q.Get("to"))
		},
		"DELETE /chaos": e.undo,
		"GET /vms":      func(url.Values) (any, error) { return e.VMs(), nil },
		"GET /files":    func(url.Values) (any, error) { return e.Files() },
		"GET /tasks":    func(url.Values) (any, error) { return e.Tasks(), nil },
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			result, err := do(r.URL.Query())
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(result) // a failed write means that the client has disconnected
		})
	}
}

// setPermissions leaves only the privileges in "only", or removes those in "without".
func (e *Events) setPermissions(q url.Values) (any, error) {
	ids := func(key string) []string {
		return strings.FieldsFunc(q.Get(key), func(r rune) bool { return r == ',' })
	}
	if without := ids("without"); len(without) != 0 {
		return nil, e.Withhold(q.Get("entity"), without...)
	}
	return nil, e.Permit(q.Get("entity"), ids("only")...)
}

// setClock sets the clock of vCenter.
func (e *Events) setClock(q url.Values) (any, error) {
	ahead, err := time.ParseDuration(q.Get("ahead"))
	if err != nil {
		return nil, fmt.Errorf("ahead: %q: must be a duration", q.Get("ahead"))
	}
	e.gate.SetClock(ahead)
	return ahead.String(), nil
}

// undo applies the inverse of one disturbance, or of all if there is no id.
func (e *Events) undo(q url.Values) (any, error) {
	if q.Get("id") == "" {
		return nil, e.UndoAll()
	}
	id, err := strconv.Atoi(q.Get("id"))
	if err != nil {
		return nil, fmt.Errorf("id: %q: must be the number of a disturbance", q.Get("id"))
	}
	return nil, e.Undo(id)
}
