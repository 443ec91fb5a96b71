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
	// maxUnpacked is the maximum size of unpacked user data, in bytes.
	maxUnpacked = 4 << 20
	// maxLayers is the maximum number of gzip layers.
	maxLayers = 2
	// mimeHead is the number of bytes at the beginning in which cloud-init searches for mimeVersion (cloud-init,
	// user_data.convert_string).
	mimeHead    = 4096
	mimeVersion = "mime-version:"
)

// userDataMarkers are the possible beginnings of user data, after white space and in any letter case.
var userDataMarkers = [][]byte{
	// Markers of cloud-init (handlers.INCLUSION_TYPES_MAP). #cloud-config also matches #cloud-config-archive and
	// #cloud-config-jsonp, and #include also matches #include-once.
	[]byte("#cloud-config"), []byte("#!"), []byte("#include"), []byte("#cloud-boothook"), []byte("#part-handler"), []byte("#upstart-job"),
	[]byte("## template: jinja"),
	// Markers of cloudbase-init, which replaces cloud-init on Windows (its user data scripts).
	[]byte("#ps1"), []byte("rem cmd"), []byte("<powershell>"), []byte("<script>"), []byte("content-type: multipart"),
}

// otherUserData matches data that programs other than cloud-init read from the same guestinfo variable: the machine
// configuration of Talos Linux and the settings of Bottlerocket.
var otherUserData = regexp.MustCompile(`(?m)^(version|apiVersion): v1alpha1\b|^\s*\[?settings[.\]]`)

// userData returns the user data in the form that cloud-init reads. Data that is compressed with gzip, encoded with
// base64 or both is unpacked. cloud-init unpacks gzip itself but treats base64 as text.
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
			return nil, fmt.Sprintf("has more than %d bytes after unpacking", maxUnpacked)
		}
	}
	return value, ""
}

// decodeBase64 decodes base64 text if the result is user data or gzip.
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

// isUserData reports whether a program in the guest recognizes data.
func isUserData(data []byte) bool {
	if bytes.Contains(bytes.ToLower(data[:min(len(data), mimeHead)]), []byte(mimeVersion)) || otherUserData.Match(data) {
		return true
	}
	begin := bytes.TrimSpace(data)
	begin = bytes.ToLower(begin[:min(len(begin), mimeHead)])
	return slices.ContainsFunc(userDataMarkers, func(m []byte) bool { return bytes.HasPrefix(begin, m) })
}
