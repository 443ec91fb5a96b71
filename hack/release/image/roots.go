// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// systemRoots are the authorities that a browser trusts. A vCenter without --vcenter-ca-file
// is checked by them. A root that is trusted within limits is left out, since a file of
// roots cannot say them.
func systemRoots() ([]byte, error) {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("writing the roots: %w", err)
		}
	}
	return all.Bytes(), nil
}
