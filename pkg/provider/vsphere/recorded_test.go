// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/access"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/report"
)

// recordingsVariable is the environment variable with a directory of recorded responses of real vCenters: files of
// virtctl check --record (*.json), SOAP responses (*.xml), and cassettes of vcrpy (*.yaml), such as tests/fixtures
// of vmware/pyvmomi (Apache-2.0).
const recordingsVariable = "SLIPWAY_RECORDINGS"

// recordedObjects maps each managed object to its recorded properties.
type recordedObjects map[vimtypes.ManagedObjectReference][]vimtypes.DynamicProperty

func (a recordedObjects) add(content ...vimtypes.ObjectContent) {
	for _, c := range content {
		a[c.Obj] = append(a[c.Obj], c.PropSet...)
	}
}

// soapBody contains the responses of the property collector, and of Fetch, by which pyvmomi reads
// single properties.
type soapBody struct {
	Retrieve *vimtypes.RetrievePropertiesResponse   `xml:"RetrievePropertiesResponse"`
	Extended *vimtypes.RetrievePropertiesExResponse `xml:"RetrievePropertiesExResponse"`
	Request  *struct {
		This vimtypes.ManagedObjectReference `xml:"_this"`
		Prop string                          `xml:"prop"`
	} `xml:"Fetch"`
	Fetched *struct {
		//lint:ignore SA5008 govmomi's decoder reads the type of the value from its attribute
		Returnval vimtypes.AnyType `xml:"returnval,typeattr"`
	} `xml:"FetchResponse"`
}

func decodeSOAP(text string) (*soapBody, error) {
	var e struct {
		Body soapBody `xml:"Body"`
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.TypeFunc = vimtypes.TypeFunc()
	if err := d.Decode(&e); err != nil {
		return nil, err
	}
	return &e.Body, nil
}

// read adds the content of one file.
func (a recordedObjects) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	switch filepath.Ext(path) {
	case ".json":
		r, err := access.ReadRecording(strings.NewReader(string(text)))
		if err == nil {
			a.add(r.Properties...)
		}
		return err
	case ".xml":
		return a.readSOAP("", string(text))
	case ".yaml", ".yml":
		return a.readCassette(text)
	}
	return nil
}

func (a recordedObjects) readSOAP(request, answer string) error {
	body, err := decodeSOAP(answer)
	if err != nil {
		return err
	}
	switch {
	case body.Retrieve != nil:
		a.add(body.Retrieve.Returnval...)
	case body.Extended != nil && body.Extended.Returnval != nil:
		a.add(body.Extended.Returnval.Objects...)
	case body.Fetched != nil && body.Fetched.Returnval != nil:
		asked, err := decodeSOAP(request)
		if err != nil || asked.Request == nil {
			return fmt.Errorf("a response of Fetch without its request: %w", err)
		}
		a.add(vimtypes.ObjectContent{Obj: asked.Request.This, PropSet: []vimtypes.DynamicProperty{{Name: asked.Request.Prop, Val: body.Fetched.Returnval}}})
	}
	return nil
}

func (a recordedObjects) readCassette(text []byte) error {
	var cassette struct {
		Interactions []struct {
			Request struct {
				Body string `json:"body"`
			} `json:"request"`
			Response struct {
				Body struct {
					String string `json:"string"`
				} `json:"body"`
			} `json:"response"`
		} `json:"interactions"`
	}
	if err := yaml.Unmarshal(text, &cassette); err != nil {
		return nil // It is a different kind of cassette, with serialized Python objects.
	}
	for _, i := range cassette.Interactions {
		if answer := i.Response.Body.String; strings.Contains(answer, "Envelope") {
			if err := a.readSOAP(i.Request.Body, answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// observeRecorded returns the observation of a VM with recorded properties.
func observeRecorded(ref vimtypes.ManagedObjectReference, set []vimtypes.DynamicProperty) (o provider.Observation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	vm := mo.VirtualMachine{}
	if err := mo.LoadObjectContent([]vimtypes.ObjectContent{{Obj: ref, PropSet: set}}, &vm); err != nil {
		return o, err
	}
	vm.Self = ref
	w := &driver.Desired{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Volumes: []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}}}}
	o = report.Observe(&vm, w, func(vimtypes.ManagedObjectReference) string { return "host" })
	if observe.IsReadable(&vm) {
		want := configspec.Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: w.Effective}, Identity: driver.Identity{UID: "uid"}}}
		configspec.Spec(configspec.Differences(want, &vm))
		configspec.Refused(want, &vm)
		configspec.NotApplied(want, &vm)
	}
	return o, nil
}

func TestObservation_ReadsRecordedResponses(t *testing.T) {
	t.Parallel()
	dir := os.Getenv(recordingsVariable)
	if dir == "" {
		dir = recordSimulator(t)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, readable := 0, 0
	for _, f := range files {
		found := recordedObjects{}
		if err := found.read(filepath.Join(dir, f.Name())); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
		for ref, set := range found {
			if ref.Type != "VirtualMachine" {
				continue
			}
			o, err := observeRecorded(ref, set)
			if err != nil {
				t.Errorf("%s: %s: %v", f.Name(), ref.Value, err)
			}
			all++
			if o.Readable {
				readable++
			}
			t.Logf("%s: %s: readable %t, %s, %d conditions, Tools run: %t", f.Name(), ref.Value, o.Readable, o.PowerState, len(o.Conditions),
				meta.IsStatusConditionTrue(o.Conditions, vmv1alpha1.ConditionGuestToolsReady))
		}
	}
	if readable == 0 {
		t.Errorf("%d VMs in %d files of %s, none of them readable", all, len(files), dir)
	}
}

// recordSimulator records a simulated vCenter with a running VM.
func recordSimulator(t *testing.T) string {
	t.Helper()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	req := newRequest("recorded", templateImage())
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "1Gi", "")}
	newLoop(t, p).until("the VM runs", isRunning(req), req)
	recording, err := access.Record(t.Context(), p.driver.session, &access.Report{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "simulator.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := recording.Write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}
