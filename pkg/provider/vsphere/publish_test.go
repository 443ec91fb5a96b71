// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vim25/types"
	ktypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

func publication(of *provider.Request, name string) *provider.Publication {
	return &provider.Publication{
		NamespacedName: ktypes.NamespacedName{Namespace: "team-a", Name: name}, UID: ktypes.UID(uuid.NewString()),
		Source: keyOf(of), VM: of.VM, VCenter: vmv1alpha1.DefaultVCenter, Library: "slipway", Item: name, Description: "a golden image",
	}
}

// publish reconciles a publish request until the item is published or the request is refused.
func (l *loop) publish(pub *provider.Publication) (*provider.Published, error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), testTimeout)
	defer cancel()
	for {
		pub.Now = time.Now()
		made, err := l.p.Publish(ctx, pub)
		var refused *provider.PublishRefusedError
		if err == nil || errors.As(err, &refused) {
			return made, err
		}
		after, ok := provider.AsRequeue(err)
		if !ok {
			after = -1
		}
		if !l.wait(ctx, after) {
			l.t.Fatalf("timed out; last error: %v", err)
		}
	}
}

// withdraw reconciles a deleted publish request until nothing remains.
func (l *loop) withdraw(pub *provider.Publication) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), testTimeout)
	defer cancel()
	for {
		pub.Now = time.Now()
		err := l.p.Withdraw(ctx, pub)
		if err == nil {
			return
		}
		after, ok := provider.AsRequeue(err)
		if !ok {
			after = -1
		}
		if !l.wait(ctx, after) {
			l.t.Fatalf("timed out; last error: %v", err)
		}
	}
}

// itemsOf returns the items of the library by name, all versions of a name together.
func itemsOf(t *testing.T, ready vcenter.Ready) map[string][]library.Item {
	t.Helper()
	m := libraries(t, ready)
	lib, err := m.GetLibraryByName(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := m.ListLibraryItems(t.Context(), lib.ID)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]library.Item{}
	for _, id := range ids {
		item, err := m.GetLibraryItem(t.Context(), id)
		if err == nil {
			out[item.Name] = append(out[item.Name], *item)
		}
	}
	return out
}

func TestPublish_CreatesOneItemWithoutTheVMsIdentity(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newRequest("source", libraryImage())
	createPoweredOff(l, source)
	reconfigure(t, objectOf(t, ready, source), types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.userdata", Value: "a secret"},
	}})
	own := ownSettings(inVCenter(t, ready)["team-a/source"])
	pub := publication(source, "golden")
	made, err := l.publish(pub)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.publish(pub); err != nil || *again != *made {
		t.Errorf("published again: %+v, %v; want %+v", again, err, made)
	}
	p.ForgetPublication(pub.NamespacedName)
	if again, err := l.publish(pub); err != nil || again.ItemID != made.ItemID {
		t.Errorf("published by another process: %+v, %v; want %+v", again, err, made)
	}
	if n := counted.snapshot()["rest.CaptureLibraryItem"]; n != 1 {
		t.Errorf("%d captures, want one", n)
	}
	items := itemsOf(t, ready)["golden"]
	want := "a golden image\nslipway.vm.publish: server=a namespace=team-a request=" + string(pub.UID)
	if len(items) != 1 || items[0].ID != made.ItemID || *items[0].Description != want {
		t.Fatalf("items %+v, want one with description %q", items, want)
	}
	checkNoOperation(t, p, source)

	copied := newRequest("copied", libraryImage())
	copied.Image.Spec.ContentLibrary.Item = "golden"
	l.until("a VM of the item runs", isRunning(copied, copied), copied)
	vm := inVCenter(t, ready)["team-a/copied"]
	for key, value := range ownSettings(vm) {
		if own[key] == value && !strings.HasPrefix(key, "slipway.") {
			t.Errorf("a VM of the item has the %s of the published VM", key)
		}
		if key == "guestinfo.userdata" {
			t.Errorf("a VM of the item has the guest data %q", value)
		}
	}
	if strings.Contains(vm.Config.Annotation, "source") {
		t.Errorf("a VM of the item has annotation %q", vm.Config.Annotation)
	}
}

