// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"bytes"
	"encoding/binary"

	"github.com/vmware/govmomi/vmdk"
)

const (
	// diskSectors is the capacity that the OVF descriptor names, 16 GiB.
	diskSectors = 16 << 30 / vmdk.SectorSize
	// compressed marks a stream-optimized image (bit 16 of the header's flags).
	compressed = 1 << 16
)

// emptyDisk returns a stream-optimized image without contents. The simulator reads only header and descriptor.
func emptyDisk(name string) ([]byte, error) {
	var info vmdk.Info
	info.Header.MagicNumber = vmdk.SparseMagicNumber
	info.Header.Version = 3
	info.Header.Flags = compressed
	info.Header.Capacity = diskSectors

	var out bytes.Buffer
	if err := binary.Write(&out, binary.LittleEndian, info.Header); err != nil {
		return nil, err
	}
	descriptor := vmdk.NewDescriptor(vmdk.Extent{Type: "SPARSE", Size: diskSectors, Info: name})
	descriptor.Type = "streamOptimized"
	if err := descriptor.Write(&out); err != nil {
		return nil, err
	}
	if rest := out.Len() % vmdk.SectorSize; rest != 0 {
		out.Write(make([]byte, vmdk.SectorSize-rest))
	}
	return out.Bytes(), nil
}
