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
		"short":                  {[]byte("#cloud-config\n"), "base64"},
		"as long as can be":      {noise[:MaxGuestInfo/4*3], "base64"},
		"longer, and repetitive": {[]byte(strings.Repeat("packages: [nginx]\n", 10_000)), "gzip+base64"},
		"longer, and random":     {noise, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, encoding, err := EncodeGuestInfo(tc.value)
			if encoding != tc.encoding || (err == nil) != (tc.encoding != "") || len(text) > MaxGuestInfo {
				t.Fatalf("encoding %q, %d bytes, %v; want encoding %q", encoding, len(text), err, tc.encoding)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "a guest can be given 65280") {
					t.Errorf("error %q does not say how much is allowed", err)
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
				t.Error("the guest gets another value")
			}
		})
	}
}
