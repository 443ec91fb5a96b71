// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"
)

// templatePath is the path of items that are templates.
const templatePath = "/rest/vcenter/vm-template/library-items"

// serveTemplates returns the virtual machine of template items and creates such items. The simulator does neither.
func (u *Updates) serveTemplates(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, templatePath), "/")
	switch {
	case r.Method == http.MethodPost && id == "" && r.URL.RawQuery == "":
		u.createTemplate(w, r)
		return
	case r.Method != http.MethodGet || strings.Contains(id, "/"):
		u.Next.ServeHTTP(w, r)
		return
	}
	answer := u.ask(r, http.MethodGet, r.URL.RequestURI(), nil)
	u.mu.Lock()
	defer u.mu.Unlock()
	if c := u.items[id]; answer.Code == http.StatusOK && c != nil && c.template != nil {
		value(w, vcenter.TemplateInfo{VmTemplate: c.template.Value})
		return
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// createTemplate requests a clone of a virtual machine from the simulator, and finds the clone.
func (u *Updates) createTemplate(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var spec struct{ Spec vcenter.Template }
	if err != nil || json.Unmarshal(body, &spec) != nil {
		refuse(w, "invalid_argument", "The specification cannot be read.")
		return
	}
	before := u.templates(spec.Spec.Name)
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := u.ask(r, http.MethodPost, templatePath, body)
	var made struct{ Value string }
	if answer.Code == http.StatusOK && json.Unmarshal(answer.Body.Bytes(), &made) == nil {
		for ref := range u.templates(spec.Spec.Name) {
			if !before[ref] {
				u.CheckIn(made.Value, ref)
			}
		}
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// templates returns the virtual machines with a name.
func (u *Updates) templates(name string) map[types.ManagedObjectReference]bool {
	found := map[types.ManagedObjectReference]bool{}
	for _, e := range u.Deployer.Registry.All("VirtualMachine") {
		if vm, ok := e.(*simulator.VirtualMachine); ok && vm.Name == name {
			found[vm.Self] = true
		}
	}
	return found
}

// CheckIn replaces an item by a template as its new version.
func (u *Updates) CheckIn(item string, template types.ManagedObjectReference) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.items == nil {
		u.items = map[string]*content{}
	}
	c := u.items[item]
	if c == nil {
		c = &content{}
		u.items[item] = c
	}
	c.version++
	c.template = &template
}
