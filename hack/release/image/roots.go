// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// systemRoots returns the root certificates that browsers trust. They verify a vCenter if --vcenter-ca-file is not
// set. Roots with constraints are omitted, because a file of certificates cannot express them.
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