func TestPublish_RefusesToExportSecrets(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	on := newRequest("on", libraryImage())
	l.until("the VM runs", isRunning(on), on)
	properties := newRequest("properties", libraryImage())
	properties.Image.Spec.ContentLibrary.Item = "ubuntu-24.04-appliance"
	properties.Effective.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{RawProperties: "secret"}}
	properties.Bootstrap = &provider.BootstrapData{VAppProperties: map[string]string{"user-data": "a secret"}}
	createPoweredOff(l, properties)
	claim := newRequest("claim", libraryImage())
	addClaim(claim, "data", provider.Claim{VolumeID: newFirstClassDisk(t, ready), Size: 10 << 20})
	createPoweredOff(l, claim)
	plain := newRequest("plain", libraryImage())
	createPoweredOff(l, plain)
	for name, tc := range map[string]struct {
		of          *provider.Request
		condition   string
		wantMessage string
		change      func(*provider.Publication)
	}{
		"a running VM":                 {on, "SourceValid NotReady", "must be PoweredOff", nil},
		"OVF properties":               {properties, "SourceValid Invalid", `OVF property "user-data"`, nil},
		"a claim":                      {claim, "SourceValid Invalid", "1 disks of claims", nil},
		"no such library":              {plain, "TargetValid NotFound", `no content library "none"`, func(p *provider.Publication) { p.Library = "none" }},
		"a foreign item":               {plain, "TargetValid NameTaken", "was not published from namespace", func(p *provider.Publication) { p.Item = "photon-5" }},
		"an item of another namespace": {plain, "TargetValid NameTaken", "was not published from namespace", func(p *provider.Publication) { p.Item = "others" }},
	} {
		if tc.wantMessage == "was not published from namespace" && name == "an item of another namespace" {
			others := publication(plain, "others")
			others.Namespace = "team-b"
			if _, err := l.publish(others); err != nil {
				t.Fatal(err)
			}
		}
		pub := publication(tc.of, "golden")
		if tc.change != nil {
			tc.change(pub)
		}
		_, err := l.publish(pub)
		var refused *provider.PublishRefusedError
		if !errors.As(err, &refused) || refused.Condition+" "+refused.Reason != tc.condition || !strings.Contains(err.Error(), tc.wantMessage) {
			t.Errorf("%s: %v, want %s with %q", name, err, tc.condition, tc.wantMessage)
		}
	}
	if n := counted.snapshot()["rest.CaptureLibraryItem"]; n != 1 {
		t.Errorf("%d captures, want only that of the other namespace", n)
	}
	// vSphere may export more settings than requested.
	reconfigure(t, objectOf(t, ready, plain), types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
		&types.OptionValue{Key: "guestinfo.userdata", Value: "a secret"},
	}})
	control(t, ready, http.MethodPut, "/captures?tells=true")
	if _, err := l.publish(publication(plain, "secrets")); err == nil || !strings.Contains(err.Error(), "was deleted") {
		t.Errorf("an item with secrets: %v", err)
	}
	if items := itemsOf(t, ready)["secrets"]; len(items) != 0 {
		t.Errorf("the item with secrets exists: %+v", items)
	}
}

func TestPublish_PreventsChangesOfTheVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newRequest("source", templateImage())
	createPoweredOff(l, source)
	control(t, ready, http.MethodPut, "/captures?ms=3600000")
	pub := publication(source, "golden")
	pub.Now = time.Now()
	if _, err := p.Publish(t.Context(), pub); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Fatalf("publishing was not started: %v", err)
	}
	second := publication(source, "second")
	second.Now = time.Now()
	if _, err := p.Publish(t.Context(), second); !errors.Is(err, provider.ErrSourceBusy) {
		t.Errorf("another publication of the VM: %v, want a busy error", err)
	}
	source.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	source.Now = time.Now()
	if _, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), source); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("reconcile of the VM: %v, want that an operation is in progress", err)
	}
	eventually(t, "vSphere runs the task", func() bool { return len(itemsOf(t, ready)["golden"]) == 1 })

	// After the deletion of the request the VM is managed again, and no item remains.
	l.withdraw(pub)
	if items := itemsOf(t, ready); len(items["golden"])+len(items["second"]) != 0 {
		t.Errorf("remaining items: %+v", items)
	}
	l.until("the VM runs", isRunning(source), source)
}

