// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	cnstypes "github.com/vmware/govmomi/cns/types"
	"github.com/vmware/govmomi/vim25/types"
)

// injectable maps names to the faults that can be injected.
var injectable = map[string]func() types.BaseMethodFault{
	"ResourceInUse":         func() types.BaseMethodFault { return &types.ResourceInUse{} },
	"NotFound":              func() types.BaseMethodFault { return &types.NotFound{} },
	"NoPermission":          func() types.BaseMethodFault { return &types.NoPermission{PrivilegeId: "Cns.Searchable"} },
	"InvalidState":          func() types.BaseMethodFault { return wrapped("AttachDisk", &types.InvalidState{}) },
	"TaskInProgress":        func() types.BaseMethodFault { return &types.TaskInProgress{} },
	"NotSupported":          func() types.BaseMethodFault { return wrapped("AttachDisk", &types.NotSupported{}) },
	"FileLocked":            func() types.BaseMethodFault { return wrapped("AttachDisk", &types.FileLocked{}) },
	"NoDiskSpace":           func() types.BaseMethodFault { return wrapped("ExtendDisk", &types.NoDiskSpace{}) },
	"InvalidDatastore":      func() types.BaseMethodFault { return wrapped("AttachDisk", &types.InvalidDatastore{}) },
	"HostCommunication":     func() types.BaseMethodFault { return wrapped("AttachDisk", &types.HostCommunication{}) },
	"CnsFault":              func() types.BaseMethodFault { return &cnstypes.CnsFault{Reason: "VSLM task failed"} },
	"CnsNotRegisteredFault": func() types.BaseMethodFault { return &cnstypes.CnsNotRegisteredFault{} },
}

// Routes adds commands to a control page:
//
//	PUT    /volumes/fault?method=M&fault=F  calls of method M fail for all volumes, or with id=I for that volume only
//	DELETE /volumes/fault?method=M          removes the fault for all volumes, or with id=I the one for that volume
//	POST   /volumes/unregister?id=I         removes a volume from the service's records
func (s *Service) Routes(mux *http.ServeMux) {
	mux.HandleFunc("PUT /volumes/fault", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		fault, ok := injectable[q.Get("fault")]
		if !ok {
			http.Error(w, fmt.Sprintf("fault: %q: must be one of %q", q.Get("fault"), slices.Sorted(maps.Keys(injectable))), http.StatusBadRequest)
			return
		}
		s.Fail(q.Get("method"), q.Get("id"), fault())
		_ = json.NewEncoder(w).Encode(q.Get("fault")) // a failed write means that the client has disconnected
	})
	mux.HandleFunc("DELETE /volumes/fault", func(_ http.ResponseWriter, r *http.Request) {
		s.Fail(r.URL.Query().Get("method"), r.URL.Query().Get("id"), nil)
	})
	mux.HandleFunc("POST /volumes/unregister", func(_ http.ResponseWriter, r *http.Request) { s.Unregister(r.URL.Query().Get("id")) })
}
