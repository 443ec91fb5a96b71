// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
)

// BootstrapData holds secret values; it is never logged.
type BootstrapData struct {
	// CloudConfig is the cloud-init user data, VendorData its vendor data.
	CloudConfig, VendorData []byte
	// NetworkConfig is cloud-init's network configuration in JSON, nil for the one that
	// the interfaces ask for.
	NetworkConfig []byte
	// Ignition is the configuration for Ignition.
	Ignition []byte
	// Sysprep is what the setup of Windows asks for.
	Sysprep SysprepData
	// VAppProperties are OVF property values by key.
	VAppProperties map[string]string
}

// SysprepData are secret answers to what the setup of Windows asks.
type SysprepData struct {
	// Unattend is a whole answer file, empty for one that is made.
	Unattend string
	// ProductKey of Windows.
	ProductKey string
	// AdministratorPassword and DomainPassword are passwords.
	AdministratorPassword, DomainPassword string
}

// MaxGuestInfo is the longest value of a variable of guestinfo, in bytes: a message between
// a guest and its host has 64 KiB (open-vm-tools, guest_msg_def.h, GUESTMSG_MAX_IN_SIZE), of
// which some are left for what else is in it. vSphere keeps at most 1 MiB of all of them
// (tools.setInfo.sizeLimit).
const MaxGuestInfo = 64<<10 - 256

// Encodings that cloud-init and Ignition know.
const (
	encodingBase64     = "base64"
	encodingGzipBase64 = "gzip+base64"
)

// EncodeGuestInfo returns a value as a variable of guestinfo takes it, and its encoding:
// base64, packed before if it is too long otherwise. The error says that it is too long
// also then.
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
		return "", "", fmt.Errorf("packing a value for the guest: %w", err)
	}
	if n := base64.StdEncoding.EncodedLen(packed.Len()); n > MaxGuestInfo {
		return "", "", fmt.Errorf("%d bytes are %d when packed, and a guest can be given %d", len(value), n, MaxGuestInfo)
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), encodingGzipBase64, nil
}
