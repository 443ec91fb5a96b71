// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command slipway-apiserver replaces the server in tests and prints properties of the image.
package main

import (
	"crypto/x509"
	"fmt"
	"os"
	"os/user" // needs C where cgo is on
)

var version = "unstamped"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("slipway-apiserver version", version)
		return
	}
	_, err := user.LookupId("0")
	roots, rootsErr := x509.SystemCertPool()
	many := rootsErr == nil && len(roots.Subjects()) > 100
	fmt.Printf("uid %d, gid %d, roots %t, users missing %t, PATH %s\n", os.Getuid(), os.Getgid(), many, err != nil, os.Getenv("PATH"))
}
