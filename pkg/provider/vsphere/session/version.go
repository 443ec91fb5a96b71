// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// versionMismatch is the code of the SOAP fault for an unknown API version, for example after
// vCenter was restored or replaced.
const versionMismatch = "VersionMismatchFaultCode"

// negotiateVersion returns the SOAPAction of the newest version that both vCenter and govmomi's types
// support.
func (s *Session) negotiateVersion(ctx context.Context) (string, error) {
	version, err := s.newestVersion(ctx, "vim", vim25.Namespace)
	if err != nil {
		return "", err
	}
	return "urn:" + vim25.Namespace + "/" + olderVersion(version, vim25.Version), nil
}

// newestVersion returns the newest version of an API that vCenter supports.
func (s *Session) newestVersion(ctx context.Context, kind, namespace string) (string, error) {
	// UseServiceVersion accepts no context, and it modifies its client.
	client := s.soap.NewServiceClient(s.url.String(), namespace)
	client.Transport = statusTransport{s.soap.DefaultTransport()}
	if deadline, ok := ctx.Deadline(); ok {
		client.Timeout = time.Until(deadline)
	}
	if err := client.UseServiceVersion(kind); err != nil {
		return "", err
	}
	return client.Version, nil
}

// olderVersion returns the older of two versions. It returns b if a is not a version.
func olderVersion(a, b string) string {
	left, err := parseVersion(a)
	if err != nil {
		return b
	}
	right, err := parseVersion(b)
	if err != nil || slices.Compare(left, right) < 0 {
		return a
	}
	return b
}

// IsOlderVersion reports whether version a is older than b. It returns false if a is not a version.
func IsOlderVersion(a, b string) bool { return a != b && olderVersion(a, b) == a }

func parseVersion(version string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("version %q: %w", version, err)
		}
		out = append(out, n)
	}
	return out, nil
}

func soapHeader(action string) soap.Header { return soap.Header{Action: action} }

// withAction returns a context whose calls use the API version of the last login.
func (s *Session) withAction(ctx context.Context) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.soap.WithHeader(ctx, soapHeader(s.action))
}

// isUnknownVersion reports whether vCenter rejected the API version of the last login.
func isUnknownVersion(err error) bool {
	return soap.IsSoapFault(err) && strings.HasSuffix(soap.ToSoapFault(err).Code, versionMismatch)
}
