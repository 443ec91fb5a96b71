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

// maxSize bounds a descriptor, in bytes; those of appliances with hundreds of
// properties have some hundred KB.
const maxSize = 4 << 20

// Image is what a descriptor says. It must not be changed.
type Image struct {
	// Config is the configuration without devices: firmware, guest ID, hardware
	// version, flags and extraConfig.
	Config types.VirtualMachineConfigSpec
	// Dropped are the keys of the advanced settings that Config does not have although the
	// descriptor does.
	Dropped []string
	// VApp are the OVF properties, nil for none.
	VApp *types.VmConfigSpec
	// Version of the item's content that it is of.
	Version string
	// Hardware are its disks and their controllers.
	Hardware Hardware
	// Description is what it says in the words of the API.
	Description provider.ImageDescription
}

// UnusableError means that no virtual machine can be made from the descriptor.
type UnusableError = provider.NotUsableError

// parse parses a descriptor, of which no more than maxSize is read.
func parse(r io.Reader) (*Image, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading it: %w", err)
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
	// Devices are of no use here, and those that the library does not know are errors.
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
	image.Description.NotApplied, image.Description.Defaulted = notApplied(&whole, unreadSections(text)), defaulted(chosen, others)
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

// toConfigSpec makes an error of a panic of the library, which does not expect everything that
// somebody may write into a descriptor, such as a place that no controller has. Nobody could
// recover later: those who wait for a descriptor are answered by a goroutine of its own.
func toConfigSpec(envelope *ovf.Envelope) (spec types.VirtualMachineConfigSpec, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it says what is not expected: %v", p)
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

// newest is the newest of the hardware versions of a list, for a descriptor may name
// several; empty when it names none of vSphere's.
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
