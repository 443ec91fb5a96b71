// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
)

const (
	// maxUnpacked bounds user data after it was unpacked, in bytes.
	maxUnpacked = 4 << 20
	// maxLayers bounds how often it is unpacked.
	maxLayers = 2
	// mimeHead is how much of its beginning cloud-init searches for mimeVersion, in bytes
	// (cloud-init, user_data.convert_string).
	mimeHead    = 4096
	mimeVersion = "mime-version:"
)

// userDataMarkers are what user data begins with, after white space and in any letter case.
var userDataMarkers = [][]byte{
	// Of cloud-init (handlers.INCLUSION_TYPES_MAP). #cloud-config stands for #cloud-config-archive
	// and #cloud-config-jsonp, #include for #include-once.
	[]byte("#cloud-config"), []byte("#!"), []byte("#include"), []byte("#cloud-boothook"), []byte("#part-handler"), []byte("#upstart-job"),
	[]byte("## template: jinja"),
	// Of cloudbase-init, which is what Windows has in place of cloud-init (its user data scripts).
	[]byte("#ps1"), []byte("rem cmd"), []byte("<powershell>"), []byte("<script>"), []byte("content-type: multipart"),
}

// otherUserData matches what is read from the same variable of guestinfo by programs that are not
// cloud-init: the machine configuration of Talos Linux, and the settings of Bottlerocket.
var otherUserData = regexp.MustCompile(`(?m)^(version|apiVersion): v1alpha1\b|^\s*\[?settings[.\]]`)

// userData returns what cloud-init reads of the value of a key. A value that is packed with gzip,
// encoded with base64 or both is unpacked: cloud-init unpacks gzip, and takes base64 for text.
func userData(raw []byte) (value []byte, wrong string) {
	if value, wrong = unpack(raw); wrong != "" {
		return nil, wrong
	}
	if value, wrong = guestInfoValue(value); wrong != "" {
		return nil, wrong
	}
	if len(bytes.TrimSpace(value)) > 0 && !isUserData(value) {
		return nil, "is ignored by cloud-init: it must begin with #cloud-config, #!, #include or another marker of user data, or be a MIME archive"
	}
	return value, ""
}

// unpack removes base64 and gzip around user data. Other data is returned unchanged.
func unpack(raw []byte) (value []byte, wrong string) {
	value = raw
	if decoded, ok := decodeBase64(raw); ok {
		value = decoded
	}
	for range maxLayers {
		if !isGzip(value) {
			break
		}
		r, err := gzip.NewReader(bytes.NewReader(value))
		if err == nil {
			value, err = io.ReadAll(io.LimitReader(r, maxUnpacked+1))
		}
		switch {
		case err != nil:
			return nil, "cannot be unpacked with gzip: " + err.Error()
		case len(value) > maxUnpacked:
			return nil, fmt.Sprintf("has more than %d bytes when it is unpacked", maxUnpacked)
		}
	}
	return value, ""
}

// decodeBase64 returns what text in base64 stands for, if that is user data or packed.
func decodeBase64(text []byte) ([]byte, bool) {
	if isUserData(text) {
		return nil, false
	}
	joined := bytes.Join(bytes.Fields(text), nil)
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(joined)))
	n, err := base64.StdEncoding.Decode(decoded, joined)
	if err != nil {
		return nil, false
	}
	decoded = decoded[:n]
	return decoded, isGzip(decoded) || isUserData(decoded)
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// isUserData reports whether a program in the guest reads data.
func isUserData(data []byte) bool {
	if bytes.Contains(bytes.ToLower(data[:min(len(data), mimeHead)]), []byte(mimeVersion)) || otherUserData.Match(data) {
		return true
	}
	begin := bytes.TrimSpace(data)
	begin = bytes.ToLower(begin[:min(len(begin), mimeHead)])
	return slices.ContainsFunc(userDataMarkers, func(m []byte) bool { return bytes.HasPrefix(begin, m) })
}
