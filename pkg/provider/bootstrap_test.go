// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEncodeGuestInfo_RejectsTooLongValues(t *testing.T) {
	noise := make([]byte, MaxGuestInfo)
	source := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(source.Uint32())
	}
	for name, tc := range map[string]struct {
		value    []byte
		encoding string
	}{
		"short":                {[]byte("#cloud-config\n"), "base64"},
		"maximum length":       {noise[:MaxGuestInfo/4*3], "base64"},
		"longer, compressible": {[]byte(strings.Repeat("packages: [nginx]\n", 10_000)), "gzip+base64"},
		"longer, random":       {noise, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, encoding, err := EncodeGuestInfo(tc.value)
			if encoding != tc.encoding || (err == nil) != (tc.encoding != "") || len(text) > MaxGuestInfo {
				t.Fatalf("encoding %q, %d bytes, %v; want encoding %q", encoding, len(text), err, tc.encoding)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "limit 65280") {
					t.Errorf("error %q does not include the limit", err)
				}
				return
			}
			got, err := base64.StdEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			if encoding == encodingGzipBase64 {
				r, err := gzip.NewReader(bytes.NewReader(got))
				if err != nil {
					t.Fatal(err)
				}
				if got, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got, tc.value) {
				t.Error("the decoded value differs")
			}
		})
	}
}
