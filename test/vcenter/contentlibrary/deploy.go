// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

const (
	itemPath      = "/rest/com/vmware/vcenter/ovf/library-item/id:"
	sessionPath   = "/rest/com/vmware/cis/session?~action=get"
	sessionHeader = "vmware-api-session-id"
	maxBody       = 16 << 20 // bytes; a configuration is some ten KB
)

// Creator creates virtual machines.
type Creator interface {
	NewVM(ctx context.Context, registry *simulator.Registry, req *types.CreateVM_Task) (types.ManagedObjectReference, error)
	// Import simulates the time for creating the disks of a new virtual machine.
	Import(ctx context.Context, registry *simulator.Registry, vm types.ManagedObjectReference) error
}

// Deployer answers deployments from library items in place of the simulator,
// which handles one request at a time and configures only after creation.
type Deployer struct {
	// Next answers all other requests, and knows the sessions.
	Next     http.Handler
	Registry *simulator.Registry
	Creator  Creator
	// Datacenter is the location of deployments without a folder.
	Datacenter types.ManagedObjectReference

	// Version is the version of the API.
	Version func() string

	descriptors sync.Map // item identifier to the path of its OVF descriptor
	disksOnly   atomic.Bool
}

// DisksOnly uses only the disks of the OVF if a deployment has a configuration. Otherwise the configuration is
// applied on top of the OVF.
func (d *Deployer) DisksOnly(on bool) { d.disksOnly.Store(on) }

// minConfigSpec is the first version of the API that knows vm_config_spec: "this schema
// was added in vSphere API 8.0.2.0" (Vcenter Ovf LibraryItem VmConfigSpec).
const minConfigSpec = "8.0.2.0"

// knowsConfigSpec compares versions number by number.
func knowsConfigSpec(version string) bool {
	have, least := strings.Split(version, "."), strings.Split(minConfigSpec, ".")
	for i := range least {
		n := 0
		if i < len(have) {
			n, _ = strconv.Atoi(have[i])
		}
		if m, _ := strconv.Atoi(least[i]); n != m {
			return n > m
		}
	}
	return true
}

// ServeHTTP answers deployments, and passes everything else on.
func (d *Deployer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, ok := strings.CutPrefix(r.URL.Path, itemPath)
	if !ok || r.Method != http.MethodPost || r.URL.Query().Get("~action") != "deploy" {
		d.Next.ServeHTTP(w, r)
		return
	}
	if !authenticated(d.Next, r) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	envelope, err := d.envelope(id)
	if errors.Is(err, os.ErrNotExist) {
		vapi.ApiErrorNotFound(w)
		return
	}
	var deploy vcenter.Deploy
	if err == nil {
		err = json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&deploy)
	}
	if err == nil && deploy.VmConfigSpec != nil && d.Version != nil && !knowsConfigSpec(d.Version()) {
		// A field that the version does not have is an invalid argument (judgement).
		err = fmt.Errorf("deployment_spec.vm_config_spec: not known in version %s of the API", d.Version())
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("deploy library item %s: %v", id, err), http.StatusBadRequest)
		return
	}
	vm, err := d.deploy(r.Context(), envelope, &deploy)
	if err != nil {
		vapi.OK(w, vcenter.Deployment{Error: deploymentError(err)})
		return
	}
	vapi.OK(w, vcenter.Deployment{Succeeded: true, ResourceID: &vcenter.ResourceID{Type: vm.Type, Value: vm.Value}})
}

// authenticated checks with the simulator whether the session of the request exists.
func authenticated(next http.Handler, r *http.Request) bool {
	probe := httptest.NewRequest(http.MethodPost, sessionPath, nil)
	probe.Header.Set(sessionHeader, r.Header.Get(sessionHeader))
	for _, c := range r.Cookies() {
		probe.AddCookie(c)
	}
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, probe)
	return answer.Code == http.StatusOK
}

// envelope reads the OVF descriptor of the library item.
func (d *Deployer) envelope(id string) (*ovf.Envelope, error) {
	if _, err := uuid.Parse(id); err != nil {
		return nil, os.ErrNotExist
	}
	path, err := d.descriptor(id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read library item %s: %w", id, err)
	}
	defer f.Close()
	envelope, err := ovf.Unmarshal(f)
	if err != nil {
		return nil, fmt.Errorf("parse the OVF descriptor of library item %s: %w", id, err)
	}
	return envelope, nil
}