func TestPublish_UpdatesOnlyItemsOfTheNamespace(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newRequest("source", templateImage())
	createPoweredOff(l, source)
	first, err := l.publish(publication(source, "golden"))
	if err != nil {
		t.Fatal(err)
	}
	pub := publication(source, "golden")
	pub.Name, pub.Description = "again", "better"
	second, err := l.publish(pub)
	if err != nil {
		t.Fatal(err)
	}
	items := itemsOf(t, ready)["golden"]
	if len(items) != 1 || second.ItemID != first.ItemID || second.Version == first.Version {
		t.Fatalf("items %+v, want one item in version 2", items)
	}
	if diff := cmp.Diff("better\nslipway.vm.publish: server=a namespace=team-a request="+string(pub.UID), *items[0].Description); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

// A killed process sends no further calls. The operations that it has started continue.
func TestPublish_CreatesOneItemWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"rest.FindLibrary", "CreateCollectorForTasks", "rest.FindLibraryItem", "rest.UpdateLibraryItem", "rest.CaptureLibraryItem", "rest.GetLibraryItem", "rest.DownloadLibraryItem"} {
		for _, version := range []bool{false, true} {
			name := method
			if version {
				name += " of a new version"
			} else if method == "rest.UpdateLibraryItem" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				ready := startVCenter(t)
				second, _ := startProvider(t, ready, nil)
				l := newLoop(t, second)
				source := newRequest("source", templateImage())
				createPoweredOff(l, source)
				want := 1
				if version {
					want++
					if _, err := l.publish(publication(source, "golden")); err != nil {
						t.Fatal(err)
					}
				}
				killer := &killAfterCall{method: method, released: make(chan struct{})}
				first, _ := startProvider(t, ready, func(s *settings) { s.OnCall = killer.call })
				t.Cleanup(func() { close(killer.released) })
				eventually(t, "the inventory is read", first.inventory.Synced)
				control(t, ready, http.MethodPut, "/captures?ms=1000")
				pub := publication(source, "golden")
				eventually(t, "the process is stopped at the call", func() bool {
					pub.Now = time.Now()
					_, _ = first.Publish(t.Context(), pub)
					killer.mu.Lock()
					defer killer.mu.Unlock()
					return killer.killed
				})
				if method == "rest.CaptureLibraryItem" {
					eventually(t, "vSphere runs the task", func() bool { return strings.Contains(ask(t, ready, http.MethodGet, "/tasks"), "CaptureOvf") })
				}
				if _, err := l.publish(pub); err != nil {
					t.Fatal(err)
				}
				items := itemsOf(t, ready)["golden"]
				if len(items) != 1 || !strings.HasSuffix(*items[0].Description, "request="+string(pub.UID)) {
					t.Errorf("items %+v, want one item of the request", items)
				}
				if n := served(t, ready, "POST /rest/com/vmware/vcenter/ovf/library-item"); n != want {
					t.Errorf("vCenter has captured %d times, want %d", n, want)
				}
			})
		}
	}
}

// A failed capture leaves no item and is retried.
func TestPublish_RetriesAFailedCapture(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newRequest("source", templateImage())
	createPoweredOff(l, source)
	for _, order := range []string{"fail=no+space", "fail=no+space&remains=true"} {
		control(t, ready, http.MethodPut, "/captures?"+order)
		pub := publication(source, "golden")
		var err error
		eventually(t, "the capture fails", func() bool {
			pub.Now = time.Now()
			_, err = p.Publish(t.Context(), pub)
			return err != nil && strings.Contains(err.Error(), "no space")
		})
		if _, again := provider.AsRequeue(err); !again {
			t.Errorf("%s: %v, want a retry", order, err)
		}
		if items := itemsOf(t, ready)["golden"]; len(items) != 0 {
			t.Errorf("%s: remaining items: %+v", order, items)
		}
		l.withdraw(pub)
	}
}

// An item with the previous content must not be reported as the new version.
func TestPublish_RetriesAFailedNewVersion(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	source := newRequest("source", templateImage())
	createPoweredOff(l, source)
	first, err := l.publish(publication(source, "golden"))
	if err != nil {
		t.Fatal(err)
	}
	control(t, ready, http.MethodPut, "/captures?fail=no+space")
	pub := publication(source, "golden")
	eventually(t, "the capture fails", func() bool {
		pub.Now = time.Now()
		_, err := p.Publish(t.Context(), pub)
		return err != nil && strings.Contains(err.Error(), "no space")
	})
	control(t, ready, http.MethodPut, "/captures")
	p.ForgetPublication(pub.NamespacedName) // like the next process
	second, err := l.publish(pub)
	if err != nil || second.ItemID != first.ItemID || second.Version == first.Version {
		t.Errorf("published %+v, %v; want a new version of %+v", second, err, first)
	}
}
