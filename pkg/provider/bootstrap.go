// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
)

// BootstrapData holds the values of bootstrap Secrets. It must never be logged.
type BootstrapData struct {
	// CloudConfig is the cloud-init user data. VendorData is the cloud-init vendor data.
	CloudConfig, VendorData []byte
	// NetworkConfig is the cloud-init network configuration in JSON. If it is nil, the configuration is derived from
	// the interfaces.
	NetworkConfig []byte
	// Ignition is the Ignition configuration.
	Ignition []byte
	// Sysprep has the answers for Windows Setup.
	Sysprep SysprepData
	// VAppProperties are OVF property values by key.
	VAppProperties map[string]string
}

// SysprepData holds secret answers for Windows Setup.
type SysprepData struct {
	// Unattend is a complete answer file. If it is empty, the file is generated.
	Unattend string
	// ProductKey of Windows.
	ProductKey string
	// AdministratorPassword and DomainPassword are passwords.
	AdministratorPassword, DomainPassword string
}

// MaxGuestInfo is the maximum length in bytes of a guestinfo variable's value. A message between a guest and its host
// has at most 64 KiB (open-vm-tools, guest_msg_def.h, GUESTMSG_MAX_IN_SIZE); 256 bytes are reserved for the rest of the
// message. vSphere stores at most 1 MiB for all variables of a VM (tools.setInfo.sizeLimit).
const MaxGuestInfo = 64<<10 - 256

// Encodings of cloud-init and Ignition.
const (
	encodingBase64     = "base64"
	encodingGzipBase64 = "gzip+base64"
)

// EncodeGuestInfo returns value encoded for a guestinfo variable, and the name of the encoding. The encoding is base64,
// or gzip+base64 if base64 alone exceeds MaxGuestInfo. It returns an error if the compressed value is too long as well.
func EncodeGuestInfo(value []byte) (text, encoding string, err error) {
	if base64.StdEncoding.EncodedLen(len(value)) <= MaxGuestInfo {
		return base64.StdEncoding.EncodeToString(value), encodingBase64, nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(value)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", "", fmt.Errorf("compressing a guestinfo value: %w", err)
	}
	if n := base64.StdEncoding.EncodedLen(packed.Len()); n > MaxGuestInfo {
		return "", "", fmt.Errorf("value of %d bytes is too long: %d bytes when compressed and encoded, limit %d", len(value), n, MaxGuestInfo)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), encodingGzipBase64, nil
}