// descriptor finds the file of an item's descriptor. The result is cached, because the search reads the directories of
// all virtual machines.
func (d *Deployer) descriptor(id string) (string, error) {
	if known, ok := d.descriptors.Load(id); ok {
		if path, ok := known.(string); ok {
			return path, nil
		}
	}
	for _, e := range d.Registry.All("Datastore") {
		ds, ok := e.(*simulator.Datastore)
		if !ok {
			continue
		}
		found, err := filepath.Glob(filepath.Join(ds.Summary.Url, "contentlib-*", id, "*.ovf"))
		if err == nil && len(found) != 0 {
			d.descriptors.Store(id, found[0])
			return found[0], nil
		}
	}
	return "", os.ErrNotExist
}

// keepOnly removes the files of an item that are not among those of its new version.
func (d *Deployer) keepOnly(id string, files map[string][]byte) {
	d.descriptors.Delete(id)
	for _, e := range d.Registry.All("Datastore") {
		ds, ok := e.(*simulator.Datastore)
		if !ok {
			continue
		}
		found, _ := filepath.Glob(filepath.Join(ds.Summary.Url, "contentlib-*", id, "*"))
		for _, path := range found {
			// The simulator stores the contents of a disk in a separate file.
			if _, keep := files[strings.Replace(filepath.Base(path), "-flat.vmdk", ".vmdk", 1)]; !keep {
				_ = os.Remove(path)
			}
		}
	}
}

func (d *Deployer) deploy(ctx context.Context, envelope *ovf.Envelope, deploy *vcenter.Deploy) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	if vm := envelope.VirtualSystem; vm != nil && len(vm.Eula) > 0 && !deploy.AcceptAllEULA {
		return none, errors.New("the end user license agreements of the template must be accepted")
	}
	over, err := decodeSpec(deploy.VmConfigSpec)
	if err != nil {
		return none, err
	}
	datastore, err := d.datastore(deploy.DefaultDatastoreID)
	if err != nil {
		return none, err
	}
	disksOnly := deploy.VmConfigSpec != nil && d.disksOnly.Load()
	spec, err := configSpec(envelope, deploy, over, datastore, d.networks(deploy.NetworkMappings), disksOnly)
	if err != nil {
		return none, err
	}
	req := types.CreateVM_Task{
		Config: spec,
		Pool:   types.ManagedObjectReference{Type: "ResourcePool", Value: deploy.ResourcePoolID},
	}
	if req.This, err = d.folder(deploy.FolderID); err != nil {
		return none, err
	}
	if deploy.HostID != "" {
		req.Host = &types.ManagedObjectReference{Type: "HostSystem", Value: deploy.HostID}
	}
	vm, err := d.Creator.NewVM(ctx, d.Registry, &req)
	if err != nil {
		return none, err
	}
	return vm, d.Creator.Import(ctx, d.Registry, vm)
}

func decodeSpec(given *vcenter.VmConfigSpec) (*types.VirtualMachineConfigSpec, error) {
	spec := &types.VirtualMachineConfigSpec{}
	if given == nil {
		return spec, nil
	}
	if given.Provider != "" && given.Provider != "XML" {
		return nil, fmt.Errorf("vm_config_spec.provider %q is not supported, only XML is", given.Provider)
	}
	dec := xml.NewDecoder(base64.NewDecoder(base64.StdEncoding, strings.NewReader(given.XML)))
	dec.TypeFunc = types.TypeFunc()
	if err := dec.Decode(spec); err != nil {
		return nil, fmt.Errorf("decode vm_config_spec.xml: %w", err)
	}
	return spec, nil
}

// deploymentError describes a failed deployment as vCenter does, with the class
// of the error that the fault maps to.
func deploymentError(err error) *vcenter.DeploymentError {
	class := "error"
	switch {
	case fault.Is(err, &types.NoPermission{}):
		class = "unauthorized"
	case fault.Is(err, &types.DuplicateName{}):
		class = "already_exists"
	case fault.Is(err, &types.ManagedObjectNotFound{}), errors.Is(err, errNotFound):
		class = "not_found"
	case fault.Is(err, &types.InvalidArgument{}), fault.Is(err, &types.InvalidName{}), fault.Is(err, &types.InvalidVmConfig{}):
		class = "invalid_argument"
	}
	return &vcenter.DeploymentError{Errors: []vcenter.OVFError{{
		Category: "SERVER",
		Error: &vcenter.Error{
			Class:    "com.vmware.vapi.std.errors." + class,
			Messages: []rest.LocalizableMessage{{DefaultMessage: err.Error()}},
		},
	}}}
}
