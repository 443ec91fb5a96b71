// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// maxSize is the maximum size of a descriptor, in bytes. Descriptors of appliances with hundreds of properties have
// a few hundred KB.
const maxSize = 4 << 20

// Image is a parsed descriptor. It must not be changed.
type Image struct {
	// Config is the configuration without devices: firmware, guest ID, hardware version, flags and extraConfig.
	Config types.VirtualMachineConfigSpec
	// Dropped are the keys of the descriptor's advanced settings that Config does not contain.
	Dropped []string
	// VApp are the OVF properties. It is nil if there are none.
	VApp *types.VmConfigSpec
	// Version is the version of the item's content.
	Version string
	// Hardware contains the disks and their controllers.
	Hardware Hardware
	// Description is the image status.
	Description provider.ImageDescription
}

// UnusableError is returned if no virtual machine can be created from the descriptor.
type UnusableError = provider.NotUsableError

// parse parses a descriptor of at most maxSize bytes.
func parse(r io.Reader) (*Image, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the OVF descriptor: %w", err)
	case len(text) > maxSize:
		return nil, &UnusableError{Message: fmt.Sprintf("the OVF descriptor has more than %d bytes", maxSize)}
	}
	envelope, err := ovf.Unmarshal(bytes.NewReader(text))
	if err != nil {
		return nil, &UnusableError{Message: "the OVF descriptor cannot be parsed: " + err.Error()}
	}
	vm, agreement := envelope.VirtualSystem, false
	if c := envelope.VirtualSystemCollection; vm == nil && c != nil && len(c.VirtualSystem) == 1 {
		vm = &c.VirtualSystem[0]
		vm.Product = append(vm.Product, c.Product...)
		agreement = len(c.Eula) > 0
	}
	if vm == nil {
		return nil, &UnusableError{Message: "the OVF descriptor does not describe exactly one virtual machine"}
	}
	agreement = agreement || len(vm.Eula) > 0
	chosen, others := keepDefaultConfiguration(envelope, vm)
	// Devices are not needed here, and govmomi returns an error for device types that it does not know.
	whole := *vm
	vm.VirtualHardware = slices.Clone(vm.VirtualHardware)
	for i := range vm.VirtualHardware {
		vm.VirtualHardware[i].Item = nil
	}
	disks := readHardware(envelope, &whole)
	envelope.VirtualSystem, envelope.VirtualSystemCollection = vm, nil
	spec, err := toConfigSpec(envelope)
	if err != nil {
		return nil, &UnusableError{Message: "the OVF descriptor cannot be used: " + err.Error()}
	}
	image := &Image{Config: spec, Hardware: disks, Description: describe(envelope, &whole, &spec)}
	image.Description.NotApplied, image.Description.Defaulted = describeUnapplied(&whole, unreadSections(text)), describeDefaulted(chosen, others)
	image.Description.Status.EULA = agreement
	if v := spec.VAppConfig; v != nil && len(v.GetVmConfigSpec().Property) > 0 {
		image.VApp = v.GetVmConfigSpec()
		image.VApp.OvfEnvironmentTransport = transport(vm)
	}
	c := &image.Config
	c.Name, c.Files, c.DeviceChange, c.VAppConfig = "", nil, nil, nil
	c.Version = newest(c.Version)
	c.ExtraConfig = slices.DeleteFunc(c.ExtraConfig, func(o types.BaseOptionValue) bool {
		dropped := isDropped(o)
		if dropped {
			image.Dropped = append(image.Dropped, o.GetOptionValue().Key)
		}
		return dropped
	})
	return image, nil
}

// toConfigSpec converts an envelope to a configuration and turns a panic of govmomi into an error. govmomi panics
// for some invalid descriptors, for example for a controller position that does not exist. The panic must be
// recovered here, because descriptors are read in a separate goroutine.
func toConfigSpec(envelope *ovf.Envelope) (spec types.VirtualMachineConfigSpec, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("unexpected content: %v", p)
		}
	}()
	return envelope.ToConfigSpec()
}

func transport(vm *ovf.VirtualSystem) []string {
	for _, hw := range vm.VirtualHardware {
		if hw.Transport != nil {
			return strings.Fields(*hw.Transport)
		}
	}
	return nil
}

var vmx = regexp.MustCompile(`^vmx-[0-9]{1,3}$`)

// newest returns the newest hardware version of a list, because a descriptor may name several. It returns an empty
// string if the list has no vSphere version.
func newest(list string) string {
	versions := slices.DeleteFunc(strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }),
		func(v string) bool { return !vmx.MatchString(v) })
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
}
