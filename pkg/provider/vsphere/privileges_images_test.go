// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// startImagePrivileges starts a vCenter and a provider whose account has exactly the documented privileges.
func startImagePrivileges(t *testing.T, topLevel bool) (vcenter.Ready, *Provider, *loop) {
	t.Helper()
	ready := startVCenter(t)
	if !topLevel {
		control(t, ready, http.MethodPut, "/datastores/toplevel?datastore=LocalDS_0&allowed=false")
	}
	for path, ids := range roles() {
		grant(t, ready, path, ids)
	}
	p := startFiles(t, ready)
	return ready, p, newLoop(t, p)
}

func TestImagePrivileges_AreSufficient(t *testing.T) {
	t.Parallel()
	for name, topLevel := range map[string]bool{"a datastore": true, "a datastore without top-level directories": false} {
		t.Run(name, func(t *testing.T) {
			_, p, l := startImagePrivileges(t, topLevel)
			cache := copiesAt(t, p, copiedItem, ssd)
			for _, mode := range []vmv1alpha1.FastDeployMode{vmv1alpha1.FastDeployDirect, vmv1alpha1.FastDeployLinked} {
				req := fastRequest("web-"+string(mode), mode, cache)
				req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeOnline
				l.until("the VM runs on promoted disks", func() bool { return isRunning(req)() && promotion(req) == "True Succeeded" }, req)
				createPoweredOff(l, req)
				for range 2 { // a new item, and a new version
					if _, err := l.publish(publication(req, "golden")); err != nil {
						t.Fatal(err)
					}
				}
				clone := cloneRequest("clone-"+string(mode), req, "")
				l.until("the clone runs", isRunning(clone), clone)
				l.remove(clone)
				l.remove(req)
			}
			at := &cache.Status.Locations[0]
			found, err := p.driver.ImageFiles().Directories(t.Context())
			if err != nil || len(found) != 1 || found[0].Directory != at.Directory {
				t.Errorf("directories %+v, %v; want %s", found, err, at.Directory)
			}
			if err := p.driver.ImageFiles().Remove(t.Context(), at.DatastoreID, at.Directory); err != nil {
				t.Errorf("removing the copies: %v", err)
			}
		})
	}
}

// A condition or error names each revoked privilege. Errors of vCenter's REST API contain only status 403.
func TestImagePrivileges_AreReportedIfMissing(t *testing.T) {
	t.Parallel()
	const root, folder, store, forbidden = "/", "/DC0/vm/slipway", "/DC0/datastore/LocalDS_0", "403"
	copying := func(t *testing.T, p *Provider, _ *loop, _ *provider.Request) string {
		place, err := p.driver.ImageFiles().Locate(t.Context(), copiedItem, ssd, provider.CacheLocation{})
		if err == nil {
			_, err = p.driver.ImageFiles().Copy(t.Context(), place, place.Directory+"-bbbbbbbb", func(int32) {})
		}
		if err == nil {
			return "" // the operation was allowed
		}
		return err.Error()
	}
	publishing := func(item string) func(*testing.T, *Provider, *loop, *provider.Request) string {
		return func(t *testing.T, p *Provider, _ *loop, source *provider.Request) (got string) {
			pub := publication(source, item)
			eventually(t, "the missing privilege is reported", func() bool {
				pub.Now = time.Now()
				_, err := p.Publish(t.Context(), pub)
				if err != nil {
					got = err.Error()
				}
				return strings.Contains(got, forbidden)
			})
			return got
		}
	}
	condition := func(conditionType string, req func(source *provider.Request) *provider.Request, id string) func(*testing.T, *Provider, *loop, *provider.Request) string {
		return func(_ *testing.T, _ *Provider, l *loop, source *provider.Request) string {
			one := req(source)
			l.until("the privilege is named", func() bool { return strings.Contains(message(&one.VM.Status, conditionType), id) }, one)
			return message(&one.VM.Status, conditionType)
		}
	}
	for _, tc := range []struct {
		name, path, id, wantMessage string
		namespaced                  bool
		do                          func(*testing.T, *Provider, *loop, *provider.Request) string
	}{
		{name: "files of a copy", path: store, id: "Datastore.FileManagement", do: copying},
		{name: "a list of files", path: store, id: "Datastore.Browse", do: copying},
		{name: "a directory on vSAN", path: store, id: "Datastore.Config", namespaced: true, do: copying},
		{name: "files of a VM", path: store, id: "Datastore.FileManagement", do: condition(vmv1alpha1.ConditionCreated, func(source *provider.Request) *provider.Request {
			return fastRequest("fast", vmv1alpha1.FastDeployDirect, source.ImageCache)
		}, "Datastore.FileManagement")},
		{name: "promotion", path: folder, id: "VirtualMachine.Provisioning.PromoteDisks", do: condition(vmv1alpha1.ConditionDiskPromotionSynced, func(source *provider.Request) *provider.Request {
			req := fastRequest("linked", vmv1alpha1.FastDeployLinked, source.ImageCache)
			req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeOnline
			return req
		}, "VirtualMachine.Provisioning.PromoteDisks")},
		{name: "a clone", path: folder, id: "VirtualMachine.Provisioning.Clone", do: condition(vmv1alpha1.ConditionCreated, func(source *provider.Request) *provider.Request {
			return cloneRequest("clone", source, "")
		}, "VirtualMachine.Provisioning.Clone")},
		{name: "an export", path: folder, id: "VApp.Export", wantMessage: forbidden, do: publishing("new")},
		{name: "a new item", path: root, id: "ContentLibrary.AddLibraryItem", wantMessage: forbidden, do: publishing("new")},
		{name: "a new version", path: root, id: "ContentLibrary.UpdateLibraryItem", wantMessage: forbidden, do: publishing("golden")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ready, p, l := startImagePrivileges(t, true)
			source := fastRequest("source", vmv1alpha1.FastDeployDirect, copiesAt(t, p, copiedItem, ssd))
			createPoweredOff(l, source)
			if _, err := l.publish(publication(source, "golden")); err != nil {
				t.Fatal(err)
			}
			if tc.namespaced {
				control(t, ready, http.MethodPut, "/datastores/toplevel?datastore=LocalDS_0&allowed=false")
				p = startFiles(t, ready) // a provider that has not resolved a directory yet
			}
			grant(t, ready, tc.path, slices.DeleteFunc(slices.Clone(roles()[tc.path]), func(id string) bool { return id == tc.id }))
			p.driver.invalidate()
			want := cmp.Or(tc.wantMessage, tc.id)
			if got := tc.do(t, p, l, source); !strings.Contains(got, want) {
				t.Errorf("message %q, want %q", got, want)
			}
		})
	}
}
