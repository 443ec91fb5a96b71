// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastores

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// injectable maps names to the faults that can be injected.
var injectable = map[string]types.BaseMethodFault{
	"FileLocked": &types.FileLocked{}, "FileNotFound": &types.FileNotFound{}, "NoDiskSpace": &types.NoDiskSpace{},
	"CannotCreateFile": &types.CannotCreateFile{}, "CannotAccessFile": &types.CannotAccessFile{}, "CannotDeleteFile": &types.CannotDeleteFile{},
	"HostCommunication": &types.HostCommunication{}, "InvalidDatastore": &types.InvalidDatastore{}, "InaccessibleDatastore": &types.InaccessibleDatastore{},
	"NoPermission": &types.NoPermission{PrivilegeId: "Datastore.FileManagement"}, "NotSupported": &types.NotSupported{}, "SystemError": &types.SystemError{Reason: "ordered"},
}

// Copied returns the number of bytes copied since the start.
type Copied struct {
	// Bytes that copies have written.
	Bytes int64 `json:"bytes"`
}

// Routes adds commands to a control page:
//
//	PUT /datastores/rate?bytes=N                    copies take N bytes per second; 0 means no delay
//	PUT /datastores/free?datastore=D&bytes=N        sets the free space; only later writes change it
//	PUT /datastores/disksize?bytes=N                size of each disk of a library item
//	PUT /datastores/toplevel?datastore=D&allowed=B  whether top-level directories can be created (not on vSAN)
//	PUT /datastores/fault?call=C&fault=F&times=N    calls fail N times, or without limit if times is not set
//	POST /datastores/delete?path=P                  deletes a file or a directory, even if it is open
//	GET /datastores/list?datastore=D                the files and the directories, which end with a slash
//	GET /datastores/broken                          the virtual machines with a missing disk or parent disk
//	GET /datastores/copied                          the number of copied bytes
func (d *Datastores) Routes(mux *http.ServeMux) {
	for pattern, do := range map[string]func(q url.Values) (any, error){
		"PUT /datastores/rate":     func(q url.Values) (any, error) { return d.number(q, &d.rate) },
		"PUT /datastores/disksize": func(q url.Values) (any, error) { return d.number(q, &d.diskSize) },
		"PUT /datastores/free":     d.setRoom,
		"PUT /datastores/toplevel": d.setTopLevel,
		"PUT /datastores/fault":    d.order,
		"POST /datastores/delete":  d.deleteOrder,
		"GET /datastores/list":     func(q url.Values) (any, error) { return d.list(q.Get("datastore")) },
		"GET /datastores/broken":   func(url.Values) (any, error) { return d.broken(), nil },
		"GET /datastores/copied": func(url.Values) (any, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			return Copied{Bytes: d.copied}, nil
		},
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

func (d *Datastores) number(q url.Values, to *int64) (any, error) {
	n, err := strconv.ParseInt(q.Get("bytes"), 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("bytes: %q: must be a number that is not negative", q.Get("bytes"))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*to = n
	return n, nil
}

func (d *Datastores) find(name string) (*simulator.Datastore, error) {
	for _, e := range d.registry.All("Datastore") {
		if ds, ok := e.(*simulator.Datastore); ok && ds.Name == name {
			return ds, nil
		}
	}
	return nil, fmt.Errorf("datastore: none has the name %q", name)
}

func (d *Datastores) setRoom(q url.Values) (any, error) {
	ds, err := d.find(q.Get("datastore"))
	if err != nil {
		return nil, err
	}
	var room int64
	if _, err := d.number(q, &room); err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.room[ds.Self] = room
	d.mu.Unlock()
	_ = d.charge(ds, 0)
	return room, nil
}

func (d *Datastores) setTopLevel(q url.Values) (any, error) {
	ds, err := d.find(q.Get("datastore"))
	if err != nil {
		return nil, err
	}
	allowed, err := strconv.ParseBool(q.Get("allowed"))
	if err != nil {
		return nil, fmt.Errorf("allowed: %q: must be true or false", q.Get("allowed"))
	}
	strict.Acting(d.registry).WithLock(ds, func() { ds.Capability.TopLevelDirectoryCreateSupported = &allowed })
	return allowed, nil
}

func (d *Datastores) order(q url.Values) (any, error) {
	fault, ok := injectable[q.Get("fault")]
	if !ok {
		return nil, fmt.Errorf("fault: %q: must be one of %q", q.Get("fault"), slices.Sorted(maps.Keys(injectable)))
	}
	times := -1
	if q.Has("times") {
		var err error
		if times, err = strconv.Atoi(q.Get("times")); err != nil || times < 0 {
			return nil, fmt.Errorf("times: %q: must be a number that is not negative", q.Get("times"))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[q.Get("call")] = &ordered{fault: fault, times: times}
	return times, nil
}

func (d *Datastores) deleteOrder(q url.Values) (any, error) {
	dc := d.registry.Any("Datacenter").Reference()
	f, fault := d.resolve(strict.Acting(d.registry), &dc, q.Get("path"))
	if fault != nil || f.path == "" || !f.there() {
		return nil, fmt.Errorf("path: %q: there is no such file", q.Get("path"))
	}
	err := os.RemoveAll(f.disk)
	if f.isDisk() && err == nil {
		err = os.RemoveAll(extent(f.disk))
	}
	return nil, err
}

func (d *Datastores) list(name string) ([]string, error) {
	ds, err := d.find(name)
	if err != nil {
		return nil, err
	}
	all := []string{}
	return all, filepath.WalkDir(ds.Summary.Url, func(p string, entry os.DirEntry, err error) error {
		rest, relErr := filepath.Rel(ds.Summary.Url, p)
		switch {
		case err != nil || relErr != nil || rest == ".":
		case entry.IsDir():
			all = append(all, rest+"/")
		case !strings.HasPrefix(rest, "."):
			all = append(all, rest)
		}
		return nil
	})
}

// broken returns the virtual machines with a missing disk file or parent file.
func (d *Datastores) broken() []string {
	names := []string{}
	dc := d.registry.Any("Datacenter").Reference()
	ctx := strict.Acting(d.registry)
	for _, e := range d.registry.All("VirtualMachine") {
		vm, ok := e.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			if vm.Config == nil {
				return
			}
			for _, name := range chains(vm.Config.Hardware.Device) {
				if f, fault := d.resolve(ctx, &dc, name); fault != nil || !f.there() {
					names = append(names, vm.Name+": "+name)
				}
			}
		})
	}
	return names
}
